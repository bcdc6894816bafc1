"""What the doctor makes of answers that no local server gives: a sender half verified, an API switched off."""

from typing import Any

import pytest
from google.api_core.exceptions import DeadlineExceeded, PermissionDenied, RetryError
from google.auth.exceptions import DefaultCredentialsError
from google.rpc.error_details_pb2 import ErrorInfo  # type: ignore[import-untyped]

from ledgermail.doctor.finding import Finding, Verdict, problem, unseen
from ledgermail.doctor.google_refusal import Service, diagnosis
from ledgermail.doctor.sender_check_sendgrid import identity

SENDER = "Alerts@mail.example.com"
SERVICE = Service(api="x.googleapis.com", host_variable="X_EMULATOR_HOST", grant="grant it", create="create it")


def a_sender(verified: Any = True, email: Any = "alerts@MAIL.example.com") -> dict[str, Any]:
    return {"from_email": email, "verified": verified}


def a_domain(valid: Any = True, domain: Any = "MAIL.example.com") -> dict[str, Any]:
    return {"domain": domain, "valid": valid}


@pytest.mark.parametrize(
    ("senders", "domains", "verdict", "said"),
    [
        ([a_sender()], [], Verdict.OK, "is verified"),
        ([], [a_domain()], Verdict.OK, "is verified"),
        ([a_sender()], None, Verdict.OK, "is verified"),
        ([a_sender(False)], [a_domain()], Verdict.OK, "is verified"),
        ([a_sender(False)], [], Verdict.PROBLEM, "is waiting to be verified"),
        ([], [a_domain(False)], Verdict.PROBLEM, "is waiting to be verified"),
        ([], [a_domain(domain="example.com")], Verdict.PROBLEM, "neither"),
        ([a_sender(email="other@mail.example.com")], [], Verdict.PROBLEM, "neither"),
        ([a_sender(verified="no"), {}], [a_domain(domain=None), {}], Verdict.PROBLEM, "is waiting to be verified"),
        ([a_sender(False)], None, Verdict.UNSEEN, "may not see domains"),
        (None, [], Verdict.UNSEEN, "may not see verified senders"),
        (None, None, Verdict.UNSEEN, "may not see senders and domains"),
    ],
)
def test_a_sender_is_verified_by_itself_or_by_its_domain(
    senders: Any, domains: Any, verdict: Verdict, said: str
) -> None:
    found = identity(SENDER, senders, domains)
    assert found.verdict is verdict
    assert said in found.said


@pytest.mark.parametrize("entries", [[1], ["x"], [None], [[]]])
def test_entries_that_are_none_are_passed_over(entries: Any) -> None:
    assert identity(SENDER, entries, entries).verdict is Verdict.PROBLEM


def test_an_api_that_is_switched_off_is_told_from_a_right_that_is_missing() -> None:
    off: Any = PermissionDenied("x", error_info=ErrorInfo(reason="SERVICE_DISABLED"))  # type: ignore[no-untyped-call]
    assert diagnosis("c", SERVICE, off).to_do == "`gcloud services enable x.googleapis.com`"
    refused: Any = PermissionDenied("x")  # type: ignore[no-untyped-call]
    assert diagnosis("c", SERVICE, refused).to_do == "`python -m deploy apply`, or `grant it`"


def test_missing_credentials_are_told_from_missing_rights() -> None:
    found = diagnosis("c", SERVICE, DefaultCredentialsError("none"))  # type: ignore[no-untyped-call]
    assert "gcloud auth application-default login" in found.to_do


def test_a_service_that_does_not_answer_is_looked_for_where_it_should_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("X_EMULATOR_HOST", raising=False)
    late = RetryError("all tries", cause=DeadlineExceeded("too late"))  # type: ignore[no-untyped-call]
    found = diagnosis("c", SERVICE, late)
    assert found.said == "no answer: too late"
    assert found.to_do == "let x.googleapis.com be reached from here, or name a local one in X_EMULATOR_HOST"
    monkeypatch.setenv("X_EMULATOR_HOST", "127.0.0.1:1")
    assert diagnosis("c", SERVICE, late).to_do.startswith("X_EMULATOR_HOST names 127.0.0.1:1")


@pytest.mark.parametrize(
    ("finding", "line"),
    [
        (problem("c", "it is not.", "do it"), "problem  c: it is not. To do: do it"),
        (unseen("c", "it is dark"), "unseen   c: it is dark"),
    ],
)
def test_a_finding_is_one_line(finding: Finding, line: str) -> None:
    assert finding.line == line
