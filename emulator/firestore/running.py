"""The process: its arguments, its two ports, its end."""

import argparse
import asyncio
import gc
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

from emulator.firestore import control, journal
from emulator.firestore.clock import Clock
from emulator.firestore.faults import Faults
from emulator.firestore.indexes import Indexes
from emulator.firestore.journal import Journal
from emulator.firestore.meter import Meter
from emulator.firestore.realm import Realm
from emulator.firestore.server import Desk, listen
from emulator.process import announce, until_parent_ends


def main() -> None:
    """Serve until standard input closes."""
    parser = argparse.ArgumentParser(prog="python -m emulator.firestore", description="A Firestore for this machine.")
    parser.add_argument("--port", type=int, default=0, help="of the gRPC server; 0 for a free one")
    parser.add_argument("--indexes", type=Path, help="a firestore.indexes.json; without, every query is served")
    parser.add_argument("--data", type=Path, help="a file that keeps everything for the next start, or has it already")
    arguments = parser.parse_args()
    # Documents and keys live long and make no circles: looking through them again and again took most of a bulk load.
    gc.freeze()
    gc.set_threshold(100_000, 50, 50)
    indexes = Indexes.load(arguments.indexes) if arguments.indexes else None
    asyncio.run(_serve(arguments.port, open_realm(indexes, arguments.data)))


def open_realm(indexes: Indexes | None, data: Path | None) -> Realm:
    """What the server works on: as it is in the file, and written there from now on; empty and in memory without one."""
    realm = Realm(Clock(), Meter(), indexes)
    if data is None:
        return realm
    if data.exists():
        journal.cut(data, _restore(realm, data))
    return replace(realm, journal=Journal(data))


def _restore(realm: Realm, data: Path) -> int:
    """Do again what is on record; how many bytes of it there are."""
    with data.open("rb") as file:
        for entry in journal.read(file):
            match entry:
                case journal.Committed(at, changes):
                    realm.store(at, changes)
                case journal.Advanced(by):
                    realm.clock.advance(by)
                case journal.Reset(project):
                    realm.reset(project)
        return file.tell()


async def _serve(port: int, realm: Realm) -> None:
    loop = asyncio.get_running_loop()
    faults = Faults()

    def reset(project: str | None) -> None:
        """Reset from another thread: the realm belongs to the loop's."""
        asyncio.run_coroutine_threadsafe(_reset(realm, project), loop).result()

    def advance(by: timedelta) -> datetime:
        realm.clock.advance(by)
        if realm.journal is not None:
            realm.journal.advance(by)
        return realm.clock.now()

    server, bound = await listen(Desk(realm, faults), port)
    control_port = control.serve(reset, advance, realm.meter, faults, realm.indexes)
    announce(host=f"127.0.0.1:{bound}", control=f"127.0.0.1:{control_port}")
    await asyncio.to_thread(until_parent_ends)
    await server.stop(grace=0.2)  # at once where no call is open; clients are told politely


async def _reset(realm: Realm, project: str | None) -> None:
    realm.reset(project)
