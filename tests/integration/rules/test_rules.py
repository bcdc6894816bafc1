"""What a browser may do: a signed-in user reads their own document and changes what they get and when, and nothing else."""

from datetime import UTC, datetime
from typing import Any

import pytest
from google.cloud import firestore

from tests.integration.rules.conftest import NOW, Browser

OK, FORBIDDEN, GONE = 200, 403, 404
SINCE = datetime(2026, 8, 16, tzinfo=UTC)
ALERT, WEEKLY, REPORT = ("mailings.`job-alert`", "mailings.`weekly-digest`", "mailings.`shipment-digest`")
USER: dict[str, Any] = {
    "email": "u1@example.com",
    "name": "Ada",
    "webhook_url": "https://example.com/hook",
    "mailings": {
        "job-alert": {"active": True, "since": SINCE, "resumed_at": SINCE},
        "weekly-digest": {"active": False},
        "shipment-digest": {"active": True, "topics": ["shipments"]},
    },
}
OURS = ["deliveries", "runs", "state", "prunes", "audits", "matches", "reports", "anything"]


@pytest.fixture(autouse=True)
def there(db: firestore.Client) -> firestore.Client:
    db.document("users/u1").set(USER)
    db.document("users/u2").set(USER | {"email": "u2@example.com"})
    for collection in OURS:
        db.document(f"{collection}/x").set({"user_id": "u1"})
    return db


def allowed(u1: Browser, fields: dict[str, Any]) -> bool:
    status = u1.update("users/u1", fields)
    assert status in (OK, FORBIDDEN)
    return status == OK


# Reading


def test_a_user_reads_their_own_document_and_nobody_elses(u1: Browser, nobody: Browser) -> None:
    assert (u1.get("users/u1"), u1.get("users/u2"), nobody.get("users/u1")) == (OK, FORBIDDEN, FORBIDDEN)


def test_nobody_lists_users(u1: Browser, nobody: Browser) -> None:
    assert {ask(name) for who in (u1, nobody) for ask in (who.list, who.query) for name in ("users",)} == {FORBIDDEN}


@pytest.mark.parametrize("collection", OURS)
def test_everything_else_is_closed_in_every_way(u1: Browser, nobody: Browser, collection: str) -> None:
    path = f"{collection}/x"
    for who in (u1, nobody):
        assert {who.get(path), who.list(collection), who.query(collection)} == {FORBIDDEN}
        assert {who.update(path, {"a": 1}), who.set(path, {}), who.delete(path)} == {FORBIDDEN}
        assert who.create(f"{collection}/new", {"user_id": "u1"}) == FORBIDDEN


@pytest.mark.parametrize("path", ["users/u1/private/x", "reports/t/versions/v", "prunes/p/pages/x"])
def test_nor_is_anything_below_a_document_open(u1: Browser, path: str) -> None:
    assert {u1.get(path), u1.create(path, {"a": 1}), u1.delete(path)} == {FORBIDDEN}


# Writing


@pytest.mark.parametrize(
    "fields",
    [
        {f"{ALERT}.active": False, f"{ALERT}.since": NOW},
        {f"{WEEKLY}.active": True, f"{WEEKLY}.since": NOW, f"{WEEKLY}.resumed_at": NOW},
        {f"{WEEKLY}.schedule": "0 8 * * 1 Europe/Berlin", f"{WEEKLY}.since": NOW},
        {f"{WEEKLY}.schedule": "0 8 * * 1", f"{WEEKLY}.since": NOW},
        {f"{WEEKLY}.schedule": "*/30 8-18 * JAN,FEB MON-FRI America/Argentina/Buenos_Aires", f"{WEEKLY}.since": NOW},
        {f"{REPORT}.active": False, f"{REPORT}.since": NOW},
        {
            "mailings.`daily-digest`.active": True,
            **{f"mailings.`daily-digest`.{n}": NOW for n in ("since", "resumed_at")},
        },
        {f"{ALERT}.active": False, f"{ALERT}.since": NOW, f"{REPORT}.active": False, f"{REPORT}.since": NOW},
    ],
)
def test_a_user_changes_what_they_get_and_when(u1: Browser, fields: dict[str, Any]) -> None:
    assert allowed(u1, fields)


def test_what_a_user_changed_is_what_stands_there(u1: Browser, db: firestore.Client) -> None:
    assert allowed(u1, {f"{WEEKLY}.active": True, f"{WEEKLY}.since": NOW, f"{WEEKLY}.resumed_at": NOW})
    after = db.document("users/u1").get().to_dict() or {}
    preference = after["mailings"].pop("weekly-digest")
    assert preference == {"active": True, "since": preference["since"], "resumed_at": preference["since"]}
    assert after["mailings"] == {name: USER["mailings"][name] for name in ("job-alert", "shipment-digest")}
    assert after | {"mailings": 0} == USER | {"mailings": 0}


