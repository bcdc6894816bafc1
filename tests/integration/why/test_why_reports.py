"""Why somebody got the report of a topic, or did not, whatever else they have chosen since, or twice."""

from ledgermail.support.explain import Why
from tests.integration.conftest import Ground
from tests.integration.planning import MONDAY, Planning, at
from tests.integration.why.conftest import Ask

DATE = MONDAY.date().isoformat()
TOPICS = ["clinic", "school", "zoo"]


def published(planning: Planning, ground: Ground) -> None:
    """Reports of three topics, all of which ada gets."""
    planning.subscribe("ada", mailing="shipment-digest", topics=TOPICS)
    for topic in TOPICS:
        versions = ground.db.collection("reports").document(topic).collection("versions")
        versions.document("v1").set({"published_at": at(0, 6), "rows": [{"a": 1}]})
    planning.tick(at(0))


def test_who_has_left_a_topic_is_still_told_of_the_others(planning: Planning, ask: Ask, ground: Ground) -> None:
    published(planning, ground)
    for left in TOPICS:
        others = [topic for topic in TOPICS if topic != left]
        planning.subscribe("ada", mailing="shipment-digest", topics=others, since=at(0, 9))
        answer = ask("ada", "shipment-digest", at(0, 10))
        assert answer.why is Why.WAITING
        for topic in others:
            assert f'"Shipment digest" of {DATE}, {topic} for ada is due since' in answer.sentence, left


def test_a_topic_that_was_chosen_twice_is_told_of_once(planning: Planning, ask: Ask, ground: Ground) -> None:
    published(planning, ground)
    planning.subscribe("ada", mailing="shipment-digest", topics=["school", "school"])
    for subject in ("shipment-digest", f"shipment-digest:{DATE}"):
        assert ask("ada", subject, at(0, 10)).sentence.count("school for ada") == 1


def test_a_report_that_never_came_is_not_told_as_planned_too_late(planning: Planning, ask: Ask, ground: Ground) -> None:
    planning.subscribe("ada", mailing="shipment-digest", topics=["school"])
    versions = ground.db.collection("reports").document("school").collection("versions")
    versions.document("late").set({"published_at": at(-1, 9), "rows": [{"a": 1}]})
    planning.tick(at(-1, 9.1))  # yesterday's run takes what came after it was due, and leaves nothing for today's
    planning.tick(at(0, 7.1))
    asked = f"shipment-digest:{DATE}:school"
    waiting = ask("ada", asked, at(0, 10))
    assert (waiting.why, waiting.sentence.startswith("Not yet: ")) == (Why.UNPUBLISHED, True)
    planning.tick(at(0, 19.1))
    missed = ask("ada", asked, at(0, 20))
    assert (missed.why, missed.sentence.startswith("No: ")) == (Why.UNPUBLISHED, True)
    assert "no report was published for it in time" in missed.sentence
