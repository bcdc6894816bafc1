"""The documentation is whole: every link within it leads somewhere, and from the README every page is found."""

import re
from pathlib import Path

import pytest

from emulator.process import ROOT

README = ROOT / "README.md"
PAGES = [README, ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md")), ROOT / "bench" / "results.md"]
LINK = re.compile(r"\]\(([^)\s]+)\)")
ELSEWHERE = ("https://", "http://", "mailto:")


def links(page: Path) -> list[tuple[Path, str]]:
    """Where a page leads within the project: the file, and the anchor or nothing."""
    found = [link.partition("#") for link in LINK.findall(page.read_text("utf-8")) if not link.startswith(ELSEWHERE)]
    return [((page.parent / path).resolve() if path else page, anchor) for path, _, anchor in found]


def anchors(page: Path) -> set[str]:
    """Those of its headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    for file, anchor in links(page):
        assert file.exists(), file
        assert not anchor or anchor in anchors(file), f"{file.name}#{anchor}"


def test_from_the_readme_every_page_is_found() -> None:
    found, unread = {README}, [README]
    while unread:
        new = {file for file, _ in links(unread.pop()) if file.suffix == ".md"} - found
        found |= new
        unread += new
    assert found == set(PAGES)
