"""The RPCs that read documents by name, and those that list documents and collections."""

from google.cloud.firestore_v1 import types
from grpc import StatusCode

from emulator.firestore.documents import timestamp
from emulator.firestore.messages import Document, Message, StructuredQuery
from emulator.firestore.paths import check_collection_id, document_name, name_order, parent_database
from emulator.firestore.queries import Plan, projection
from emulator.firestore.query_rules import ASCENDING, DESCENDING
from emulator.firestore.realm import Realm, Tenant, View
from emulator.firestore.refusals import Refused, invalid

BatchGetDocumentsResponse = types.BatchGetDocumentsResponse.pb()
ListCollectionIdsResponse = types.ListCollectionIdsResponse.pb()
ListDocumentsResponse = types.ListDocumentsResponse.pb()
PAGE_SIZE = 300  # where the caller names none


async def batch_get_documents(realm: Realm, request: Message) -> list[Message]:
    """BatchGetDocuments: each document once, found or missing."""
    tenant = realm.tenant(request.database)
    names = [document_name(name) for name in dict.fromkeys(request.documents)]
    select = projection(request.mask.field_paths) if request.HasField("mask") else None
    view = tenant.view(request)
    await tenant.lock(view, names)
    read_time = timestamp(view.at or realm.clock.now())
    responses = []
    for name in names:
        document = realm.tenant(name.database).documents.get(name, view.at)
        if document is None:
            responses.append(BatchGetDocumentsResponse(missing=name.text, read_time=read_time))
        else:
            found = select(document) if select else document
            responses.append(BatchGetDocumentsResponse(found=found, read_time=read_time))
    realm.bill_reads("BatchGetDocuments", names)
    return [BatchGetDocumentsResponse(transaction=view.opened), *responses] if view.opened else responses


async def get_document(realm: Realm, request: Message) -> Message:
    """GetDocument. NOT_FOUND when there is none."""
    name = document_name(request.name)
    tenant = realm.tenant(name.database)
    select = projection(request.mask.field_paths) if request.HasField("mask") else None
    view = tenant.view(request)
    await tenant.lock(view, [name])
    document = tenant.documents.get(name, view.at)
    realm.bill_reads("GetDocument", [name])
    if document is None:
        raise Refused(StatusCode.NOT_FOUND, f"Document ({name.text}) not found.")
    return select(document) if select else document


async def list_documents(realm: Realm, request: Message) -> Message:
    """ListDocuments; with show_missing also the names that only have something below them."""
    if request.show_missing and request.order_by:
        raise invalid("cannot specify an order when show_missing is true")
    if request.page_size < 0:
        raise invalid("page size is negative")
    check_collection_id(request.collection_id)
    tenant = realm.tenant(parent_database(request.parent))
    view = tenant.view(request)
    start, size = _offset(request.page_token), request.page_size or PAGE_SIZE
    found = _with_missing(tenant, request, view) if request.show_missing else _ordered(tenant, request, view)
    page, more = found[start : start + size], len(found) > start + size
    await tenant.lock(view, [document_name(document.name) for document in page])
    reads = sum(document.HasField("create_time") for document in page)
    realm.meter.count(tenant.project, "ListDocuments", request.collection_id, reads=max(reads, 1))
    if request.mask.field_paths:
        select = projection(request.mask.field_paths)
        page = [select(document) if document.HasField("create_time") else document for document in page]
    return ListDocumentsResponse(documents=page, next_page_token=str(start + size) if more else "")


async def list_collection_ids(realm: Realm, request: Message) -> Message:
    """ListCollectionIds: of a document, which need not exist, or of the database."""
    tenant = realm.tenant(parent_database(request.parent))
    view = tenant.view(request)
    start, size = _offset(request.page_token), request.page_size or PAGE_SIZE
    ids = tenant.documents.collection_ids(request.parent, view.at)
    realm.meter.count(tenant.project, "ListCollectionIds", "", reads=1)
    more = len(ids) > start + size
    return ListCollectionIdsResponse(
        collection_ids=ids[start : start + size], next_page_token=str(start + size) if more else ""
    )


def _ordered(tenant: Tenant, request: Message, view: View) -> list[Message]:
    query = StructuredQuery()
    query.from_.add(collection_id=request.collection_id)
    for order in filter(None, request.order_by.split(",")):
        path, _, direction = order.strip().partition(" ")
        descending = direction.strip().lower() == "desc"
        query.order_by.add(direction=DESCENDING if descending else ASCENDING).field.field_path = path
    return [version.document() for version in Plan.of(request.parent, query).run(tenant.documents, view.at)[0]]


def _with_missing(tenant: Tenant, request: Message, view: View) -> list[Message]:
    found = {document.name: document for document in _ordered(tenant, request, view)}
    for name in tenant.documents.missing(request.parent, request.collection_id, view.at):
        found.setdefault(name, Document(name=name))
    return [found[name] for name in sorted(found, key=name_order)]


def _offset(page_token: str) -> int:
    """Return how many a page token skips. Raises Refused for a token that is none of ours."""
    if page_token and not page_token.isdecimal():
        raise invalid("invalid page token")
    return int(page_token or 0)
