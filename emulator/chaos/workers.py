"""Serve the functions as `emulator.functions` does, in processes that are killed at the crash points.

What a killed process would have to load again is loaded before the processes are forked: a new one serves at once. And what
production waits minutes for is waited for in seconds.
"""

import argparse
from datetime import timedelta
from importlib import import_module
from pathlib import Path

from emulator import functions
from emulator.chaos.points import Killer, arm

# Google's libraries, and ours that are loaded when first needed.
HEAVY = (
    "google.cloud.firestore",
    "google.cloud.tasks_v2",
    "google.cloud.tasks_v2.services.cloud_tasks.transports",
    "google.oauth2.id_token",
    "jinja2",
    "sendgrid.helpers.mail",
    "ledgermail.status.status",
)
# How long the product waits where no setting says it: for a lock whose holder died, a part that nobody works on, and the like.
HURRIED = {
    "planning.book:LOCK_AGE": timedelta(seconds=5),
    "planning.coordinator:STALE": timedelta(seconds=5),
    "delivering.gate:PAUSED_WAIT": timedelta(seconds=2),
    "web:UNAVAILABLE_WAIT": timedelta(seconds=2),
    "delivering.worker:INFRASTRUCTURE_WAIT": timedelta(seconds=2),
    "delivering.worker:THROTTLED_WAIT": timedelta(seconds=2),
}


def main() -> None:
    """Serve until the parent ends."""
    parser = functions.arguments("emulator.chaos.workers")
    parser.add_argument("--folder", type=Path, required=True, help="where `armed` and `kills` are")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--factor", type=float, default=1.0, help="of the share of calls that are somebody's last")
    options = parser.parse_args()
    killer = prepared(options)
    functions.serve(options, forked=killer.forked)


def prepared(options: argparse.Namespace) -> Killer:
    """Load everything, hurry it, and put the killer around it."""
    from ledgermail.app import app

    for name in HEAVY:
        import_module(name)
    for place, value in HURRIED.items():
        module, _, name = place.partition(":")
        holder = import_module(f"ledgermail.{module}")
        assert type(getattr(holder, name)) is type(value), place
        setattr(holder, name, value)
    killer = Killer(options.folder, options.seed, options.factor)
    arm(killer)
    app()
    return killer


if __name__ == "__main__":
    main()
