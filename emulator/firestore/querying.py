"""The RPCs that run queries and aggregations."""

from datetime import datetime

from google.cloud.firestore_v1 import types

from emulator.firestore.aggregations import aggregated, check_aggregations, summed_fields
from emulator.firestore.documents import Version, timestamp
from emulator.firestore.messages import Message
from emulator.firestore.paths import parent_database
from emulator.firestore.queries import Plan
from emulator.firestore.realm import Realm, Tenant, View
from emulator.firestore.refusals import invalid

RunQueryResponse = types.RunQueryResponse.pb()
RunAggregationQueryResponse = types.RunAggregationQueryResponse.pb()
ENTRIES_A_READ = 1000  # docs: "Pricing", aggregation queries


async def run_query(realm: Realm, request: Message) -> list[Message]:
    """RunQuery: a response for each document."""
    if not request.HasField("structured_query"):
        raise invalid("only structured queries are supported")
    query = request.structured_query
    tenant = realm.tenant(parent_database(request.parent))
    plan = Plan.of(request.parent, query)
    realm.check_index(query, request.parent)
    view = tenant.view(request)
    found, skipped = await _found(tenant, plan, view)
    realm.meter.count(tenant.project, "RunQuery", plan.collection_id, reads=max(len(found) + skipped, 1))
    read_time = timestamp(view.at or realm.clock.now())
    responses = [_response(plan, version, read_time) for version in found]
    responses = responses or [RunQueryResponse(read_time=read_time)]
    responses[0].skipped_results = skipped
    responses[-1].done = True
    return [RunQueryResponse(transaction=view.opened), *responses] if view.opened else responses


async def run_aggregation_query(realm: Realm, request: Message) -> list[Message]:
    """RunAggregationQuery: count, sum and average over what a query finds."""
    query, aggregations = (
        request.structured_aggregation_query.structured_query,
        request.structured_aggregation_query.aggregations,
    )
    check_aggregations(aggregations)
    summed = summed_fields(aggregations)
    tenant = realm.tenant(parent_database(request.parent))
    plan = Plan.of(request.parent, query, summed)
    realm.check_index(query, request.parent, summed.values())
    view = tenant.view(request)
    found, skipped = _run(tenant, plan, view)
    matched = len(found) + skipped
    realm.meter.count(
        tenant.project, "RunAggregationQuery", plan.collection_id, reads=max(-(-matched // ENTRIES_A_READ), 1)
    )
    response = RunAggregationQueryResponse(read_time=timestamp(view.at or realm.clock.now()))
    for alias, value in aggregated(aggregations, found).items():
        response.result.aggregate_fields[alias].CopyFrom(value)
    return [RunAggregationQueryResponse(transaction=view.opened), response] if view.opened else [response]


def _response(plan: Plan, version: Version, read_time: Message) -> Message:
    response = RunQueryResponse(read_time=read_time)
    if plan.select is None:
        response.document.MergeFromString(version.raw)
    else:
        response.document.CopyFrom(plan.select(version.document()))
    return response


async def _found(tenant: Tenant, plan: Plan, view: View) -> tuple[list[Version], int]:
    """Run the query; in a read-write transaction until what it finds is locked. Raises Refused, ABORTED."""
    found = plan.run(tenant.documents, view.at)
    while await tenant.lock(view, [version.name for version in found[0]]):
        found = plan.run(tenant.documents, view.at)
    return _remembered(tenant, plan, view, found)


def _run(tenant: Tenant, plan: Plan, view: View) -> tuple[list[Version], int]:
    return _remembered(tenant, plan, view, plan.run(tenant.documents, view.at))


def _remembered(tenant: Tenant, plan: Plan, view: View, found: tuple[list[Version], int]) -> tuple[list[Version], int]:
    """Let a read-write transaction see at its commit whether the query would find the same."""
    if view.transaction is not None:
        before = _versions(found[0])
        view.transaction.still_so.append(lambda: _versions(plan.run(tenant.documents, None)[0]) == before)
    return found


def _versions(found: list[Version]) -> list[tuple[str, datetime]]:
    return [(version.name.text, version.at) for version in found]
