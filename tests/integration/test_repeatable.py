"""A lost answer, by provider: Resend knows a repeated request for one, so that a mail arrives once whatever was lost; an
SMTP server does not, and the guarantee decides as it does with SendGrid.
"""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from emulator.inbox import DEFAULT_KEY, RESEND_KEY, SMTP_USER, Inbox
from emulator.tasks import CloudTasks
from ledgermail.app import App
from ledgermail.delivering.worker import Answer
from ledgermail.ledger.delivery import Guarantee
from ledgermail.mailing import in_force
from tests.integration.conftest import AppMaker, Ground
from tests.integration.delivering import JOB, Post, both, patience
from tests.integration.interruptions import Died, after, die
from tests.samples import a_mailing

LOST = ["cut", "hang_after"]


@pytest.fixture
def provider(request: pytest.FixtureRequest) -> str:
    return str(getattr(request, "param", "resend"))


@pytest.fixture
def app(request: pytest.FixtureRequest, make_app: AppMaker, inbox: Inbox, provider: str) -> App:
    """The App of this test's project, which sends through this provider."""
    inbox.faults(hang_seconds=2)
    smtp = {"smtp_host": "127.0.0.1", "smtp_port": str(inbox.smtp_port), "smtp_tls": "none"}
    login = {"smtp_user": SMTP_USER, "smtp_password": DEFAULT_KEY}
    resend = {"resend_url": inbox.resend_url, "resend_key": RESEND_KEY}
    return make_app(provider=provider, provider_timeout=patience(request), **smtp, **login, **resend)


@pytest.fixture
def post(request: pytest.FixtureRequest, app: App, ground: Ground, inbox: Inbox, tasks_server: CloudTasks) -> Post:
    """A delivery that is due; an alert, where a test does not ask for `both`."""
    guarantee = getattr(request, "param", Guarantee.AT_MOST_ONCE)
    mailings = in_force({"job-alert": replace(a_mailing(), guarantee=guarantee)}, app.settings)
    made = Post(App(app.settings, mailings), ground, inbox, tasks_server, guarantee)
    made.owe()
    return made


def first_try(post: Post, ago: timedelta) -> None:
    """Let the first attempt have been so long ago."""
    post.change(JOB, first_attempt_at=datetime.now(UTC) - ago, attempt=1)


@both
@pytest.mark.parametrize("fault", LOST)
def test_a_lost_answer_is_asked_for_again_and_the_mail_arrives_once(fault: str, post: Post) -> None:
    post.inbox.fail_next(fault)
    assert (post.deliver(), post.mails()) == (Answer("pending"), 1)
    post.make_due()
    assert (post.deliver(), post.mails()) == (Answer("accepted"), 1)
    assert post.document()["stages"]["email"]["reference"] == post.inbox.mails(delivery_id=JOB)[0]["message_id"]
    post.ground.assert_identity()


@both
def test_a_worker_that_dies_after_the_mail_left_is_followed_by_one_that_sends_no_second(post: Post) -> None:
    with pytest.raises(Died):
        post.deliver(post.worker(provider=after(post.app.worker.provider, "send", die)))
    assert (post.status(), post.mails()) == ("in_flight", 1)
    post.sweep()
    post.make_due()
    assert (post.deliver(), post.mails()) == (Answer("accepted"), 1)
    post.ground.assert_identity()


@both
def test_an_answer_lost_again_and_again_still_leaves_one_mail(post: Post) -> None:
    for _ in range(4):
        post.inbox.fail_next("cut")
        assert post.deliver() == Answer("pending")
        post.make_due()
    assert (post.deliver(), post.mails()) == (Answer("accepted"), 1)


@both
def test_a_mail_whose_words_changed_between_the_attempts_is_on_record_and_not_sent_twice(post: Post) -> None:
    post.inbox.fail_next("cut")
    post.deliver()
    changed = App(replace(post.app.settings, sender_name="Another Name"), post.app.mailings)
    post.make_due()
    assert (post.deliver(changed.worker), post.mails()) == (Answer("accepted"), 1)


def test_an_alert_whose_answer_is_lost_when_the_key_is_about_to_be_forgotten_is_never_sent_again(post: Post) -> None:
    first_try(post, timedelta(hours=23))
    post.inbox.fail_next("cut")
    assert (post.deliver(), post.mails(), post.tasks()) == (Answer("unknown"), 1, {})
    assert (post.deliver(), post.mails()) == (Answer("finished"), 1)


def test_an_alert_in_doubt_that_comes_too_late_to_be_recognised_is_never_sent_again(post: Post) -> None:
    post.inbox.fail_next("cut")
    assert post.deliver() == Answer("pending")
    post.make_due()
    first_try(post, timedelta(hours=24))
    assert (post.deliver(), post.status(), post.mails()) == (Answer("unknown"), "unknown", 1)


@both
@pytest.mark.parametrize("provider", ["smtp"], indirect=True)
@pytest.mark.parametrize("fault", LOST)
def test_an_smtp_server_knows_no_repeated_mail_and_the_guarantee_decides(fault: str, post: Post) -> None:
    post.inbox.fail_next(fault)
    once = post.guarantee is Guarantee.AT_MOST_ONCE
    assert (post.deliver(), post.mails()) == (Answer("unknown" if once else "pending"), 1)
    post.make_due()
    assert post.deliver() == Answer("finished" if once else "accepted")
    assert post.mails() == (1 if once else 2)


@pytest.mark.parametrize("provider", ["smtp"], indirect=True)
@pytest.mark.parametrize(
    ("fault", "answer"), [("refuse", "rejected"), ("throttle", "pending"), ("unavailable", "pending")]
)
def test_what_an_smtp_server_refuses_it_has_not(fault: str, answer: str, post: Post) -> None:
    post.inbox.fail_next(fault)
    assert (post.deliver(), post.mails()) == (Answer(answer), 0)


@pytest.mark.parametrize("provider", ["smtp", "resend", "sendgrid"], indirect=True)
def test_every_provider_mails_with_the_delivery_named_and_one_button_to_unsubscribe(post: Post, app: App) -> None:
    """sendgrid is the one that this deployment does not name: it is asked by its own address."""
    if app.settings.provider == "sendgrid":
        post = replace(post, app=App(replace(app.settings, sendgrid_url=post.inbox.url), post.app.mailings))
    assert post.deliver() == Answer("accepted")
    (mail,) = post.inbox.mails(delivery_id=JOB)
    assert mail["headers"]["X-Ledgermail-Delivery"] == JOB
    assert mail["headers"]["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert mail["headers"]["List-Unsubscribe"].startswith("<http")
    assert mail["subject"]
    assert mail["text"]
    assert mail["html"]
