"""Transactions: serialisable, somebody always gets on, and nobody is stopped for long by who has left."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from datetime import timedelta
from threading import Barrier
from typing import Any

import pytest
from google.api_core.exceptions import Aborted, GoogleAPICallError, InvalidArgument, NotFound
from google.cloud import firestore
from google.cloud.firestore import Client, DocumentReference, FieldFilter, Transaction

from emulator.firestore import Firestore


def run(client: Client, body: Callable[[Transaction], Any], **options: Any) -> Any:
    return firestore.transactional(body)(client.transaction(**options))


def increment(ref: DocumentReference) -> Callable[[Transaction], int]:
    def body(transaction: Transaction) -> int:
        n: int = ref.get(transaction=transaction).get("n") + 1
        transaction.update(ref, {"n": n})
        return n

    return body


def open_transaction(client: Client) -> Transaction:
    transaction = client.transaction()
    transaction._begin()
    return transaction


def test_eight_threads_increment_one_document_twenty_times_each_and_all_succeed(client: Client) -> None:
    ref = client.document("c/d")
    ref.set({"n": 0})
    with ThreadPoolExecutor(8) as pool:
        seen = list(pool.map(lambda _: run(client, increment(ref)), range(160)))
    assert ref.get().get("n") == 160
    assert sorted(seen) == list(range(1, 161))


def test_of_fifty_workers_one_claims_and_the_others_learn_it(client: Client) -> None:
    ref = client.document("c/d")
    ref.set({"owner": None})
    start = Barrier(50)

    def claim(worker: int) -> bool:
        def body(transaction: Transaction) -> bool:
            if ref.get(transaction=transaction).get("owner") is not None:
                return False
            transaction.update(ref, {"owner": worker})
            return True

        start.wait()
        return bool(run(client, body))

    with ThreadPoolExecutor(50) as pool:
        claimed = list(pool.map(claim, range(50)))
    assert [worker for worker, won in enumerate(claimed) if won] == [ref.get().get("owner")]


def test_transfers_between_accounts_keep_the_sum_whatever_their_direction(client: Client) -> None:
    accounts = [client.document(f"accounts/{name}") for name in "abc"]
    for account in accounts:
        account.set({"n": 100})

    def transfer(number: int) -> None:
        source, target = accounts[number % 3], accounts[(number + 1 + number // 3 % 2) % 3]

        def body(transaction: Transaction) -> None:
            have, had = (ref.get(transaction=transaction).get("n") for ref in (source, target))
            transaction.update(source, {"n": have - 1})
            transaction.update(target, {"n": had + 1})

        while True:
            try:
                return run(client, body)  # type: ignore[no-any-return]
            except (Aborted, ValueError):  # a read that gives up is not repeated by the client
                continue

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(transfer, range(60)))
    assert sum(account.get().get("n") for account in accounts) == 300


def test_two_that_only_read_do_not_wait_for_each_other(client: Client) -> None:
    ref = client.document("c/d")
    ref.set({"n": 1})
    one, two = open_transaction(client), open_transaction(client)
    assert ref.get(transaction=one).get("n") == ref.get(transaction=two).get("n") == 1
    one._commit()
    two._commit()


def test_a_plain_write_waits_for_a_transaction_that_has_read_the_document(client: Client) -> None:
    ref = client.document("c/d")
    ref.set({"n": 1})
    transaction = open_transaction(client)
    ref.get(transaction=transaction)
    with ThreadPoolExecutor(1) as pool:
        written: Future[Any] = pool.submit(ref.update, {"n": 10})
        assert wait([written], timeout=0.3).not_done
        assert ref.get().get("n") == 1  # a plain read never waits
        transaction.update(ref, {"n": 2})
        first = transaction._commit()[0].update_time
        assert written.result(timeout=60).update_time > first
    assert ref.get().get("n") == 10


def test_what_a_transaction_found_missing_is_not_created_behind_its_back(client: Client) -> None:
    ref = client.document("c/d")
    transaction = open_transaction(client)
    assert not ref.get(transaction=transaction).exists
    with ThreadPoolExecutor(1) as pool:
        created: Future[Any] = pool.submit(ref.create, {"by": "other"})
        transaction.create(ref, {"by": "me"})
        transaction._commit()
        with pytest.raises(GoogleAPICallError):
            created.result(timeout=60)
    assert ref.get().get("by") == "me"


def test_a_document_that_enters_a_query_of_a_transaction_aborts_it(client: Client) -> None:
    pending = client.collection("c").where(filter=FieldFilter("status", "==", "pending"))
    transaction = open_transaction(client)
    assert list(pending.stream(transaction=transaction)) == []
    client.document("c/late").set({"status": "pending"})
    transaction.set(client.document("c/count"), {"pending": 0})
    with pytest.raises(Aborted):
        transaction._commit()
    assert not client.document("c/count").get().exists


def test_an_abandoned_transaction_stops_others_only_for_a_time(client: Client, server: Firestore) -> None:
    ref = client.document("c/d")
    ref.set({"n": 1})
    ref.get(transaction=open_transaction(client))
    with ThreadPoolExecutor(1) as pool:
        refused: Future[Any] = pool.submit(ref.update, {"n": 2})
        assert wait([refused], timeout=0.3).not_done
        server.advance(timedelta(seconds=21))
        with pytest.raises(Aborted, match="lock timeout"):
            refused.result(timeout=60)
    server.advance(timedelta(seconds=61))
    ref.update({"n": 3})
    assert ref.get().get("n") == 3


def test_a_transaction_that_was_idle_too_long_is_closed(client: Client, server: Firestore) -> None:
    transaction = open_transaction(client)
    server.advance(timedelta(seconds=61))
    transaction.set(client.document("c/d"), {})
    with pytest.raises(InvalidArgument, match="expired or is no longer valid"):
        transaction._commit()


def test_a_closed_transaction_takes_no_second_commit_but_can_be_rolled_back(client: Client) -> None:
    transaction = open_transaction(client)
    id_ = transaction.id
    transaction._commit()
    transaction._id = id_
    with pytest.raises(InvalidArgument):
        transaction._commit()
    transaction._id = id_
    transaction._rollback()


def test_a_commit_that_is_refused_changes_nothing_and_closes_the_transaction(client: Client) -> None:
    transaction = open_transaction(client)
    transaction.set(client.document("c/a"), {})
    transaction.update(client.document("c/missing"), {"n": 1})
    with pytest.raises(NotFound):
        transaction._commit()
    assert not client.document("c/a").get().exists
    client.document("c/missing").set({})  # nothing is locked any more


def test_a_rolled_back_transaction_leaves_its_locks(client: Client) -> None:
    ref = client.document("c/d")
    ref.set({"n": 1})
    transaction = open_transaction(client)
    ref.get(transaction=transaction)
    transaction._rollback()
    ref.update({"n": 2})
    assert ref.get().get("n") == 2


def test_a_read_only_transaction_sees_one_moment_and_stops_nobody(client: Client) -> None:
    ref = client.document("c/d")
    ref.set({"n": 1})

    def body(transaction: Transaction) -> list[int]:
        first = ref.get(transaction=transaction).get("n")
        ref.update({"n": 2})
        query = client.collection("c").stream(transaction=transaction)
        return [first, ref.get(transaction=transaction).get("n"), *(snapshot.get("n") for snapshot in query)]

    assert run(client, body, read_only=True) == [1, 1, 1]
    assert ref.get().get("n") == 2


def test_retries_of_one_transaction_are_bounded_and_then_say_so(client: Client, server: Firestore) -> None:
    ref = client.document("c/d")
    ref.set({"n": 0})
    server.fail("Commit", code="ABORTED", times=3, project=client.project)
    attempts: list[int] = []

    def body(transaction: Transaction) -> None:
        attempts.append(1)
        increment(ref)(transaction)

    with pytest.raises(ValueError, match="3 attempts"):
        run(client, body, max_attempts=3)
    assert len(attempts) == 3
    run(client, body)
    assert ref.get().get("n") == 1
