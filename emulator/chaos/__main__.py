"""`python -m emulator.chaos`: everything goes wrong for minutes, then nothing does, and what came of it is counted.

The exit code is 0 when the promise was kept, 1 when it was broken: then `--keep FOLDER` has what to look at.
"""

import argparse
import sys
import tempfile
from collections import Counter
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.progress import Progress

from emulator.chaos import stage, verdict
from emulator.chaos.play import Play
from emulator.chaos.watch import Watch
from emulator.cloud import DOCUMENTS, PROJECT, Cloud, start
from emulator.demo import play as demo
from emulator.demo.receiver import Receiver, receive
from emulator.demo.scene import Scene

WORKERS, THREADS = 7, 2  # few threads: who is killed takes few others with it
SMALL = 2000  # deliveries; in a smaller chaos processes are killed more often
MOST_OFTEN = 5.0
# Seconds of slack, and of grace: where there is much, tasks and evidence come later.
HURRIED, PATIENT = (20, 30), (60, 60)


def main() -> int:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(prog="python -m emulator.chaos", description=__doc__)
    parser.add_argument("--deliveries", type=int, default=SMALL, help="so many, or a few more")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=15, help="of trouble at most; it ends when little is left")
    parser.add_argument(
        "--events", choices=["on", "off"], default="on", help="whether the provider tells what became of mails"
    )
    parser.add_argument("--keep", type=Path, help="a folder for the ledger's file, the log and the kills")
    options = parser.parse_args()
    console = Console(highlight=False)
    if options.keep:
        options.keep.mkdir(parents=True)
    with nullcontext(options.keep) if options.keep else tempfile.TemporaryDirectory() as folder:
        return chaos(options, Path(folder), console)


def chaos(options: argparse.Namespace, folder: Path, console: Console) -> int:
    """Set the stage, play, judge; 0 when the promise was kept."""
    now = datetime.now(UTC)
    with receive() as receiver:
        scene = stage.make_scene(options.deliveries, options.seed, now, receiver.url)
        slack, grace = HURRIED if options.deliveries < SMALL else PATIENT
        mailings = stage.patient_mailings(folder / "mailings", now, slack=slack, grace=grace)
        factor = min(max(1.0, SMALL / options.deliveries), MOST_OFTEN)
        own = [f"--folder={folder}", f"--seed={options.seed}", f"--factor={factor}"]
        served = ["emulator.chaos.workers", *own, f"--workers={WORKERS}", f"--threads={THREADS}"]
        overrides = demo.HURRY | {"LEDGERMAIL_MAILINGS": str(mailings)}
        overrides |= {} if options.events == "on" else {"LEDGERMAIL_EVENTS_KEY": ""}
        with start(overrides=overrides, log=folder / "log", data=folder, served=served) as cloud:
            return _chaos(cloud, scene, now, receiver, options, folder, console)


def _chaos(
    cloud: Cloud,
    scene: Scene,
    now: datetime,
    receiver: Receiver,
    options: argparse.Namespace,
    folder: Path,
    console: Console,
) -> int:
    db = cloud.firestore.client(PROJECT)
    watch = Watch(folder / DOCUMENTS)
    owed = sum(len(ids) for ids in scene.owed.values())
    console.print(f"{len(scene.users)} users and {len(scene.matches)} matches oblige to {owed} deliveries.")
    for documents in (*stage.past(options.deliveries, now), stage.people(scene), stage.waves(scene)[0]):
        stage.write(db, documents)
    play = Play(cloud, db, scene, watch, folder, options.seed, events=options.events == "on")
    with Progress(console=console, transient=True) as bar:
        for name, acts in (("trouble", play.trouble(options.minutes * 60)), ("calm", play.calm())):
            task = bar.add_task(name, total=owed)
            for ended in acts:
                bar.update(task, completed=ended)
    outside = verdict.Outside(
        found=verdict.statuses(db),
        mailed=cloud.inbox.copies(),
        refused=cloud.inbox.stats()["by_fault"].get("refuse", 0),
        told=receiver.events.keys(),
        events=options.events == "on",
    )
    watch.stop()
    verdicts = verdict.judge(scene, watch.history, outside)
    kills = Counter((folder / "kills").read_text().splitlines())
    verdict.show(verdicts, watch.history, play.played, kills, console)
    return 0 if all(one.kept for one in verdicts) and not watch.history.broken else 1


if __name__ == "__main__":
    sys.exit(main())
