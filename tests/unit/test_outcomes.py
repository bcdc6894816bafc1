"""The two tables of outcomes: complete, and on the safe side where the provider may have the mail."""

import httpcore
import pytest

from ledgermail.delivering.outcomes import (
    Accepted,
    Ambiguous,
    Kind,
    Misconfigured,
    Rejected,
    Transient,
    kind_of_status,
    outcome_of,
)
from ledgermail.ledger.delivery import Failure
from ledgermail.providers.provider_http import BY_ERROR, NO_ANSWER, kind_of_error

STATUSES = range(100, 600)


def those_that_are(kind: Kind) -> set[int]:
    return {status for status in STATUSES if kind_of_status(status) is kind}


def errors(root: type[Exception]) -> set[type[Exception]]:
    """The errors that httpcore raises below this one: those without a more exact one below them."""
    below = set().union(*(errors(kind) for kind in root.__subclasses__()))
    return below or {root}


def test_only_a_2xx_is_acceptance() -> None:
    assert those_that_are(Kind.ACCEPTED) == set(range(200, 300))


def test_a_message_is_given_up_only_for_what_is_wrong_with_the_message() -> None:
    assert those_that_are(Kind.REJECTED) == {400, 413, 415, 422}


def test_only_two_refusals_say_for_certain_that_nothing_was_sent_and_trying_again_may_help() -> None:
    assert (those_that_are(Kind.THROTTLED), those_that_are(Kind.TRANSIENT)) == ({429}, {503})


def test_what_may_hide_an_acceptance_is_never_tried_again_as_if_nothing_was_sent() -> None:
    assert those_that_are(Kind.AMBIGUOUS) == {408} | (set(range(500, 600)) - {503})


def test_what_is_about_the_address_we_post_to_holds_all_mail_back_and_loses_none() -> None:
    assert those_that_are(Kind.MISCONFIGURED) >= {*range(100, 200), *range(300, 400), 401, 403, 404, 405, 410}


def test_every_status_has_an_outcome() -> None:
    assert sum(len(those_that_are(kind)) for kind in Kind) == len(STATUSES)


def test_every_error_that_httpcore_may_raise_is_in_the_table() -> None:
    """What it exports is all of it, but for one between its own parts."""
    exported = {kind for name in httpcore.__all__ if isinstance(kind := getattr(httpcore, name), type)}
    raised = {kind for kind in exported if issubclass(kind, Exception)} - {httpcore.ConnectionNotAvailable}
    assert all(issubclass(kind, NO_ANSWER) for kind in raised)
    leaves = {kind for kind in raised if not kind.__subclasses__()}
    assert set(BY_ERROR) == set().union(*(errors(kind) for kind in NO_ANSWER)) == leaves


def test_only_errors_from_before_the_request_left_count_as_nothing_sent() -> None:
    """Two more are refused by httpcore itself."""
    nothing_sent = {error for error, kind in BY_ERROR.items() if kind is Kind.TRANSIENT}
    assert nothing_sent == {httpcore.ConnectError, httpcore.ConnectTimeout, httpcore.PoolTimeout, httpcore.ProxyError}
    misconfigured = {error for error, kind in BY_ERROR.items() if kind is Kind.MISCONFIGURED}
    assert misconfigured == {httpcore.UnsupportedProtocol, httpcore.LocalProtocolError}


def test_an_error_that_httpcore_has_yet_to_invent_may_hide_an_acceptance() -> None:
    assert kind_of_error(httpcore.NetworkError("new")) is Kind.AMBIGUOUS


@pytest.mark.parametrize(
    ("kind", "outcome"),
    [
        (Kind.ACCEPTED, Accepted),
        (Kind.REJECTED, Rejected),
        (Kind.THROTTLED, Transient),
        (Kind.TRANSIENT, Transient),
        (Kind.AMBIGUOUS, Ambiguous),
        (Kind.MISCONFIGURED, Misconfigured),
    ],
)
def test_every_kind_becomes_an_outcome(kind: Kind, outcome: type) -> None:
    assert type(outcome_of(kind, Failure(category=kind.value))) is outcome
