"""The tables of the other providers: complete, and on the safe side where the provider may have the mail."""

import smtplib
import socket
import ssl
from itertools import product

import pytest

from ledgermail.delivering.outcomes import Kind, kind_of_status
from ledgermail.providers.resend_outcomes import RESEND_BY_NAME, kind_of_resend
from ledgermail.providers.smtp_outcomes import ABOUT_THE_MAIL, Step, kind_of_break, kind_of_reply

# As documented: https://resend.com/docs/api-reference/errors
DOCUMENTED = {
    (400, "invalid_idempotency_key"): Kind.REJECTED,
    (400, "validation_error"): Kind.REJECTED,
    (401, "missing_api_key"): Kind.MISCONFIGURED,
    (401, "restricted_api_key"): Kind.MISCONFIGURED,
    (401, "validation_error"): Kind.MISCONFIGURED,
    (403, "invalid_api_key"): Kind.MISCONFIGURED,
    (403, "validation_error"): Kind.MISCONFIGURED,  # a domain that is not verified
    (404, "not_found"): Kind.MISCONFIGURED,
    (405, "method_not_allowed"): Kind.MISCONFIGURED,
    (409, "invalid_idempotent_request"): Kind.ACCEPTED,
    (409, "concurrent_idempotent_requests"): Kind.AMBIGUOUS,
    (422, "invalid_attachment"): Kind.REJECTED,
    (422, "invalid_from_address"): Kind.MISCONFIGURED,
    (422, "invalid_access"): Kind.MISCONFIGURED,
    (422, "invalid_parameter"): Kind.REJECTED,
    (422, "invalid_region"): Kind.MISCONFIGURED,
    (422, "missing_required_field"): Kind.REJECTED,
    (429, "monthly_quota_exceeded"): Kind.THROTTLED,
    (429, "daily_quota_exceeded"): Kind.THROTTLED,
    (429, "rate_limit_exceeded"): Kind.THROTTLED,
    (451, "security_error"): Kind.MISCONFIGURED,
    (500, "application_error"): Kind.AMBIGUOUS,
    (500, "internal_server_error"): Kind.AMBIGUOUS,
}
BREAKS = [
    ConnectionRefusedError(),
    socket.gaierror(),
    TimeoutError(),
    ssl.SSLCertVerificationError(),
    smtplib.SMTPServerDisconnected(),
]


@pytest.mark.parametrize(("error", "kind"), DOCUMENTED.items())
def test_each_documented_error_of_resend_has_its_outcome(error: tuple[int, str], kind: Kind) -> None:
    assert kind_of_resend(*error, "Something is wrong.") is kind


def test_only_a_documented_error_says_other_than_its_status() -> None:
    assert set(RESEND_BY_NAME) <= set(DOCUMENTED)
    for status, name in product(range(200, 600), ("", "unheard_of", "invalid_idempotent_request")):
        if (status, name) not in RESEND_BY_NAME:
            assert kind_of_resend(status, name, "") is kind_of_status(status)


@pytest.mark.parametrize("words", ["API key is invalid", "Invalid `from` field. The email address needs to follow ..."])
def test_what_is_wrong_with_us_rejects_no_message_of_resend(words: str) -> None:
    assert kind_of_resend(400, "validation_error", words) is Kind.MISCONFIGURED
    assert kind_of_resend(422, "validation_error", words) is Kind.MISCONFIGURED
    assert kind_of_resend(422, "validation_error", "Invalid `to` field.") is Kind.REJECTED


@pytest.mark.parametrize("error", BREAKS, ids=repr)
def test_a_connection_that_breaks_has_sent_nothing_until_the_mail_began_to_leave(error: Exception) -> None:
    kinds = {step: kind_of_break(step, error) for step in Step}
    assert kinds.pop(Step.BODY) is Kind.AMBIGUOUS
    assert set(kinds.values()) == {Kind.TRANSIENT}


@pytest.mark.parametrize("error", [smtplib.SMTPNotSupportedError(), ValueError(), smtplib.SMTPException()], ids=repr)
def test_what_both_sides_cannot_do_together_is_no_fault_of_a_message(error: Exception) -> None:
    kinds = {step: kind_of_break(step, error) for step in Step}
    assert kinds.pop(Step.BODY) is Kind.AMBIGUOUS
    assert set(kinds.values()) == {Kind.MISCONFIGURED}


def test_a_message_is_given_up_only_for_what_a_server_says_of_it_for_good() -> None:
    rejecting = {
        step for step, code in product(Step, range(-1, 1000)) if kind_of_reply(step, code, "") is Kind.REJECTED
    }
    assert rejecting == ABOUT_THE_MAIL | {Step.MAIL}
    assert [code for code in range(1000) if kind_of_reply(Step.MAIL, code, "") is Kind.REJECTED] == [552]
    for step in rejecting:
        assert all(kind_of_reply(step, code, "") is not Kind.REJECTED for code in [*range(500), *range(600, 1000)])


def test_only_a_2xx_for_the_whole_mail_is_acceptance() -> None:
    accepting = {
        (step, code) for step, code in product(Step, range(-1, 1000)) if kind_of_reply(step, code, "") is Kind.ACCEPTED
    }
    assert accepting == {(Step.BODY, code) for code in range(200, 300)}


def test_a_refusal_for_now_is_never_one_for_good() -> None:
    for step, code in product(Step, range(400, 500)):
        assert kind_of_reply(step, code, "relay") is (Kind.THROTTLED if code == 421 else Kind.TRANSIENT)


def test_a_reply_to_the_mail_that_is_none_may_hide_an_acceptance() -> None:
    for code in (-1, 0, 100, 199, 300, 354, 600, 999):
        assert kind_of_reply(Step.BODY, code, "") is Kind.AMBIGUOUS
