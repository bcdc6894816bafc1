"""Against django-post_office, which keeps its queue in the application's database: the same mails to the same server."""

import logging
import os
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from bench import ground as grounds
from bench.delivering import THREADS
from bench.ground import USERS, Ground, silent
from bench.report import Section, Table
from bench.rounds import interleaved, ratio
from emulator.cloud import PROJECT
from emulator.inbox import DEFAULT_KEY, SMTP_USER
from ledgermail.app import App
from ledgermail.mailing import load
from ledgermail.settings import FOLDER, read

PHASES = ("take on", "send", "both")
Mail = dict[str, Any]  # as post_office's send_many takes it


def measure(ground: Ground, rounds: int, count: int) -> Section:
    """Both in turn, with an empty queue each time."""
    rows, ratios = [], {}
    environment = _through_smtp(ground)
    os.environ.update(environment)
    with tempfile.TemporaryDirectory() as folder, silent():
        app = App(read(environment), load(FOLDER))
        mail = _as_post_office_takes(app, ground)
        mails = [mail | {"recipients": [f"u{n % USERS}@example.com"]} for n in range(count)]
        _set_up_django(Path(folder), ground)
        rounds_of = {
            "ledgermail": partial(_ours, ground, app, count),
            "post_office": partial(_theirs, Path(folder), mails),
        }
        times = interleaved(list(rounds_of), rounds, lambda name: _round(ground, rounds_of[name], count))
    for place, phase in enumerate(PHASES):
        ours, theirs = ([one[place] for one in times[name]] for name in rounds_of)
        share = ratio(theirs, ours)
        rows.append((phase, f"{count / median(ours):.0f}", f"{count / median(theirs):.0f}", f"{share:.2f}"))
        ratios[f"{phase}, of django-post_office"] = share
    return Section(
        "Against django-post_office", METHOD.format(count=count, rounds=rounds, threads=THREADS), [_table(rows)], ratios
    )


METHOD = (
    "{count} mails with the same content to the same local SMTP server, {threads} at a time, from one process. *Take on*:"
    " ours is a scan, with a task for each; theirs `send_many`. *Send*: ours claims, sends and settles each by itself, over a"
    " connection of its own; theirs is `send_queued_mail_until_done`, which holds a lock file, sends a batch of 100 over"
    " connections that it keeps, and writes down what came of them after the batch: what is not written when it dies is sent"
    " again. Theirs writes to an SQLite file from its own process, ours to a server. Medians of {rounds}; ratios of pairs."
)


def _table(rows: Sequence[Sequence[str]]) -> Table:
    return Table(("phase", "ledgermail, a second", "django-post_office, a second", "ledgermail of it"), rows)


def _through_smtp(ground: Ground) -> dict[str, str]:
    return {
        **ground.environment,
        "LEDGERMAIL_PROVIDER": "smtp",
        "LEDGERMAIL_SMTP_HOST": "127.0.0.1",
        "LEDGERMAIL_SMTP_PORT": str(ground.inbox.smtp_port),
        "LEDGERMAIL_SMTP_USER": SMTP_USER,
        "LEDGERMAIL_SMTP_PASSWORD": DEFAULT_KEY,
        "LEDGERMAIL_SMTP_TLS": "none",
    }


def _set_up_django(folder: Path, ground: Ground) -> None:
    """An application of nothing but post_office, with its own SQLite file."""
    import django
    from django.conf import settings
    from django.core.management import call_command

    settings.configure(
        INSTALLED_APPS=["post_office"],
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": folder / "queue.sqlite3"}},
        POST_OFFICE={
            "BACKENDS": {"default": "django.core.mail.backends.smtp.EmailBackend"},
            "THREADS_PER_PROCESS": THREADS,
        },
        TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates"}],
        EMAIL_HOST="127.0.0.1",
        EMAIL_PORT=ground.inbox.smtp_port,
        EMAIL_HOST_USER=SMTP_USER,
        EMAIL_HOST_PASSWORD=DEFAULT_KEY,
        USE_TZ=True,
    )
    django.setup()
    logging.getLogger("post_office").setLevel(logging.WARNING)
    call_command("migrate", verbosity=0)


def _round(ground: Ground, work: Any, count: int) -> tuple[float, float, float]:
    """Seconds to take the mails on, to send them, and for both."""
    ground.store.reset(PROJECT)
    ground.tasks.reset()
    ground.inbox.clear()
    take_on, send = work()
    begun = time.perf_counter()
    queued = take_on()
    between = time.perf_counter()
    send(queued)
    ended = time.perf_counter()
    accepted = ground.inbox.stats()["accepted"]
    assert accepted == count, accepted
    return between - begun, ended - between, ended - begun


def _ours(ground: Ground, app: App, count: int) -> tuple[Any, Any]:
    then = datetime.now(UTC) - timedelta(seconds=2)
    grounds.write(ground.db, "users", USERS, grounds.user)
    grounds.write(ground.db, "matches", count, lambda number: grounds.match(number, USERS, then))

    def take_on() -> list[str]:
        app.scanner.scan(app.mailings["job-alert"])
        return [grounds.delivery(number).id for number in range(count)]

    def send(owed: list[str]) -> None:
        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(app.worker.deliver, owed))

    return take_on, send


def _theirs(folder: Path, mails: list[Mail]) -> tuple[Any, Any]:
    from post_office.mail import send_many, send_queued_mail_until_done

    return lambda: send_many(mails), lambda _: send_queued_mail_until_done(str(folder / "lock"))


def _as_post_office_takes(app: App, ground: Ground) -> Mail:
    """A mail with the content of one of ours."""
    one = grounds.delivery(0)
    grounds.write(ground.db, "users", 1, grounds.user)
    grounds.write(ground.db, "deliveries", 1, lambda _: grounds.delivery_document(one))
    app.worker.deliver(one.id)
    (mail,) = ground.inbox.mails(delivery_id=one.id)
    return {
        "sender": app.settings.sender,
        "subject": mail["subject"],
        "message": mail["text"],
        "html_message": mail["html"],
    }
