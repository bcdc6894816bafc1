"""Why somebody got a digest or a report, or did not: asked by the mailing's name, its date, its run."""

from datetime import timedelta
from typing import Any

from ledgermail.ledger import ids
from ledgermail.support.explain import Why
from tests.integration.conftest import Ground
from tests.integration.planning import DAY, HOUR, MONDAY, Planning, a_subscriber, at
from tests.integration.why.conftest import Ask

DATE = MONDAY.date().isoformat()
DAILY = f"daily-digest:{DATE}"


def tomorrow(ask: Ask, **changes: Any) -> Why:
    return ask("ada", f"daily-digest:{at(1).date().isoformat()}", at(0)).why


def test_a_planned_digest_is_found_by_name_by_date_by_run_and_by_delivery(planning: Planning, ask: Ask) -> None:
    planning.subscribe("ada")
    planning.tick(at(0))
    delivery_id = ids.run_delivery_id("ada", DAILY)
    for subject in ("daily-digest", DAILY, f"{DAILY}:~default", delivery_id):
        answer = ask("ada", subject, at(0))
        assert (answer.why, answer.delivery and answer.delivery.id) == (Why.WAITING, delivery_id), subject
        assert f'"Daily digest" of {DATE} for ada' in answer.sentence


def test_before_it_is_due_the_answer_is_when(planning: Planning, ask: Ask) -> None:
    planning.users({"ada": {**a_subscriber("ada"), "timezone": "Europe/Berlin"}})
    answer = ask("ada", DAILY, at(0, 6))
    assert answer.why is Why.NOT_YET_DUE
    assert answer.sentence.endswith("is due on Mon 16 Aug 2100, 10:00 Europe/Berlin.")


def test_between_the_due_time_and_the_planner_it_is_not_planned_and_the_one_before_is_told(
    planning: Planning, ask: Ask
) -> None:
    planning.subscribe("ada")
    planning.tick(at(-1))
    answer = ask("ada", "daily-digest", at(0))
    assert answer.why is Why.NOT_PLANNED
    assert 'Before that: Not yet: "Daily digest" of 2100-08-15 for ada' in answer.sentence


def test_a_missed_run_says_so_and_when_the_next_is(planning: Planning, ask: Ask) -> None:
    planning.subscribe("ada")
    planning.tick(at(-2))
    planning.tick(at(0, 21))
    answer = ask("ada", DAILY, at(0, 22))
    assert answer.why is Why.MISSED
    assert answer.sentence.endswith(
        "missed: planning came more than 12 hours late; the next one is due on Tue 17 Aug 2100, 08:00 UTC."
    )


def test_who_has_it_switched_off_is_told_of_no_next_one(planning: Planning, ask: Ask) -> None:
    planning.users({"ada": {**a_subscriber("ada"), "mailings": {"daily-digest": {"active": False}}}})
    for planned in (False, True):
        if planned:
            planning.subscribe("bob")
            planning.tick(at(0))
        answer = ask("ada", DAILY, at(0, 9))
        assert answer.why is Why.NOT_WANTED, planned
        assert answer.sentence.endswith("they have this mailing switched off."), planned


def test_where_no_run_was_ever_made_within_the_time_to_catch_up_it_was_missed(planning: Planning, ask: Ask) -> None:
    planning.subscribe("ada")
    assert ask("ada", DAILY, at(1, 7)).why is Why.MISSED


def test_who_changed_their_wish_after_the_run_was_fixed_is_not_in_it(planning: Planning, ask: Ask) -> None:
    planning.subscribe("bob")
    planning.tick(at(0))
    planning.subscribe("ada", since=at(0, 9))
    answer = ask("ada", DAILY, at(0, 10))
    assert answer.why is Why.JOINED_LATER
    assert "they changed what they want after who is in its run had been fixed" in answer.sentence


