"""A Cloud Tasks as one who may not look at queues meets it."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import grpc
from google.iam.v1.iam_policy_pb2 import TestIamPermissionsRequest, TestIamPermissionsResponse  # type: ignore[import-untyped]


@contextmanager
def without_view(*, may_create: bool) -> Iterator[str]:
    """The address of a server that shows no queue, and says whether tasks may be created in it."""

    def get_queue(request: bytes, context: grpc.ServicerContext) -> bytes:
        context.abort(grpc.StatusCode.PERMISSION_DENIED, "The principal lacks cloudtasks.queues.get")

    def permissions(request: bytes, context: grpc.ServicerContext) -> bytes:
        asked = TestIamPermissionsRequest.FromString(request).permissions
        answer: bytes = TestIamPermissionsResponse(permissions=asked if may_create else []).SerializeToString()
        return answer

    handler: Any = grpc.unary_unary_rpc_method_handler
    handlers = {"GetQueue": handler(get_queue), "TestIamPermissions": handler(permissions)}
    with ThreadPoolExecutor(2) as pool:
        server = grpc.server(pool)
        server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler("google.cloud.tasks.v2.CloudTasks", handlers),)
        )
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        yield f"127.0.0.1:{port}"
        server.stop(None).wait()
