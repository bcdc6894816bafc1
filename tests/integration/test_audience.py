"""Who is in an audience, and how it is parted: by the order of ids, whatever ids are like."""

import random
import string
from collections.abc import Callable
from uuid import UUID

import pytest

from emulator.firestore import Firestore
from emulator.tasks import CloudTasks
from ledgermail.app import App
from ledgermail.planning.audience import PAGE, Audience, Cohort
from tests.integration.conftest import Ground
from tests.integration.planning import DAILY, Planning, a_subscriber

PEOPLE, PARTS = 450, 4
ALL = Cohort(mailing="daily-digest", schedule=None)


@pytest.fixture
def plan(app: App, ground: Ground, tasks_server: CloudTasks) -> Planning:
    """A deployment whose only mailing is the daily digest."""
    return Planning(app, ground, tasks_server, {"daily-digest": DAILY})


@pytest.fixture
def audience(app: App) -> Audience:
    """The users of this test's project."""
    return Audience(app.client)


def random_ids(letters: str, length: int) -> list[str]:
    chance = random.Random(7)
    return ["".join(chance.choices(letters, k=length)) for _ in range(PEOPLE)]


KINDS: dict[str, Callable[[], list[str]]] = {
    "counted": lambda: [f"user_{number:06}" for number in range(1, PEOPLE + 1)],
    "counted_across_a_digit": lambda: [f"user_{number:06}" for number in range(9_800, 9_800 + PEOPLE)],
    "counted_without_zeros": lambda: [str(number) for number in range(1, PEOPLE + 1)],
    "automatic": lambda: random_ids(string.ascii_letters + string.digits, 20),
    "hexadecimal": lambda: [str(UUID(int=random.Random(n).getrandbits(128))) for n in range(PEOPLE)],
    "addresses": lambda: [f"{name}@example.com" for name in random_ids(string.ascii_lowercase, 6)],
    "unicode": lambda: random_ids("äöüßéèñçÅØ日本語漢字仮名\U0001f600\U0001f601\U0001f602", 8),
    "with_a_long_head": lambda: ["tenant-" + "x" * 200 + f"-{number:05}" for number in range(PEOPLE)],
    "with_dots_and_underscores": lambda: [
        f"{head}{number:04}" for head in ("..", "__", ".") for number in range(PEOPLE // 3)
    ],
    "each_the_head_of_the_next": lambda: ["x" * number for number in range(1, PEOPLE + 1)],
}


@pytest.mark.parametrize("kind", KINDS)
def test_parts_hold_everybody_once_and_none_holds_most(kind: str, plan: Planning, audience: Audience) -> None:
    names = sorted(KINDS[kind](), key=lambda name: name.encode())
    plan.users({name: a_subscriber(name) for name in names})
    after = names[9]
    borders = audience.split(ALL, after, PARTS)
    ends = zip([after, *borders], [*borders, ""], strict=True)
    found = [read_to_the_end(audience, start, end) for start, end in ends]
    assert [name for part in found for name in part] == names[10:]
    if kind != "each_the_head_of_the_next":
        assert len(found) == PARTS
        assert max(map(len, found)) <= 2 * PEOPLE / PARTS, [len(part) for part in found]


def read_to_the_end(audience: Audience, after: str, upto: str) -> list[str]:
    found: list[str] = []
    while page := audience.page(ALL, found[-1] if found else after, upto):
        found += [subscriber.user_id for subscriber in page]
        if len(page) < PAGE:
            break
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_parting_an_audience_reads_few_of_its_users(
    kind: str, plan: Planning, audience: Audience, project: str, controlled: Firestore
) -> None:
    plan.users({name: a_subscriber(name) for name in KINDS[kind]()})
    controlled.reset_usage(project)
    audience.split(ALL, "", PARTS)
    assert controlled.usage(project).reads < 200


def test_an_audience_that_is_over_is_not_parted(audience: Audience, plan: Planning) -> None:
    plan.subscribe("u1")
    assert audience.split(ALL, "u1", 4) == audience.split(ALL, "", 4) == []


def test_a_cohort_is_whoever_wants_the_mailing_by_this_schedule_and_topic(plan: Planning, audience: Audience) -> None:
    plan.subscribe("all", schedule="0 9 * * *", topics=["a", "b"])
    plan.subscribe("other_topic", schedule="0 9 * * *", topics=["b"])
    plan.subscribe("other_time", schedule="0 8 * * *", topics=["a"])
    plan.subscribe("other_kind", mailing="weekly-digest", schedule="0 9 * * *", topics=["a"])
    plan.subscribe("not_any_more", schedule="0 9 * * *", topics=["a"], active=False)
    plan.subscribe("not_a_list", schedule="0 9 * * *", topics="a")
    cohort = Cohort(mailing="daily-digest", schedule="0 9 * * *", topic="a")
    assert [subscriber.user_id for subscriber in audience.page(cohort, "", "")] == ["all"]
    assert audience.count(cohort) == 1


def test_the_schedules_in_use_are_each_found_once_in_their_order(plan: Planning, audience: Audience) -> None:
    wanted = ["", " 0 8 * * *", "0 8 * * *", "0 8 * * * UTC", "0 8 * * 1 UTC", "\U0001f600"]
    for number, schedule in enumerate([*wanted, *wanted]):
        plan.subscribe(f"u{number}", schedule=schedule)
    plan.subscribe("odd", schedule=7)
    plan.subscribe("none")
    assert list(audience.schedules("daily-digest")) == wanted[1:]
    assert list(audience.schedules("weekly-digest")) == []


def test_a_mailing_may_be_called_anything(audience: Audience, plan: Planning) -> None:
    plan.subscribe("u1", mailing="A.b-1", schedule="0 8 * * *")
    assert list(audience.schedules("A.b-1")) == ["0 8 * * *"]
    assert audience.count(Cohort(mailing="A.b-1", schedule="0 8 * * *")) == 1
