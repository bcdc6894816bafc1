"""Locks: who waits for whom, and who gives up."""

import asyncio
from collections.abc import Coroutine
from datetime import timedelta
from typing import Any

import pytest

from emulator.firestore.clock import Clock
from emulator.firestore.locks import LOCK_WAIT, Locks, Owner
from emulator.firestore.refusals import Refused


class Scene:
    """Locks, and what its owners do, in the order it happens."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.locks = Locks(self.clock, lambda _: None)
        self.log: list[str] = []

    async def take(self, owner: Owner, *names: str, alone: bool) -> None:
        """Take locks and note it; note also giving up, which gives all locks back."""
        try:
            await self.locks.acquire(owner, names, alone=alone)
        except Refused:
            self.log.append(f"{owner.age} gives up")
            self.locks.release(owner)
        else:
            self.log.append(f"{owner.age} has {'+'.join(names)}")

    async def start(self, *actions: Coroutine[Any, Any, None]) -> "list[asyncio.Task[None]]":
        """Start actions one after the other, each as far as it comes."""
        tasks = []
        for action in actions:
            tasks.append(asyncio.create_task(action))
            for _ in range(5):
                await asyncio.sleep(0)
        return tasks


def played(scenario: Coroutine[Any, Any, Scene]) -> list[str]:
    return asyncio.run(scenario).log


def test_readers_share_and_a_writer_waits_for_them() -> None:
    async def scenario() -> Scene:
        scene, one, two, writer = Scene(), Owner(1), Owner(2), Owner(3)
        await scene.start(scene.take(one, "d", alone=False), scene.take(two, "d", alone=False))
        waiting = await scene.start(scene.take(writer, "d", alone=True))
        scene.locks.release(one)
        assert scene.log == ["1 has d", "2 has d"]
        scene.locks.release(two)
        await asyncio.gather(*waiting)
        return scene

    assert played(scenario()) == ["1 has d", "2 has d", "3 has d"]


def test_those_who_wait_go_in_their_order_and_a_reader_does_not_overtake_a_writer() -> None:
    async def scenario() -> Scene:
        scene, owners = Scene(), [Owner(age) for age in range(4)]
        await scene.start(scene.take(owners[0], "d", alone=False))
        waiting = await scene.start(
            scene.take(owners[3], "d", alone=True),
            scene.take(owners[1], "d", alone=False),
            scene.take(owners[2], "d", alone=True),
        )
        for owner in (0, 3, 1, 2):
            scene.locks.release(owners[owner])
            await scene.start()
            await asyncio.sleep(0)
        await asyncio.gather(*waiting)
        return scene

    assert played(scenario()) == ["0 has d", "3 has d", "1 has d", "2 has d"]


@pytest.mark.parametrize("first", [1, 2])
def test_of_two_readers_that_both_want_to_write_the_younger_gives_up(first: int) -> None:
    async def scenario() -> Scene:
        scene, owners = Scene(), {1: Owner(1), 2: Owner(2)}
        await scene.start(*(scene.take(owner, "d", alone=False) for owner in owners.values()))
        tasks = await scene.start(*(scene.take(owners[age], "d", alone=True) for age in (first, 3 - first)))
        await asyncio.gather(*tasks)
        return scene

    assert played(scenario())[2:] == ["2 gives up", "1 has d"]


def test_a_circle_over_three_documents_costs_only_the_youngest() -> None:
    async def scenario() -> Scene:
        scene, owners = Scene(), [Owner(age) for age in range(3)]
        await scene.start(*(scene.take(owners[n], f"d{n}", alone=True) for n in range(3)))
        tasks = await scene.start(*(scene.take(owners[n], f"d{(n + 1) % 3}", alone=True) for n in range(3)))
        await asyncio.sleep(0)
        scene.locks.release(owners[1])
        await asyncio.gather(*tasks)
        return scene

    assert played(scenario())[3:] == ["2 gives up", "1 has d2", "0 has d1"]


def test_a_lock_that_never_comes_is_given_up_after_the_documented_time() -> None:
    async def scenario() -> Scene:
        scene, holder, other = Scene(), Owner(1), Owner(2)
        await scene.start(scene.take(holder, "d", alone=True))
        tasks = await scene.start(scene.take(other, "d", alone=True))
        scene.clock.advance(LOCK_WAIT + timedelta(seconds=1))
        await asyncio.gather(*tasks)
        return scene

    assert played(scenario()) == ["1 has d", "2 gives up"]


def test_who_stops_waiting_is_not_in_the_way() -> None:
    async def scenario() -> Scene:
        scene, holder, writer, reader = Scene(), Owner(1), Owner(2), Owner(3)
        await scene.start(scene.take(holder, "d", alone=False))
        waiting, behind = await scene.start(scene.take(writer, "d", alone=True), scene.take(reader, "d", alone=False))
        waiting.cancel()
        await behind
        return scene

    assert played(scenario()) == ["1 has d", "3 has d"]


def test_the_fifty_who_read_one_document_and_want_to_write_it_all_get_their_turn_at_the_second_try() -> None:
    async def scenario() -> Scene:
        scene = Scene()
        tries = dict.fromkeys(range(50), 0)

        async def claim(age: int) -> None:
            while True:
                owner = Owner(age)
                tries[age] += 1
                try:
                    await scene.locks.acquire(owner, ["d"], alone=tries[age] > 1)
                    await asyncio.sleep(0)
                    await scene.locks.acquire(owner, ["d"], alone=True)
                except Refused:
                    continue
                else:
                    return
                finally:
                    scene.locks.release(owner)

        await asyncio.gather(*map(claim, tries))
        assert max(tries.values()) == 2
        return scene

    asyncio.run(scenario())
