"""One-click (RFC 8058): a mailbox's own POST unsubscribes from one mailing, and nothing else does so by accident."""

import logging
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from threading import Barrier

import pytest
from google.cloud import firestore
from typing_extensions import override

from emulator.firestore import Firestore
from emulator.inbox import Inbox
from ledgermail.app import App
from ledgermail.preferences.links import Links
from ledgermail.preferences.preference_store import Preferences
from ledgermail.preferences.preferences import Changes, Wish, changes
from ledgermail.store import Snapshot
from ledgermail.web import BODY_BYTES
from tests.integration.conftest import Ground
from tests.integration.delivering import JOB, owed
from tests.integration.interruptions import before
from tests.integration.web.conftest import Call
from tests.integration.web.links import ONE_CLICK, Reader
from tests.samples import a_user

BOTH = {"job-alert": {"active": True}, "weekly-digest": {"active": True, "schedule": "0 8 * * 1 UTC"}}


@pytest.fixture
def reader(app: App, db: firestore.Client, call: Call, ground: Ground) -> Reader:
    ground.user("u1", a_user(mailings=BOTH, note="the application's own"))
    return Reader(app, db, call)


def unsubscribes(capfd: pytest.CaptureFixture[str]) -> int:
    return capfd.readouterr().out.count('"event": "preferences.changed"')


@pytest.mark.parametrize("content_type", ["multipart/form-data", "application/x-www-form-urlencoded"])
def test_the_post_of_a_mailbox_unsubscribes_from_this_mailing_alone(reader: Reader, content_type: str) -> None:
    before = reader.document()
    answer = reader.post(ONE_CLICK, content_type=content_type)
    assert (answer.status_code, answer.headers.get("Location"), answer.headers.get("Set-Cookie")) == (200, None, None)
    after = reader.document()
    assert isinstance(after["mailings"]["job-alert"].pop("since"), datetime)
    before["mailings"]["job-alert"]["active"] = False
    assert after == before


def test_a_body_as_the_rfc_shows_it_is_taken_whatever_else_its_type_says(reader: Reader) -> None:
    raw = b'--x\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--x--\r\n'
    assert reader.post(raw, content_type='Multipart/Form-Data; boundary="x"; charset=UTF-8').status_code == 200  # type: ignore[arg-type]
    assert reader.preference()["active"] is False


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_a_body_may_end_its_line(reader: Reader, end: bytes) -> None:
    assert reader.post(b"List-Unsubscribe=One-Click" + end).status_code == 200  # type: ignore[arg-type]
    assert reader.preference()["active"] is False


@pytest.mark.parametrize("content_type", [None, "application/x-www-form-urlencoded; charset=iso-8859-1", "text/plain"])
def test_a_body_without_a_type_is_read_as_the_plainer_one(reader: Reader, content_type: str | None) -> None:
    assert reader.post(b"List-Unsubscribe=One-Click", content_type=content_type).status_code == 200  # type: ignore[arg-type]
    assert reader.preference()["active"] is False


def test_a_post_that_comes_again_is_answered_the_same_and_counted_once(
    reader: Reader, capfd: pytest.CaptureFixture[str]
) -> None:
    answers = [reader.one_click() for _ in range(3)]
    assert len({(answer.status_code, answer.text) for answer in answers}) == 1
    assert unsubscribes(capfd) == 1
    since = reader.preference()["since"]
    reader.one_click()
    assert reader.preference()["since"] == since


def test_it_costs_a_read_and_a_write_and_again_only_the_read(
    reader: Reader, controlled: Firestore, project: str
) -> None:
    for writes in (1, 0, 0):
        controlled.reset_usage(project)
        reader.one_click()
        usage = controlled.usage(project)
        assert (usage.reads, usage.writes, usage.deletes) == (1, writes, 0)
    controlled.reset_usage(project)
    reader.get()
    assert (controlled.usage(project).reads, controlled.usage(project).writes) == (1, 0)


def test_of_many_at_once_one_changes_something(reader: Reader, app: App) -> None:
    together = Barrier(8)

    def click(_: int) -> int:
        store = Preferences(App(app.settings, app.mailings).client)
        together.wait()
        wish = Wish(active={"job-alert": False})
        result = store.change("u1", lambda user, now: changes(user, app.mailings, wish, now))
        assert result is not None
        return len(result.made.fields)

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(click, range(8))) == [0] * 7 + [2]


