"""A submitted form is a wish or is told by field what is wrong, and the page can be shown for whatever stands or was sent."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledgermail.errors import InvalidForm
from ledgermail.planning.schedules import parse
from ledgermail.preferences import preference_page
from ledgermail.preferences.links import Subscription
from ledgermail.preferences.preference_form import is_one_click, wish_of
from ledgermail.preferences.preferences import Wish
from ledgermail.preferences.schedule_words import DAYS, HOURS
from tests.samples import settings
from tests.unit.digests import SHIPPED
from tests.unit.test_preferences import USERS

WEEKLY = Subscription("u1", "weekly-digest")
SAVE = {"act": ["save"], "zone": ["Europe/Berlin"]}
PARTS = [f"{part}:{name}" for part in ("day", "hour") for name in SHIPPED]
VALUES = st.sampled_from([*DAYS, *HOURS, *SHIPPED, "keep", "save", "UTC", "Europe/Berlin", "<b>"]) | st.text(max_size=9)
FORMS = st.dictionaries(
    st.sampled_from(["act", "on", "zone", "List-Unsubscribe", *PARTS]) | st.text(max_size=9),
    st.lists(VALUES, min_size=1, max_size=3),
)
SAVES = FORMS.map(lambda form: {**form, "act": ["save"], "zone": form.get("zone", ["UTC"])})


@pytest.mark.parametrize(
    ("form", "wish"),
    [
        ({"act": ["unsubscribe"]}, Wish(active={"weekly-digest": False})),
        ({"act": ["subscribe"]}, Wish(active={"weekly-digest": True})),
        ({"act": ["stop"]}, Wish(active=dict.fromkeys(SHIPPED, False))),
        (SAVE, Wish(active=dict.fromkeys(SHIPPED, False), zone="Europe/Berlin")),
        (
            {**SAVE, "on": ["job-alert"], "day:weekly-digest": ["1-5"], "hour:weekly-digest": ["18"]},
            Wish(
                active=dict.fromkeys(SHIPPED, False) | {"job-alert": True},
                schedules={"weekly-digest": parse("0 18 * * 1-5 Europe/Berlin")},
                zone="Europe/Berlin",
            ),
        ),
    ],
)
def test_a_form_is_a_wish(form: dict[str, list[str]], wish: Wish) -> None:
    assert wish_of(form, WEEKLY, SHIPPED) == wish


def test_everything_that_is_wrong_is_told_together() -> None:
    wrong = {"act": ["save"], "on": ["x"], "zone": ["x"], "day:weekly-digest": ["9"], "hour:daily-digest": ["8"]}
    with pytest.raises(InvalidForm) as refused:
        wish_of(wrong, WEEKLY, SHIPPED)
    assert set(refused.value.problems) == {
        *("on", "zone", "day:weekly-digest", "hour:weekly-digest", "day:daily-digest")
    }


def test_a_mailing_that_is_no_more_can_be_left_but_not_subscribed_to() -> None:
    gone = Subscription("u1", "old-news")
    assert wish_of({"act": ["unsubscribe"]}, gone, SHIPPED).active == {"old-news": False}
    assert wish_of({"act": ["stop"]}, gone, SHIPPED).active == dict.fromkeys([*SHIPPED, "old-news"], False)
    with pytest.raises(InvalidForm):
        wish_of({"act": ["subscribe"]}, gone, SHIPPED)


@pytest.mark.parametrize(
    ("form", "one"),
    [
        ({"List-Unsubscribe": ["One-Click"]}, True),
        ({"List-Unsubscribe": ["One-Click"], "more": ["x"]}, True),
        ({"List-Unsubscribe": ["One-Click", "One-Click"]}, False),
        ({"List-Unsubscribe": ["one-click"]}, False),
        ({}, False),
    ],
)
def test_one_click_is_what_the_rfc_says(form: dict[str, list[str]], one: bool) -> None:
    assert is_one_click(form) is one


@given(user=USERS, form=FORMS | SAVES)
def test_whatever_stands_there_and_whatever_was_sent_the_page_can_be_shown(
    user: dict[str, Any], form: dict[str, list[str]]
) -> None:
    problems: dict[str, str] = {}
    try:
        wish_of(form, WEEKLY, SHIPPED)
    except InvalidForm as error:
        problems = error.problems
    page = preference_page.of(
        settings(), SHIPPED, WEEKLY, user, 200, problems=problems, form=form if problems else None
    )
    assert page.status_code == 200
    html = page.get_data(as_text=True)
    assert "<b>" not in html
    assert all(f'id="{name.replace(":", "-")}"' in html for name in problems if name not in {"act", "on"})
