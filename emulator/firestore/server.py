"""The gRPC server: bytes in, one handler per RPC, bytes or a status out; faults, limits and refusals for all alike."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import grpc
import grpc.aio
from google.cloud.firestore_v1 import types

from emulator.firestore import listening, querying, reading, writing
from emulator.firestore.faults import HANG, Fault, Faults
from emulator.firestore.messages import Message
from emulator.firestore.realm import Realm
from emulator.firestore.refusals import Refused
from emulator.firestore.touched import touched

SERVICE = "google.firestore.v1.Firestore"
MAX_REQUEST_BYTES = 10 * 2**20  # docs: "Usage and limits"
# Larger than the limit, so that what is over it meets our refusal and not the transport's, which clients repeat.
CHANNEL_OPTIONS = [("grpc.max_receive_message_length", 64 * 2**20), ("grpc.so_reuseport", 0)]

Handler = Callable[[Realm, Message], Awaitable[Any]]
UNARY: dict[str, tuple[Any, Handler]] = {
    "BatchWrite": (types.BatchWriteRequest.pb(), writing.batch_write),
    "BeginTransaction": (types.BeginTransactionRequest.pb(), writing.begin_transaction),
    "Commit": (types.CommitRequest.pb(), writing.commit),
    "GetDocument": (types.GetDocumentRequest.pb(), reading.get_document),
    "ListCollectionIds": (types.ListCollectionIdsRequest.pb(), reading.list_collection_ids),
    "ListDocuments": (types.ListDocumentsRequest.pb(), reading.list_documents),
    "Rollback": (types.RollbackRequest.pb(), writing.rollback),
}
STREAMS: dict[str, tuple[Any, Handler]] = {
    "BatchGetDocuments": (types.BatchGetDocumentsRequest.pb(), reading.batch_get_documents),
    "RunAggregationQuery": (types.RunAggregationQueryRequest.pb(), querying.run_aggregation_query),
    "RunQuery": (types.RunQueryRequest.pb(), querying.run_query),
}


class Desk:
    """Answers one RPC after the other: reads the request, lets faults strike, turns refusals into statuses."""

    def __init__(self, realm: Realm, faults: Faults) -> None:
        self._realm = realm
        self._faults = faults

    def handlers(self) -> dict[str, Any]:
        """Return a handler for each RPC."""
        unary: dict[str, Any] = {
            rpc: grpc.unary_unary_rpc_method_handler(self._unary(rpc, *how)) for rpc, how in UNARY.items()
        }
        streams: dict[str, Any] = {
            rpc: grpc.unary_stream_rpc_method_handler(self._stream(rpc, *how)) for rpc, how in STREAMS.items()
        }
        return unary | streams | {"Listen": grpc.stream_stream_rpc_method_handler(self._listen)}

    def _unary(self, rpc: str, request_type: Any, handler: Handler) -> Callable[[bytes, Any], Awaitable[bytes]]:
        async def answer(raw: bytes, context: Any) -> bytes:
            response = await self._answer(rpc, request_type, handler, raw, context)
            return response.SerializeToString()  # type: ignore[no-any-return]

        return answer

    def _stream(self, rpc: str, request_type: Any, handler: Handler) -> Callable[[bytes, Any], AsyncIterator[bytes]]:
        async def answer(raw: bytes, context: Any) -> AsyncIterator[bytes]:
            for response in await self._answer(rpc, request_type, handler, raw, context):
                yield response.SerializeToString()

        return answer

    async def _listen(self, requests: AsyncIterator[bytes], context: Any) -> AsyncIterator[bytes]:
        try:
            async for response in listening.listen(self._realm, requests):
                yield response.SerializeToString()
        except Refused as refused:
            await context.abort(refused.code, refused.text)

    async def _answer(self, rpc: str, request_type: Any, handler: Handler, raw: bytes, context: Any) -> Any:
        if len(raw) > MAX_REQUEST_BYTES:
            text = f"Request payload size exceeds the limit: {MAX_REQUEST_BYTES} bytes."
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, text)
        request = request_type.FromString(raw)
        fault = self._faults.match(rpc, *touched(request))
        if fault and fault.when == "before":
            await _strike(fault, context)
        try:
            response = await handler(self._realm, request)
        except Refused as refused:
            await context.abort(refused.code, refused.text)
        if fault and fault.when == "after":
            await _strike(fault, context)
        return response


async def _strike(fault: Fault, context: Any) -> None:
    await asyncio.sleep(fault.delay)
    if fault.code == HANG:
        await asyncio.Event().wait()  # until the caller gives up
    if fault.code != "OK":
        await context.abort(grpc.StatusCode[fault.code], "A fault that was set up.")


async def listen(desk: Desk, port: int) -> tuple[grpc.aio.Server, int]:
    """Start to answer on a loopback port (0: a free one); return the server and the port."""
    server = grpc.aio.server(options=CHANNEL_OPTIONS)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, desk.handlers()),))
    bound = server.add_insecure_port(f"127.0.0.1:{port}")
    await server.start()
    return server, bound
