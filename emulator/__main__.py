"""`python -m emulator up|demo`: the whole cloud on this machine, to work with or to watch."""

import argparse
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from emulator.cloud import PROJECT, TRIGGER_KEY, Cloud, Ports, start
from emulator.demo import outcome, play
from emulator.demo.receiver import Receiver, receive
from emulator.demo.scene import Scene, make, make_postings, read_postings
from emulator.up import jobs, known_to_tools, until_interrupted

UP = Ports(functions=8080, firestore=8090, inbox=8025, smtp=1025, tasks=8123)


def main() -> int:
    """Run what was asked for; the exit code is 0 when it went well."""
    options = _options()
    console = Console(highlight=False)
    if options.what == "up":
        return up(options, console)
    return demo(options, console)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m emulator", description=__doc__)
    whats = parser.add_subparsers(dest="what", required=True)
    for name, text in (("up", "serve until stopped"), ("demo", "play a scene in which much goes wrong, and count")):
        what = whats.add_parser(name, help=text)
        what.add_argument("--firestore", choices=["auto", "official", "embedded"], default="embedded")
    played = whats.choices["demo"]
    played.add_argument("--jobs", type=Path, help="postings to use: a file of one JSON object a line")
    played.add_argument("--users", type=int, default=200)
    played.add_argument("--matches", type=int, default=2000)
    played.add_argument("--seed", type=int, default=1)
    played.add_argument("--events", choices=["on", "off"], default="on", help="whether the provider tells what it took")
    played.add_argument("--log", type=Path, help="keep the functions' log in this file")
    return parser.parse_args()


def up(options: argparse.Namespace, console: Console) -> int:
    """Serve everything, with the scheduler's jobs, until interrupted."""
    # Without an audience the functions do not ask for a token: on this machine they can be called by hand.
    with start(options.firestore, ports=UP, overrides={"LEDGERMAIL_AUDIENCE": ""}) as cloud, jobs(cloud):
        _print_addresses(cloud, console)
        with known_to_tools(cloud.environment):
            until_interrupted()
    return 0


def demo(options: argparse.Namespace, console: Console) -> int:
    """Play the scene and print what came of it; 1 when the promise was broken, 2 when the scene cannot be made."""
    try:
        postings = read_postings(options.jobs) if options.jobs else make_postings(300, options.seed)
    except (OSError, ValueError) as error:
        console.print(f"--jobs: {error}", markup=False)
        return 2
    now = datetime.now(UTC)
    with tempfile.TemporaryDirectory() as folder, receive() as receiver:
        scene = make(
            postings=postings,
            users=options.users,
            matches=options.matches,
            seed=options.seed,
            now=now,
            webhook=receiver.url,
        )
        mailings = play.hurried_mailings(Path(folder) / "mailings", now)
        overrides = play.HURRY | {"LEDGERMAIL_MAILINGS": str(mailings)}
        overrides |= {"LEDGERMAIL_EVENTS_KEY": ""} if options.events == "off" else {}
        log = options.log or Path(folder) / "functions.log"
        started = time.monotonic()
        with start(options.firestore, overrides=overrides, log=log) as cloud:
            console.print(f"The local cloud is up after {time.monotonic() - started:.0f} s.")
            return _play(cloud, scene, options.seed, receiver, console)


def _play(cloud: Cloud, scene: Scene, seed: int, receiver: Receiver, console: Console) -> int:
    db = cloud.firestore.client(PROJECT)
    play.seed(db, scene)
    if cloud.firestore.controlled:
        cloud.firestore.reset_usage(PROJECT)
    owed = sum(len(ids) for ids in scene.owed.values())
    console.print(
        f"{len(scene.users)} users, {len(scene.matches)} matches and {len(scene.reports)} versions of reports "
        f"oblige to {owed} deliveries."
    )
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task("settled", total=owed)
        for progress in play.play(cloud, db, scene, seed, bar.console.print):
            bar.update(task, completed=progress.planned - progress.unfinished)
    usage = cloud.firestore.usage(PROJECT) if cloud.firestore.controlled else None
    kept = outcome.look(cloud, db, scene)
    outcome.show(kept, cloud, usage, receiver, console)
    return 0 if all(one.kept for one in kept) else 1


def _print_addresses(cloud: Cloud, console: Console) -> None:
    console.print(f"inbox      {cloud.inbox.url} (stands for SendGrid and Resend, too)")
    console.print(f"smtp       127.0.0.1:{cloud.inbox.smtp_port}")
    for name in ("console", "trigger", "status"):
        console.print(f"{name:<10} {cloud.functions.url}/{name}")
    console.print("\nFor your own code and for tools:")
    for name in ("FIRESTORE_EMULATOR_HOST", "CLOUD_TASKS_EMULATOR_HOST", "LEDGERMAIL_PROJECT"):
        console.print(f"  export {name}={cloud.environment[name]}")
    console.print("\nThe command line finds it all with `ledgermail --local`; see README: Operate it.")
    console.print(f"The trigger's key is {TRIGGER_KEY}. Press Ctrl-C to stop.")


if __name__ == "__main__":
    sys.exit(main())