@pytest.mark.parametrize(
    "fields",
    [
        {f"{ALERT}.active": "no"},
        {f"{ALERT}.active": None},
        {f"{ALERT}.active": 0},
        {f"{WEEKLY}.schedule": 5},
        {f"{WEEKLY}.schedule": None},
        {f"{WEEKLY}.schedule": ""},
        {f"{WEEKLY}.schedule": "8 o'clock"},
        {f"{WEEKLY}.schedule": "0 8 * *"},
        {f"{WEEKLY}.schedule": "0 8 * * 1 Europe/Berlin and more"},
        {f"{WEEKLY}.schedule": "0 8 * * 1\nEurope/Berlin"},
        {f"{WEEKLY}.schedule": "0 8 * * <b>"},
        {f"{WEEKLY}.schedule": "0 8 * * " + "1," * 100},
        {f"{REPORT}.topics": ["shipments", "of-somebody-else"]},
        {f"{REPORT}.topics": []},
        {f"{WEEKLY}.topics": ["of-somebody-else"]},
        {f"{WEEKLY}.note": "x"},
        {f"{ALERT}.resumed_at": SINCE.replace(year=2020)},
        {f"{ALERT}.resumed_at": NOW},
    ],
)
def test_a_field_that_makes_no_sense_or_is_not_the_users_is_refused(u1: Browser, fields: dict[str, Any]) -> None:
    (name,) = fields
    since = f"{name.rpartition('.')[0]}.since"
    assert not allowed(u1, fields | {since: NOW})


@pytest.mark.parametrize("since", [None, SINCE, SINCE.replace(year=2100), "now"])
def test_a_change_without_its_time_is_refused_as_planning_goes_by_it(u1: Browser, since: object) -> None:
    assert not allowed(u1, {f"{WEEKLY}.schedule": "0 8 * * 1", f"{WEEKLY}.since": since})
    assert not allowed(u1, {f"{WEEKLY}.schedule": "0 8 * * 1"})


@pytest.mark.parametrize("resumed_at", [None, SINCE, SINCE.replace(year=2000)])
def test_who_turns_a_mailing_on_may_not_ask_for_what_came_before(u1: Browser, resumed_at: object) -> None:
    change = {f"{WEEKLY}.active": True, f"{WEEKLY}.since": NOW}
    assert not allowed(u1, change | {f"{WEEKLY}.resumed_at": resumed_at})
    assert not allowed(u1, change)


@pytest.mark.parametrize("name", ["`a b`", "`a/b`", "`a.b`", "`" + "a" * 101 + "`", "`ä`", "`__x__`"])
def test_a_mailing_that_can_be_none_is_refused(u1: Browser, name: str) -> None:
    fields = {f"mailings.{name}.{field}": NOW for field in ("since", "resumed_at")}
    assert u1.update("users/u1", {f"mailings.{name}.active": True, **fields}) in (FORBIDDEN, 400)


def test_so_are_more_mailings_than_there_can_be(u1: Browser, db: firestore.Client) -> None:
    def add(number: int) -> bool:
        path = f"mailings.m{number}"
        return allowed(u1, {f"{path}.active": True, f"{path}.since": NOW, f"{path}.resumed_at": NOW})

    assert [add(number) for number in range(10)] == [True] * 9 + [False]


@pytest.mark.parametrize("mailings", [None, 5, [], "all", {}, {"job-alert": True}])
def test_the_preferences_as_a_whole_cannot_be_taken_away_or_replaced(u1: Browser, mailings: object) -> None:
    assert not allowed(u1, {"mailings": mailings})


@pytest.mark.parametrize(
    "fields",
    [
        {"email": "other@example.com"},
        {"name": "Eve"},
        {"timezone": "UTC"},
        {"suppressed": None},
        {"suppression_lifted": {"by": "me"}},
        {"webhook_url": "https://evil.example"},
        {"anything": 1},
        {"email": "other@example.com", f"{ALERT}.active": False, f"{ALERT}.since": NOW},
    ],
)
def test_no_other_field_of_the_own_document_can_be_changed(u1: Browser, fields: dict[str, Any]) -> None:
    assert not allowed(u1, fields)


def test_the_document_itself_is_neither_made_nor_replaced_nor_deleted(u1: Browser, db: firestore.Client) -> None:
    assert (u1.set("users/u1", USER), u1.set("users/u1", {"mailings": {}})) == (
        OK,
        FORBIDDEN,
    )  # the first changes nothing
    assert (u1.delete("users/u1"), u1.create("users/new", USER)) == (FORBIDDEN, FORBIDDEN)
    db.document("users/u1").delete()
    assert u1.create("users/u1", USER) == FORBIDDEN
    assert u1.set("users/u1", USER) == FORBIDDEN


def test_nobody_changes_another(u1: Browser, nobody: Browser) -> None:
    change = {f"{ALERT}.active": False, f"{ALERT}.since": NOW}
    assert {who.update("users/u2", change) for who in (u1, nobody, u1.as_user("u3"))} == {FORBIDDEN}


def test_a_preference_that_the_application_wrote_otherwise_does_not_stop_the_others(
    u1: Browser, db: firestore.Client
) -> None:
    db.document("users/u1").update({"mailings.`weekly-digest`": {"active": True, "own": "field", "schedule": 5}})
    assert allowed(u1, {f"{ALERT}.active": False, f"{ALERT}.since": NOW})


def test_who_has_no_preferences_yet_can_have_some(u1: Browser, db: firestore.Client) -> None:
    db.document("users/u1").update({"mailings": firestore.DELETE_FIELD})
    assert allowed(u1, {f"{WEEKLY}.active": True, f"{WEEKLY}.since": NOW, f"{WEEKLY}.resumed_at": NOW})
