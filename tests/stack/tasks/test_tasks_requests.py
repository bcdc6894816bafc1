"""What the target receives: headers, body, token; and the faults that at-least-once delivery allows."""

from datetime import timedelta

import google.auth.transport.requests
import pytest
from google.auth.exceptions import InvalidValue
from google.cloud import tasks_v2
from google.oauth2 import id_token
from jwt.exceptions import InvalidAudienceError

from emulator.tasks import CloudTasks
from tests.stack.tasks.http_target import MakeQueue, Received, Target, add_task, until, wait_for_failures

Client = tasks_v2.CloudTasksClient
ACCOUNT = "tasks@demo.iam.gserviceaccount.com"


def test_the_target_gets_the_request_as_it_was_given_and_the_headers_of_the_service(
    client: Client, make_queue: MakeQueue, target: Target, cloud: CloudTasks
) -> None:
    queue, due = make_queue(), cloud.advance(timedelta())
    given = {"headers": {"Content-Type": "application/json", "X-CloudTasks-TaskName": "mine"}, "body": b'{"id":1}'}
    add_task(client, queue, target.url + "?a=b%20c", "t1", request=given, schedule_time=due)
    got = target.wait_for(1)[0]
    assert (got.method, got.path, got.body) == ("POST", "/work?a=b%20c", b'{"id":1}')
    eta = float(got.headers["x-cloudtasks-tasketa"])
    assert eta == pytest.approx(due.timestamp(), abs=5)
    expected = {
        "user-agent": "Google-Cloud-Tasks",
        "content-type": "application/json",
        "x-cloudtasks-queuename": queue.rpartition("/")[2],
        "x-cloudtasks-taskname": "t1",
        "x-cloudtasks-taskretrycount": "0",
        "x-cloudtasks-taskexecutioncount": "0",
    }
    assert {name: got.headers.get(name) for name in expected} == expected
    assert "x-cloudtasks-taskpreviousresponse" not in got.headers
    assert "authorization" not in got.headers


def test_retries_count_every_attempt_but_executions_not_those_answered_5xx(
    client: Client, make_queue: MakeQueue, target: Target, cloud: CloudTasks
) -> None:
    """The sequence recorded from production."""
    target.answer_with(503, 404, 429, 500, 302)
    add_task(client, make_queue(), target.url)
    for number in range(1, 6):
        wait_for_failures(cloud, number)
        cloud.advance(timedelta(minutes=5))
        target.wait_for(number + 1)
    names = ("x-cloudtasks-taskretrycount", "x-cloudtasks-taskexecutioncount", "x-cloudtasks-taskpreviousresponse")
    seen = [tuple(request.headers.get(name) for name in names) for request in target.received]
    assert seen == [
        ("0", "0", None),
        ("1", "0", "503"),
        ("2", "1", "404"),
        ("3", "2", "429"),
        ("4", "2", "500"),
        ("5", "3", "302"),
    ]
    assert target.received[1].headers["x-cloudtasks-taskretryreason"] == ""


def bearer(request: Received) -> str:
    scheme, _, token = request.headers["authorization"].partition(" ")
    assert scheme == "Bearer"
    return token


@pytest.fixture
def transport() -> google.auth.transport.requests.Request:
    return google.auth.transport.requests.Request()


def test_a_token_verifies_against_the_servers_own_keys_and_for_its_audience_only(
    client: Client,
    make_queue: MakeQueue,
    target: Target,
    cloud: CloudTasks,
    transport: google.auth.transport.requests.Request,
) -> None:
    wanted = {"service_account_email": ACCOUNT, "audience": "https://worker.example"}
    add_task(client, make_queue(), target.url, request={"oidc_token": wanted})
    token = bearer(target.wait_for(1)[0])
    for url in (cloud.certs_url, f"{cloud.control}/jwks"):
        claims = id_token.verify_token(token, transport, audience="https://worker.example", certs_url=url)
        assert (claims["email"], claims["email_verified"]) == (ACCOUNT, True)
        assert claims["iss"] == "https://accounts.google.com"
        with pytest.raises((InvalidValue, InvalidAudienceError)):
            id_token.verify_token(token, transport, audience="https://other.example", certs_url=url)


def test_the_audience_is_the_whole_url_when_none_is_given(
    client: Client,
    make_queue: MakeQueue,
    target: Target,
    cloud: CloudTasks,
    transport: google.auth.transport.requests.Request,
) -> None:
    url = target.url + "?a=b"
    add_task(client, make_queue(), url, request={"oidc_token": {"service_account_email": ACCOUNT}})
    token = bearer(target.wait_for(1)[0])
    assert id_token.verify_token(token, transport, audience=url, certs_url=cloud.certs_url)["aud"] == url


def test_every_second_task_reaches_the_target_twice_at_once(
    client: Client, make_queue: MakeQueue, target: Target, cloud: CloudTasks
) -> None:
    cloud.faults(duplicate_every=2)
    target.open.clear()
    queue = make_queue()
    for number in range(1, 5):
        add_task(client, queue, f"{target.url}/{number}")
    paths = sorted(request.path for request in target.wait_for(6))
    assert paths == ["/work/1", "/work/2", "/work/2", "/work/3", "/work/4", "/work/4"]
    target.open.set()
    until(lambda: cloud.stats()["succeeded"] == 4)
    assert cloud.stats()["duplicate_dispatches"] == 2


def test_a_lost_response_makes_the_task_run_again_although_it_was_done(
    client: Client, make_queue: MakeQueue, target: Target, cloud: CloudTasks
) -> None:
    cloud.faults(lose_response_rate=1.0)
    add_task(client, make_queue(), target.url)
    until(lambda: cloud.stats()["lost_responses"] == 1)
    cloud.advance(timedelta(seconds=10))
    assert target.wait_for(2)[1].headers["x-cloudtasks-taskretrycount"] == "1"
    until(lambda: cloud.stats()["succeeded"] == 1)
    assert cloud.stats()["dispatched"] == 2


def test_a_task_that_is_done_may_be_delivered_once_more(
    client: Client, make_queue: MakeQueue, target: Target, cloud: CloudTasks
) -> None:
    cloud.faults(after_done_every=1)
    queue = make_queue()
    add_task(client, queue, target.url)
    first, second = target.wait_for(2)
    assert first == second
    stats = cloud.stats()
    assert (stats["succeeded"], stats["after_done_dispatches"], stats["live"][queue]) == (1, 1, 0)


def test_faults_are_off_again_when_told(
    client: Client, make_queue: MakeQueue, target: Target, cloud: CloudTasks
) -> None:
    cloud.faults(duplicate_every=1)
    cloud.faults()
    add_task(client, make_queue(), target.url)
    until(lambda: cloud.stats()["succeeded"] == 1)
    assert cloud.stats()["duplicate_dispatches"] == 0


def test_an_unknown_fault_is_refused_by_name(cloud: CloudTasks) -> None:
    with pytest.raises(ValueError, match="explode"):
        cloud.faults(explode=1)


def test_a_reset_forgets_tasks_names_and_counts(
    client: Client, make_queue: MakeQueue, target: Target, cloud: CloudTasks
) -> None:
    queue = make_queue()
    add_task(client, queue, target.url, "done")
    until(lambda: cloud.stats()["succeeded"] == 1)
    target.open.clear()
    add_task(client, queue, target.url, "running")
    target.wait_for(2)
    cloud.reset()
    assert cloud.stats()["created"] == cloud.stats()["live"][queue] == 0
    add_task(client, queue, target.url, "done")
    assert len(target.wait_for(3)) == 3
