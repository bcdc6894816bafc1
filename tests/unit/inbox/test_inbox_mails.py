"""What is kept of an accepted request, and what is counted."""

from datetime import UTC, datetime

from emulator.inbox.faults import Fault
from emulator.inbox.mails import Mail, Mailbox, mails_of
from emulator.inbox.pages import MAILS_A_PAGE, page_of
from emulator.inbox.shapes import SendBody

NOW = datetime(2026, 8, 16, 8, tzinfo=UTC)


def body(delivery_id: str | None = "u_j", subject: str = "A job") -> SendBody:
    return {
        "from": {"email": "jobs@example.com", "name": "Jobs"},
        "personalizations": [{"to": [{"email": "Ann@mail.org"}]}],
        "subject": subject,
        "content": [{"type": "text/plain", "value": "text"}],
        "custom_args": {} if delivery_id is None else {"delivery_id": delivery_id},
    }


def mail(delivery_id: str | None, message_id: str, subject: str = "A job") -> Mail:
    return mails_of(body(delivery_id, subject), message_id, NOW)[0]


def test_each_personalization_is_a_mail_and_what_it_says_wins() -> None:
    request = body()
    request["headers"] = {"X-A": "1", "X-B": "1"}
    request["personalizations"].append(
        {
            "to": [{"email": "bob@mail.org"}],
            "subject": "For Bob",
            "headers": {"X-B": "2"},
            "custom_args": {"delivery_id": "b"},
        }
    )
    ann, bob = mails_of(request, "m", NOW)
    assert (ann.id, ann.subject, ann.delivery_id, ann.headers) == ("m.0", "A job", "u_j", {"X-A": "1", "X-B": "1"})
    assert (bob.id, bob.subject, bob.delivery_id, bob.headers) == ("m.1", "For Bob", "b", {"X-A": "1", "X-B": "2"})


def test_an_attachment_is_kept_by_name_type_and_decoded_size() -> None:
    request = body()
    request["attachments"] = [{"content": "YWJj", "filename": "rows.csv", "type": "text/csv"}]
    [file] = mails_of(request, "m", NOW)[0].attachments
    assert (file.name, file.type, file.size) == ("rows.csv", "text/csv", 3)


def test_mails_beyond_the_first_of_a_delivery_are_duplicates() -> None:
    mailbox = Mailbox()
    for number, delivery_id in enumerate(["a", "b", "a", "a", None, None]):
        mailbox.keep([mail(delivery_id, f"m{number}")])
    stats = mailbox.stats()
    assert (stats["accepted"], stats["deliveries"]) == (6, 2)
    assert (stats["duplicates"], stats["duplicate_ids"]) == (2, ["a"])
    assert [kept.copy for kept in mailbox.newest_first()] == [1, 1, 3, 2, 1, 1]


def test_requests_are_counted_by_answer_and_fault() -> None:
    mailbox = Mailbox()
    mailbox.count("202", None)
    mailbox.count("none", Fault.CUT)
    stats = mailbox.stats()
    assert (stats["requests"], stats["by_status"], stats["by_fault"]) == (2, {"202": 1, "none": 1}, {"cut": 1})


def test_clearing_forgets_mails_and_counts() -> None:
    mailbox = Mailbox()
    mailbox.keep([mail("a", "m")])
    mailbox.count("202", None)
    mailbox.clear()
    assert mailbox.newest_first() == []
    assert mailbox.stats() == Mailbox().stats()


def test_search_finds_people_subjects_and_deliveries_in_any_case() -> None:
    kept = mail("u_j", "m", subject="Data Engineer")
    found = ["ann@MAIL.org", "jobs@", "engineer", "U_J"]
    assert [kept.mentions(words) for words in [*found, "nobody"]] == [True] * 4 + [False]


def test_pages_are_clamped_and_link_to_their_neighbours_within_the_search() -> None:
    mails = [mail(None, f"m{number}") for number in range(MAILS_A_PAGE + 1)]
    one, two = page_of(mails, "", 1), page_of(mails, "a job", 99)
    assert (one.first, one.last, one.total, one.link(0), one.link(2)) == (1, 50, 51, None, "/?page=2")
    assert (two.first, two.last, two.link(1), two.link(3)) == (51, 51, "/?q=a+job&page=1", None)
    assert page_of([], "", -3).number == 1
