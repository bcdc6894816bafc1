"""The whole local cloud with a browser before it."""

from collections.abc import Iterator

import pytest
from google.cloud import firestore
from playwright.sync_api import Browser

from emulator.cloud import PROJECT, Cloud, start
from emulator.screenshots.browser import CHROMIUM, chromium


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium; skips where there is none."""
    if not CHROMIUM.exists():
        pytest.skip(f"no browser at {CHROMIUM}")
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def cloud(browser: Browser) -> Iterator[Cloud]:
    """One for all tests of a module."""
    with start() as started:
        yield started


@pytest.fixture
def db(cloud: Cloud) -> firestore.Client:
    """Its Firestore."""
    return cloud.firestore.client(PROJECT)
