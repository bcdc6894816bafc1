"""A mailing's folder: read whole or refused with every problem, by file and key."""

from dataclasses import replace
from pathlib import Path
from shutil import copytree

import pytest

from ledgermail.errors import ConfigurationError
from ledgermail.ledger.delivery import Guarantee
from ledgermail.mailing import GRACES, TEMPLATES, load
from ledgermail.settings import FOLDER
from tests.samples import a_mailing


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of mailings, with the shipped one in it."""
    copytree(FOLDER / "job-alert", tmp_path / "job-alert")
    return tmp_path


def declare(folder: Path, text: str, name: str = "job-alert") -> None:
    (folder / name / "mailing.toml").write_text(text)


def problems(folder: Path) -> tuple[str, ...]:
    with pytest.raises(ConfigurationError) as refused:
        load(folder)
    return refused.value.problems


def test_the_shipped_mailing_is_sound() -> None:
    mailing = a_mailing()
    assert (mailing.name, mailing.guarantee) == ("job-alert", Guarantee.AT_MOST_ONCE)
    assert set(mailing.templates) == set(TEMPLATES)
    assert mailing.policy.retention > mailing.max_age >= mailing.look_back


def test_adding_a_folder_adds_a_mailing(folder: Path) -> None:
    copytree(folder / "job-alert", folder / "job-news")
    declare(folder, 'guarantee = "at_least_once"\nschedule = "0 8 * * *"', "job-news")
    assert set(load(folder)) == {"job-alert", "job-news"}


def test_two_mailings_of_alerts_are_refused_as_their_deliveries_would_be_the_same(folder: Path) -> None:
    copytree(folder / "job-alert", folder / "job-news")
    assert problems(folder) == (
        "job-news/mailing.toml schedule: is missing, and only one mailing may be without: job-alert is",
    )


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('schedule = "8 o\'clock"', "schedule: must have five fields"),
        ('source = "report"', "schedule: is missing: a report has one"),
        ('source = "rumours"', "source: must be one of matches, report"),
        ("webhook = 1", "webhook: must be true or false"),
        ("item_cap = 0", "item_cap: must be a whole number from 1 to 200"),
        ('retention_accepted = "1h"', "retention_accepted: must be longer than max_age"),
        ('retry_deadline = "12h"', "retry_deadline: must be longer than catch_up"),
        ('catch_up = "60d"', "retention: must be longer than catch_up"),
    ],
)
def test_what_a_digest_declares_is_checked_by_name(folder: Path, line: str, problem: str) -> None:
    declare(folder, f'guarantee = "at_least_once"\n{line}')
    assert any(problem in told for told in problems(folder)), problems(folder)


def test_only_the_guarantee_has_to_be_declared(folder: Path) -> None:
    declare(folder, 'guarantee = "at_least_once"')
    policy = replace(a_mailing().policy, evidence_grace=GRACES[Guarantee.AT_LEAST_ONCE])
    assert load(folder)["job-alert"].policy == policy


def test_several_problems_are_told_together_by_file_and_key(folder: Path) -> None:
    declare(folder, 'guarantee = "exactly_once"\nretry_base = "soon"\nslak = "5m"\nmax_age = 3')
    (folder / "job-alert" / "body.txt").unlink()
    copytree(FOLDER / "job-alert", folder / "job-news")
    declare(folder, "", "job-news")
    told = [problem.partition(": ")[0] for problem in problems(folder)]
    assert told == [
        "job-alert/body.txt",
        "job-alert/mailing.toml guarantee",
        "job-alert/mailing.toml retry_base",
        "job-alert/mailing.toml max_age",
        "job-alert/mailing.toml slak",
        "job-news/mailing.toml guarantee",
    ]


@pytest.mark.parametrize("guarantee", ['["at_most_once"]', "1", "{}", "false"])
def test_a_guarantee_of_another_kind_is_named(folder: Path, guarantee: str) -> None:
    declare(folder, f"guarantee = {guarantee}")
    assert problems(folder)[0].startswith("job-alert/mailing.toml guarantee: must be one of")


@pytest.mark.parametrize(
    ("declared", "key"),
    [
        ('max_age = "30d"', "retention"),
        ('retention = "3d"', "retention"),
        ('look_back = "31d"\nmax_age = "29d"\nretention = "30d"', "retention"),
        ('look_back = "4d"', "max_age"),
        ('retry_base = "1h"\nretry_cap = "1m"', "retry_cap"),
        ('evidence_grace = "1h"\npromise = "1h"', "evidence_grace"),
    ],
)
def test_durations_that_would_break_the_promise_are_refused(folder: Path, declared: str, key: str) -> None:
    declare(folder, f'guarantee = "at_most_once"\n{declared}')
    assert f"job-alert/mailing.toml {key}" in [problem.partition(": ")[0] for problem in problems(folder)]


@pytest.mark.parametrize("written", [b"guarantee = ", b"\xff = 1", b"[a"])
def test_a_file_that_cannot_be_read_is_named(folder: Path, written: bytes) -> None:
    (folder / "job-alert" / "mailing.toml").write_bytes(written)
    assert problems(folder)[0].startswith("job-alert/mailing.toml: ")


@pytest.mark.parametrize("name", ["subject.txt", "body.mjml", "body.txt"])
def test_a_template_that_cannot_be_read_is_named(folder: Path, name: str) -> None:
    (folder / "job-alert" / name).write_bytes(b"\xff\xfe\xfa")
    assert problems(folder)[0].startswith(f"job-alert/{name}: ")


def test_a_missing_declaration_is_named(folder: Path) -> None:
    (folder / "job-alert" / "mailing.toml").unlink()
    assert problems(folder) == ("job-alert/mailing.toml: is missing",)


@pytest.mark.parametrize("name", ["job_alert", "job alert", "jöb"])
def test_a_folder_whose_name_cannot_be_part_of_an_id_is_refused(folder: Path, name: str) -> None:
    (folder / "job-alert").rename(folder / name)
    assert problems(folder)[0].startswith(f"{name}/mailing.toml name: ")


HIDDEN = ["", "{# {{ unsubscribe_url }} #}", "<!-- {{ unsubscribe_url }} -->", "unsubscribe_url"]
HIDDEN += ["{% set unsubscribe_url = 1 %}"]


@pytest.mark.parametrize("name", ["body.mjml", "body.txt"])
@pytest.mark.parametrize("source", HIDDEN)
def test_a_body_that_does_not_show_how_to_unsubscribe_is_refused(folder: Path, name: str, source: str) -> None:
    (folder / "job-alert" / name).write_text(source)
    assert problems(folder) == (f"job-alert/{name}: must show {{{{ unsubscribe_url }}}}, by which its reader stops it",)


@pytest.mark.parametrize("shown", ["{{ unsubscribe_url }}", "{{preferences_url}}", "{{- unsubscribe_url | trim }}"])
def test_a_body_may_show_it_in_any_words(folder: Path, shown: str) -> None:
    (folder / "job-alert" / "body.txt").write_text(shown)
    assert load(folder)["job-alert"].templates["body.txt"] == shown


@pytest.mark.parametrize(("line", "title"), [("", "Job alert"), ('title = "New jobs"', "New jobs")])
def test_readers_know_a_mailing_by_its_title_or_its_name(folder: Path, line: str, title: str) -> None:
    declare(folder, f'guarantee = "at_most_once"\n{line}')
    assert load(folder)["job-alert"].title == title


@pytest.mark.parametrize("empty", ["", "nothing-here"])
def test_no_mailing_at_all_is_refused(tmp_path: Path, empty: str) -> None:
    assert len(problems(tmp_path / empty)) == 1


def test_another_word_in_a_template_is_another_version(folder: Path) -> None:
    before = load(folder)["job-alert"].version
    (folder / "job-alert" / "body.txt").write_text("Hi {{ user.name }}: {{ unsubscribe_url }}\n")
    after = load(folder)["job-alert"].version
    assert before == a_mailing().version != after
