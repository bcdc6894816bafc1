"""A Cloud Tasks in front of the real one, that fails one of the creates."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import count
from typing import Any

import grpc

CREATE = "/google.cloud.tasks.v2.CloudTasks/CreateTask"


@contextmanager
def failing(host: str, *, call: int, code: grpc.StatusCode) -> Iterator[str]:
    """The address of a server that hands each CreateTask on to `host`, but answers this one (from 1) with `code`."""
    calls = count(1)
    with grpc.insecure_channel(host) as channel, ThreadPoolExecutor(4) as pool:
        create: Any = channel.unary_unary(CREATE)

        def hand_on(request: bytes, context: grpc.ServicerContext) -> bytes:
            if next(calls) == call:
                context.abort(code, "as the test wants it")
            answer: bytes = create(request)
            return answer

        server = grpc.server(pool)
        handler: Any = grpc.unary_unary_rpc_method_handler(hand_on)
        service, method = CREATE.strip("/").split("/")
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, {method: handler}),))
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        yield f"127.0.0.1:{port}"
        server.stop(None).wait()
