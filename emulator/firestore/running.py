"""The process: its arguments, its two ports, its end."""

import argparse
import asyncio
import gc
from pathlib import Path

from emulator.firestore import control
from emulator.firestore.clock import Clock
from emulator.firestore.faults import Faults
from emulator.firestore.indexes import Indexes
from emulator.firestore.meter import Meter
from emulator.firestore.realm import Realm
from emulator.firestore.server import Desk, listen
from emulator.process import announce, until_parent_ends


def main() -> None:
    """Serve until standard input closes."""
    parser = argparse.ArgumentParser(prog="python -m emulator.firestore", description="A Firestore for this machine.")
    parser.add_argument("--port", type=int, default=0, help="of the gRPC server; 0 for a free one")
    parser.add_argument("--indexes", type=Path, help="a firestore.indexes.json; without, every query is served")
    arguments = parser.parse_args()
    # Documents and keys live long and make no circles: looking through them again and again took most of a bulk load.
    gc.freeze()
    gc.set_threshold(100_000, 50, 50)
    asyncio.run(_serve(arguments.port, Indexes.load(arguments.indexes) if arguments.indexes else None))


async def _serve(port: int, indexes: Indexes | None) -> None:
    loop = asyncio.get_running_loop()
    realm = Realm(Clock(), Meter(), indexes)
    faults = Faults()

    def reset(project: str | None) -> None:
        """Reset from another thread: the realm belongs to the loop's."""
        asyncio.run_coroutine_threadsafe(_reset(realm, project), loop).result()

    server, bound = await listen(Desk(realm, faults), port)
    control_port = control.serve(reset, realm.clock, realm.meter, faults, indexes)
    announce(host=f"127.0.0.1:{bound}", control=f"127.0.0.1:{control_port}")
    await asyncio.to_thread(until_parent_ends)
    await server.stop(grace=0.2)  # at once where no call is open; clients are told politely


async def _reset(realm: Realm, project: str | None) -> None:
    realm.reset(project)
