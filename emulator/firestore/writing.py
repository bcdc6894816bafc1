"""The RPCs that change documents, and those that open and close transactions."""

from collections.abc import Sequence

from google.cloud.firestore_v1 import types

from emulator.firestore.messages import Empty, Message
from emulator.firestore.realm import Realm, Tenant
from emulator.firestore.refusals import Refused, aborted, invalid
from emulator.firestore.transactions import Transaction
from emulator.firestore.writes import Commit, Write, read_write

BeginTransactionResponse = types.BeginTransactionResponse.pb()
BatchWriteResponse = types.BatchWriteResponse.pb()
CommitResponse = types.CommitResponse.pb()


async def begin_transaction(realm: Realm, request: Message) -> Message:
    """BeginTransaction."""
    transaction = realm.tenant(request.database).transactions.begin(request.options)
    return BeginTransactionResponse(transaction=transaction.id)


async def rollback(realm: Realm, request: Message) -> Message:
    """Rollback."""
    realm.tenant(request.database).transactions.roll_back(request.transaction)
    return Empty()


async def commit(realm: Realm, request: Message) -> Message:
    """Commit: all writes or none."""
    tenant = realm.tenant(request.database)
    writes = [read_write(write, request.database) for write in request.writes]
    transactions = tenant.transactions
    transaction = transactions.use(request.transaction) if request.transaction else transactions.single()
    if writes and transaction.read_time is not None:
        raise invalid("Cannot modify entities in a read-only transaction.")
    try:
        pending, results = await _commit(realm, tenant, transaction, writes)
    finally:
        transactions.end(transaction)
    _bill(realm, "Commit", writes)
    return CommitResponse(write_results=results, commit_time=pending.timestamp)


async def batch_write(realm: Realm, request: Message) -> Message:
    """BatchWrite: each write by itself, with a status of its own."""
    tenant = realm.tenant(request.database)
    writes = [read_write(write, request.database) for write in request.writes]
    if len({write.name for write in writes}) < len(writes):
        raise invalid("the same document cannot be written more than once in a single request")
    response = BatchWriteResponse()
    applied = []
    for write in writes:
        status, result = response.status.add(), response.write_results.add()
        transaction = tenant.transactions.single()
        try:
            _, results = await _commit(realm, tenant, transaction, [write])
        except Refused as refused:
            status.code, status.message = refused.code.value[0], refused.text
        else:
            result.CopyFrom(results[0])
            applied.append(write)
        finally:
            tenant.transactions.end(transaction)
    _bill(realm, "BatchWrite", applied)
    return response


async def _commit(
    realm: Realm, tenant: Tenant, transaction: Transaction, writes: Sequence[Write]
) -> tuple[Commit, list[Message]]:
    """Apply the writes; return the commit and a WriteResult for each. Raises Refused; then nothing is stored."""
    await tenant.transactions.lock(transaction, [write.name.text for write in writes], to_write=True)
    if not all(still_so() for still_so in transaction.still_so):
        raise aborted("A query of this transaction would now find other documents. Please try again.")
    pending = Commit(tenant.documents, realm.clock.now())
    results = pending.apply(writes)
    realm.store(pending.now, pending.changes)
    realm.changed()
    return pending, results


def _bill(realm: Realm, rpc: str, writes: Sequence[Write]) -> None:
    realm.bill_writes(
        rpc, [write.name for write in writes if not write.deletes], [write.name for write in writes if write.deletes]
    )
