"""Run the local Cloud Tasks server: ``python -m emulator.tasks --queue projects/P/locations/L/queues/Q``."""

import argparse
import asyncio
import logging
from datetime import timedelta
from pathlib import Path

import grpc
from google.cloud import tasks_v2

from emulator.clock import Clock
from emulator.process import announce, until_parent_ends
from emulator.tasks import TOMBSTONE_AGE
from emulator.tasks.control import start_control
from emulator.tasks.dispatcher import Dispatcher
from emulator.tasks.journal import Journal, restore
from emulator.tasks.naming import check_queue_name
from emulator.tasks.oidc import TokenSigner
from emulator.tasks.server import CloudTasksService
from emulator.tasks.state import State


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m emulator.tasks", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="of gRPC; 0: any free one")
    parser.add_argument("--tombstone-seconds", type=float, default=TOMBSTONE_AGE.total_seconds())
    parser.add_argument("--control-port", type=int, default=0, help="of the control endpoints; 0: any free one")
    parser.add_argument("--data", type=Path, help="a file that keeps all tasks for the next start, or has them already")
    parser.add_argument("--queue", action="append", default=[], help="full name of a queue to create; may be repeated")
    parser.add_argument("--min-backoff", type=float, help="seconds, of these queues; default as in production")
    parser.add_argument("--max-concurrent", type=int, default=0, help="dispatches, of these queues; 0: as production")
    return parser.parse_args()


def create_queues(state: State, options: argparse.Namespace) -> None:
    """Create the queues of the command line that are not there yet: production's defaults, except what the options say."""
    for name in [name for name in options.queue if name not in state.queues]:
        check_queue_name(name, name.partition("/queues/")[0])
        message = tasks_v2.Queue.pb()(name=name)
        message.rate_limits.max_concurrent_dispatches = options.max_concurrent
        if options.min_backoff is not None:
            message.retry_config.min_backoff.FromTimedelta(timedelta(seconds=options.min_backoff))
        state.create_queue(message)


async def serve(options: argparse.Namespace) -> None:
    """Serve until the parent ends."""
    state = State(Clock(), timedelta(seconds=options.tombstone_seconds))
    journal = Journal(options.data) if options.data else None
    signer = TokenSigner(journal.key if journal else "")
    if journal:
        restore(journal, state)
        journal.write_key(signer.pem())
    create_queues(state, options)
    dispatcher = Dispatcher(state, signer)
    server = grpc.aio.server()
    server.add_generic_rpc_handlers((CloudTasksService(state, dispatcher).handlers(),))
    port = server.add_insecure_port(f"127.0.0.1:{options.port}")
    await server.start()
    control = start_control(
        state, dispatcher, signer, options.control_port, journal.advance if journal else lambda _: None
    )
    dispatcher.clock_moved()  # what was kept may be due
    announce(host=f"127.0.0.1:{port}", control=control)
    await asyncio.to_thread(until_parent_ends)
    dispatcher.abandon()
    await server.stop(grace=None)


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING)
    asyncio.run(serve(arguments()))
