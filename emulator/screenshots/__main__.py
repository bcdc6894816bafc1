"""Take the console's screenshots anew, into docs/images: needs a Chromium on this machine."""

import argparse
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from google.cloud import firestore
from playwright.sync_api import Browser, Page

from emulator.cloud import PROJECT, start
from emulator.process import ROOT
from emulator.screenshots.browser import chromium
from emulator.screenshots.scene import ASKED_ABOUT, FAILED_JOB, IN_DOUBT_JOB, make
from ledgermail.ledger import ids
from ledgermail.mailing import load
from ledgermail.settings import FOLDER

Theme = Literal["light", "dark"]
IMAGES = ROOT / "docs" / "images"
DESK, PHONE = (1100, 760), (390, 844)
WHOLE = ("console-overview", "console-dark")  # the others show what there is above the fold
A_COMMIT = 400  # documents

# The name of the image: the page, the size of the window, the theme.
SHOTS: Mapping[str, tuple[str, tuple[int, int], Theme]] = {
    "console-overview": ("", DESK, "light"),
    "console-recipient": (f"recipients/{ASKED_ABOUT}?about=daily-digest", DESK, "light"),
    "console-delivery": (f"deliveries/{ids.delivery_id(ASKED_ABOUT, FAILED_JOB)}", DESK, "light"),
    "console-retry": (f"deliveries/{ids.delivery_id(ASKED_ABOUT, IN_DOUBT_JOB)}/retry", DESK, "light"),
    "console-record": ("record", DESK, "light"),
    "console-dark": ("", DESK, "dark"),
    "console-phone": (f"recipients/{ASKED_ABOUT}?about={FAILED_JOB}", PHONE, "light"),
    "console-phone-dark": ("", PHONE, "dark"),
}


def seed(db: firestore.Client, now: datetime) -> None:
    """Put the scene where the functions look for it."""
    documents = list(make(dict(load(FOLDER)), now).items())
    for first in range(0, len(documents), A_COMMIT):
        batch = db.batch()
        for path, fields in documents[first : first + A_COMMIT]:
            batch.set(db.document(path), fields)
        batch.commit()


def main() -> None:
    """Start a local cloud, fill it, and take a picture of each page."""
    parser = argparse.ArgumentParser(prog="python -m emulator.screenshots", description=__doc__)
    parser.add_argument("--out", type=Path, default=IMAGES)
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    with start() as cloud, chromium() as browser:
        seed(cloud.firestore.client(PROJECT), datetime.now(UTC))
        for name, (path, size, theme) in SHOTS.items():
            page = _window(browser, size, theme)
            page.goto(f"{cloud.functions.url}/console/{path}")
            page.screenshot(path=out / f"{name}.png", full_page=name in WHOLE)
            print(f"{name}: {(out / f'{name}.png').stat().st_size // 1000} KB")
            page.close()


def _window(browser: Browser, size: tuple[int, int], theme: Theme) -> Page:
    width, height = size
    scale = 1.5 if size == PHONE else 1
    return browser.new_page(viewport={"width": width, "height": height}, color_scheme=theme, device_scale_factor=scale)


if __name__ == "__main__":
    main()