def test_a_commit_whose_answer_was_lost_is_recognised_as_our_own(reader: Reader, app: App) -> None:
    class Lossy(Preferences):
        @override
        def _write(self, snapshot: Snapshot, made: Changes) -> bool:
            super()._write(snapshot, made)
            return False

    wish = Wish(active={"job-alert": False})
    result = Lossy(app.client).change("u1", lambda user, now: changes(user, app.mailings, wish, now))
    assert result is not None
    assert len(result.made.fields) == 2
    assert reader.preference()["active"] is False


def test_what_the_application_writes_meanwhile_is_kept(reader: Reader, app: App) -> None:
    def meanwhile() -> None:
        reader.db.collection("users").document("u1").update({"name": "Ada Lovelace"})

    store = before(app.preferences, "_write", meanwhile)
    wish = Wish(active={"job-alert": False})
    store.change("u1", lambda user, now: changes(user, app.mailings, wish, now))
    assert (reader.document()["name"], reader.preference()["active"]) == ("Ada Lovelace", False)


# What does not unsubscribe


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_whoever_follows_the_link_changes_nothing(reader: Reader, method: str) -> None:
    before = reader.document()
    answer = reader.get(method)
    assert (answer.status_code, answer.headers.get("Location")) == (200, None)
    assert (answer.data == b"") is (method == "HEAD")
    assert reader.document() == before


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"List-Unsubscribe",
        b"List-Unsubscribe=",
        b"List-Unsubscribe=Two-Clicks",
        b"list-unsubscribe=one-click",
        b"List-Unsubscribe=One-Click&List-Unsubscribe=One-Click",
        b'{"List-Unsubscribe": "One-Click"}',
        b"act=",
        b"act=unsubscribe&act=stop",
        b"\xff\xfe",
    ],
)
def test_a_post_that_does_not_say_one_click_changes_nothing(reader: Reader, body: bytes) -> None:
    before = reader.document()
    answer = reader.post(body, content_type="application/x-www-form-urlencoded")  # type: ignore[arg-type]
    assert answer.status_code == 400
    assert "Nothing has been saved" in answer.text
    assert reader.document() == before


def test_what_says_one_click_only_in_its_address_changes_nothing(reader: Reader) -> None:
    before = reader.document()
    for method in ("GET", "HEAD", "POST"):
        reader.call("preferences", method, f"{reader.path}&List-Unsubscribe=One-Click&act=unsubscribe")
    assert reader.document() == before


def test_a_form_that_is_broken_changes_nothing(reader: Reader) -> None:
    before = reader.document()
    for boundary in ("", "; boundary=", "; boundary=other"):
        raw = b'--x\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--x--\r\n'
        answer = reader.post(raw, content_type=f"multipart/form-data{boundary}")  # type: ignore[arg-type]
        assert answer.status_code == 400
    assert reader.document() == before


@pytest.mark.parametrize("unsaid", [False, True])
def test_a_form_that_is_too_large_is_413_whether_or_not_it_says_so(reader: Reader, unsaid: bool) -> None:
    large = b"List-Unsubscribe=One-Click&x=" + b"x" * BODY_BYTES
    chunked = {"wsgi.input_terminated": True, "CONTENT_LENGTH": "", "HTTP_TRANSFER_ENCODING": "chunked"}
    answer = reader.post(large, environ_overrides=chunked if unsaid else {})  # type: ignore[arg-type]
    assert answer.status_code == 413
    assert reader.preference()["active"] is True


def test_a_form_of_very_many_fields_is_413(reader: Reader) -> None:
    fields = {f"f{number}": "" for number in range(1500)}
    assert reader.post(ONE_CLICK | fields, content_type="multipart/form-data").status_code == 413
    assert reader.preference()["active"] is True


@pytest.mark.parametrize("token", ["", "x", "x.y", "%00", "..%2F..", "%ff", "a" * 5000])
def test_a_link_that_we_did_not_make_is_403_and_changes_nothing(reader: Reader, token: str) -> None:
    before = reader.document()
    for path in (f"/?token={token}", f"{reader.path}{token or 'A'}", "/"):
        assert reader.get(path=path).status_code == 403
        answer = reader.post(ONE_CLICK, path=path)
        assert (answer.status_code, "This link does not work" in answer.text) == (403, True)
    assert reader.document() == before