def test_who_does_not_want_it_is_told_so(planning: Planning, ask: Ask) -> None:
    planning.subscribe("bob")
    planning.users({"ada": a_subscriber("ada", active=False, since=MONDAY - DAY)})
    assert tomorrow(ask) is Why.NOT_WANTED
    planning.tick(at(0))
    assert ask("ada", DAILY, at(0, 10)).why is Why.NOT_WANTED


def test_a_run_that_is_still_being_planned_says_so(planning: Planning, ask: Ask, ground: Ground) -> None:
    planning.subscribe("bob")
    planning.tick(at(0))
    ground.db.collection("runs").document(f"{DAILY}:~default").update({"state": "planning"})
    planning.subscribe("ada")
    assert ask("ada", DAILY, at(0, 8.1)).why is Why.PLANNING


def test_a_date_on_which_nothing_is_due_says_when_something_is(planning: Planning, ask: Ask) -> None:
    planning.subscribe("ada", mailing="weekly-digest")
    answer = ask("ada", "weekly-digest:2100-08-18", at(1))
    assert answer.why is Why.NOTHING_DUE
    assert answer.sentence.endswith(
        "their schedule has nothing then; the next one is due on Mon 23 Aug 2100, 08:00 UTC."
    )


def test_what_is_past_its_retention_is_pruned(planning: Planning, ask: Ask) -> None:
    planning.subscribe("ada")
    assert ask("ada", DAILY, MONDAY + 100 * DAY).why is Why.PRUNED


def test_the_last_report_of_each_topic_is_told_and_one_that_was_not_published(
    planning: Planning, ask: Ask, ground: Ground
) -> None:
    planning.subscribe("ada", mailing="shipment-digest", topics=["school", "clinic"])
    for topic in ("school", "clinic"):
        versions = ground.db.collection("reports").document(topic).collection("versions")
        if topic == "school":
            versions.document("v1").set({"published_at": at(0, 6), "rows": [{"a": 1}]})
    planning.tick(at(0))
    answer = ask("ada", "shipment-digest", at(0))
    assert answer.why is Why.WAITING
    assert f'"Shipment digest" of {DATE}, school for ada is due since' in answer.sentence
    assert f'"Shipment digest" of {DATE}, clinic for ada was due on' in answer.sentence
    assert "no report was published for it" in answer.sentence
    other = ask("ada", f"shipment-digest:{DATE}:office", at(0))
    assert other.why is Why.NOT_WANTED
    assert "of no topic that they have chosen" in other.sentence


def test_a_schedule_of_their_own_decides_what_is_due(planning: Planning, ask: Ask) -> None:
    planning.subscribe("ada", schedule="0 18 * * * Europe/Berlin")
    assert ask("ada", DAILY, at(0, 10)).why is Why.NOT_YET_DUE
    planning.tick(at(0, 16.1))
    assert ask("ada", "daily-digest", at(0, 16.2)).why is Why.WAITING


def test_whose_time_is_covered_by_another_schedule_is_owed_nothing(planning: Planning, ask: Ask) -> None:
    planning.subscribe("ada", schedule="0 9 * * * UTC")
    planning.tick(at(0, 9.1))
    planning.subscribe("ada", schedule="30 8,20 * * * UTC", since=at(0, 9.2) - timedelta(hours=2))
    planning.subscribe("bob", schedule="30 8,20 * * * UTC")
    planning.tick(at(0, 9.3))
    answer = ask("ada", f"{DAILY}T08%3A30", at(0, 10))
    assert answer.why is Why.COVERED
    assert "they have one that covers the time up to Mon 16 Aug 2100, 09:00 UTC" in answer.sentence


def test_text_that_is_no_date_is_taken_for_a_job(planning: Planning, ask: Ask) -> None:
    planning.subscribe("ada")
    assert ask("ada", "daily-digest:sometime", at(0) + HOUR).why is Why.NOT_MATCHED


def test_a_day_at_the_end_of_time_is_answered_too(planning: Planning, ask: Ask) -> None:
    planning.subscribe("ada")
    for day in ("0001-01-01", "9999-12-31"):
        assert ask("ada", f"daily-digest:{day}", at(0)).delivery is None
