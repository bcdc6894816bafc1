"""Rules are released where there are none, and never over rules of the project's own."""

import pytest

from deploy.rules import OTHERS, Rules, RulesRefused
from tests.unit.deploy.conftest import RulesApi


def rules(endpoint: str, database: str = "(default)") -> Rules:
    """The rules of a database, on the test's API."""
    return Rules(project="p", database=database, token="t", endpoint=endpoint)


def test_rules_are_released_where_there_are_none_and_once(rules_api: str) -> None:
    """The second time finds its own."""
    assert "now" in rules(rules_api).deploy("ours")
    release = RulesApi.kept["projects/p/releases/cloud.firestore"]
    assert RulesApi.kept[release["rulesetName"]]["source"]["files"][0]["content"] == "ours"
    assert rules(rules_api).deploy("ours") == "The rules are deployed."


def test_rules_of_the_project_itself_are_left_alone(rules_api: str) -> None:
    """And it is said what they must keep out."""
    rules(rules_api).deploy("another application's")
    before = dict(RulesApi.kept)
    assert rules(rules_api).deploy("ours") == OTHERS
    assert RulesApi.kept == before


def test_a_named_database_has_a_release_of_its_own(rules_api: str) -> None:
    """As the rules API names it."""
    rules(rules_api, "ledger").deploy("ours")
    assert "projects/p/releases/cloud.firestore/ledger" in RulesApi.kept


def test_an_api_that_does_not_answer_is_a_refusal() -> None:
    """With the address that was tried."""
    with pytest.raises(RulesRefused, match=r"127\.0\.0\.1:1"):
        rules("http://127.0.0.1:1").deploy("ours")