def test_a_link_signed_with_another_key_is_403(reader: Reader) -> None:
    forged = Links(function_url="https://x.example/{function}", keys=["another-key-of-thirty-two-characters"])
    path = "/?" + forged.url("u1", "job-alert").partition("?")[2]
    assert reader.post(ONE_CLICK, path=path).status_code == 403
    assert reader.preference()["active"] is True


# Who is gone


def test_who_has_no_account_any_more_is_told_so_and_their_mailbox_is_content(reader: Reader) -> None:
    reader.db.collection("users").document("u1").delete()
    assert reader.one_click().status_code == 200
    for answer in (reader.get(), reader.post({"act": "subscribe"})):
        assert (answer.status_code, "does not exist any more" in answer.text) == (200, True)
    assert reader.document() == {}  # nothing was made for them


def test_a_mailing_that_is_no_more_can_still_be_unsubscribed_from(reader: Reader, ground: Ground) -> None:
    ground.user("u1", a_user(mailings={**BOTH, "old.news": {"active": True}}))
    gone = Reader(reader.app, reader.db, reader.call, mailing="old.news")
    assert gone.one_click().status_code == 200
    assert gone.preference()["active"] is False
    assert gone.get().status_code == 200


@pytest.mark.parametrize("mailings", [None, 5, {"job-alert": True}, {"job-alert": {"active": "yes"}}])
def test_who_never_wanted_it_is_left_as_they_are(reader: Reader, ground: Ground, mailings: object) -> None:
    ground.user("u1", a_user(mailings=mailings))
    before = reader.document()
    assert reader.one_click().status_code == 200
    assert reader.document() == before


# What happens between the ledger and the mail


def test_who_unsubscribes_between_queue_and_send_gets_no_mail(reader: Reader, ground: Ground, app: App) -> None:
    ground.delivery(owed())
    reader.one_click()
    reader.call("deliver", json={"delivery_id": JOB})
    assert ground.deliveries()[JOB]["status"] == "suppressed"
    assert ground.deliveries()[JOB]["last_error"]["category"] == "unsubscribed"


def test_the_link_of_a_mail_that_went_out_is_the_one_that_unsubscribes(
    reader: Reader, ground: Ground, inbox: Inbox
) -> None:
    """As a mailbox reads it: out of the headers of what the provider was given."""
    ground.delivery(owed())
    reader.call("deliver", json={"delivery_id": JOB})
    (mail,) = inbox.mails()
    request = inbox.mail(mail["id"])["raw"]
    headers = request["headers"]
    name, _, value = headers["List-Unsubscribe-Post"].partition("=")
    url = headers["List-Unsubscribe"].removeprefix("<").removesuffix(">")
    assert [url in part["value"] for part in request["content"]] == [True, True]
    assert reader.post({name: value}, path="/?" + url.partition("?")[2]).status_code == 200
    assert reader.preference()["active"] is False


def test_a_ledger_that_does_not_answer_is_503_with_a_time_to_come_again(reader: Reader, controlled: Firestore) -> None:
    for ask in (reader.one_click, reader.get):
        controlled.fail("BatchGetDocuments", code="PERMISSION_DENIED")
        answer = ask()
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "30")
        assert "Please try again in a minute" in answer.text


def test_no_token_is_ever_logged(
    reader: Reader, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    token = reader.path.partition("token=")[2]
    reader.one_click()
    reader.get()
    reader.post({"act": "subscribe"})
    reader.post(ONE_CLICK, path=f"/?token={token}x")
    reader.post({"act": "nonsense", "token": token})
    said = caplog.text + "".join(capfd.readouterr())
    assert '"event": "preferences.changed"' in said
    assert '"event": "preferences.refused"' in said
    for secret in (token, token.partition(".")[0], reader.app.settings.secrets["TOKEN_KEY"], "u1@example.com"):
        assert secret not in said


def test_now_is_the_time_that_firestore_read_the_document_at(reader: Reader) -> None:
    reader.one_click()
    assert abs((datetime.now(UTC) - reader.preference()["since"]).total_seconds()) < 3600
