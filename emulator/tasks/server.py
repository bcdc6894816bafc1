"""The gRPC service google.cloud.tasks.v2.CloudTasks: each RPC, checked and handed to the state."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import grpc
from google.cloud import tasks_v2
from google.protobuf import empty_pb2, field_mask_pb2

from emulator.tasks.dispatcher import Dispatcher
from emulator.tasks.naming import check_parent, check_queue_name, check_task_name, queue_of
from emulator.tasks.queues import TaskQueue
from emulator.tasks.refusal import InvalidArgumentError, RefusedError, UnimplementedError
from emulator.tasks.state import State
from emulator.tasks.validation import accept_queue, accept_task
from emulator.tasks.views import task_message

LARGEST_PAGE = 1000  # of ListTasks; ListQueues allows more, nobody here has so many
_OUTPUT_ONLY = ("state", "purge_time")
_Queue = tasks_v2.Queue.pb()


class CloudTasksService:
    """One method an RPC; they run on the event loop without waiting, so each is atomic."""

    def __init__(self, state: State, dispatcher: Dispatcher) -> None:
        self._state = state
        self._dispatcher = dispatcher

    def handlers(self) -> grpc.GenericRpcHandler:
        """All RPCs, as grpc wants them; whatever is not here is answered UNIMPLEMENTED."""
        rpcs: dict[str, tuple[Any, Callable[[Any], Any]]] = {
            "CreateTask": (tasks_v2.CreateTaskRequest, self.create_task),
            "GetTask": (tasks_v2.GetTaskRequest, self.get_task),
            "ListTasks": (tasks_v2.ListTasksRequest, self.list_tasks),
            "DeleteTask": (tasks_v2.DeleteTaskRequest, self.delete_task),
            "RunTask": (tasks_v2.RunTaskRequest, self.run_task),
            "CreateQueue": (tasks_v2.CreateQueueRequest, self.create_queue),
            "GetQueue": (tasks_v2.GetQueueRequest, self.get_queue),
            "ListQueues": (tasks_v2.ListQueuesRequest, self.list_queues),
            "UpdateQueue": (tasks_v2.UpdateQueueRequest, self.update_queue),
            "DeleteQueue": (tasks_v2.DeleteQueueRequest, self.delete_queue),
            "PauseQueue": (tasks_v2.PauseQueueRequest, self.pause_queue),
            "ResumeQueue": (tasks_v2.ResumeQueueRequest, self.resume_queue),
            "PurgeQueue": (tasks_v2.PurgeQueueRequest, self.purge_queue),
        }
        return grpc.method_handlers_generic_handler(
            "google.cloud.tasks.v2.CloudTasks",
            {name: _rpc(request.pb().FromString, answer) for name, (request, answer) in rpcs.items()},
        )

    def create_task(self, request: Any) -> Any:
        """Accept a task and let it start if it may."""
        queue = self._state.queue(request.parent)
        message = request.task
        if message.name:
            check_task_name(message.name, request.parent)
        accept_task(message, self._state.clock.now())
        task = self._state.create_task(queue, message)
        answer = task_message(task, request.response_view)
        self._dispatcher.poke(queue)
        return answer

    def get_task(self, request: Any) -> Any:
        """A live task. NotFoundError once it is done."""
        queue = self._state.queue(queue_of(request.name))
        return task_message(queue.find(request.name, self._state.clock.now()), request.response_view)

    def list_tasks(self, request: Any) -> Any:
        """A page of the live tasks, by name."""
        queue = self._state.queue(request.parent)
        names, token = _page(sorted(queue.live), request)
        tasks = [task_message(queue.live[name], request.response_view) for name in names]
        return tasks_v2.ListTasksResponse.pb()(tasks=tasks, next_page_token=token)

    def delete_task(self, request: Any) -> Any:
        """End a task; an attempt under way runs on."""
        queue = self._state.queue(queue_of(request.name))
        now = self._state.clock.now()
        queue.remove(queue.find(request.name, now), now)
        return empty_pb2.Empty()

    def run_task(self, request: Any) -> Any:
        """Start an attempt now, even in a paused queue, over the limits, or while another one runs."""
        queue = self._state.queue(queue_of(request.name))
        task = queue.find(request.name, self._state.clock.now())
        self._dispatcher.run(queue, task)
        return task_message(task, request.response_view)

    def create_queue(self, request: Any) -> Any:
        """Add a queue."""
        check_parent(request.parent)
        check_queue_name(request.queue.name, request.parent)
        return self._state.create_queue(request.queue).message

    def get_queue(self, request: Any) -> Any:
        """The settings and state of a queue."""
        return self._state.queue(request.name).message

    def list_queues(self, request: Any) -> Any:
        """A page of the queues of a location, by name; filters are not served here."""
        check_parent(request.parent)
        if request.filter:
            raise UnimplementedError("ListQueues filters are not served here.")
        mine = sorted(name for name in self._state.queues if name.startswith(request.parent + "/"))
        names, token = _page(mine, request)
        queues = [self._state.queues[name].message for name in names]
        return tasks_v2.ListQueuesResponse.pb()(queues=queues, next_page_token=token)

    def update_queue(self, request: Any) -> Any:
        """Change the fields in the mask (all without one); a queue that does not exist is created, as documented."""
        name = request.queue.name
        if name not in self._state.queues:
            check_queue_name(name, name.partition("/queues/")[0])
            return self._state.create_queue(request.queue).message
        queue = self._state.queues[name]
        message = _merged(queue.message, request.queue, request.update_mask)
        accept_queue(message)
        queue.configure(message, self._state.clock.now())
        self._dispatcher.poke(queue)
        return message

    def delete_queue(self, request: Any) -> Any:
        """Remove a queue and its tasks; its name stays taken for three days."""
        self._state.delete_queue(request.name)
        return empty_pb2.Empty()

    def pause_queue(self, request: Any) -> Any:
        """Stop dispatching; tasks are still accepted."""
        return self._enter(request.name, tasks_v2.Queue.State.PAUSED)

    def resume_queue(self, request: Any) -> Any:
        """Dispatch again."""
        return self._enter(request.name, tasks_v2.Queue.State.RUNNING)

    def purge_queue(self, request: Any) -> Any:
        """Delete all tasks of a queue, at once (production: within a minute)."""
        queue = self._state.queue(request.name)
        queue.purge(self._state.clock.now())
        return queue.message

    def _enter(self, name: str, state: int) -> Any:
        queue: TaskQueue = self._state.queue(name)
        queue.message.state = state
        queue.changed()
        self._dispatcher.poke(queue)
        return queue.message


def _merged(current: Any, wanted: Any, mask: Any) -> Any:
    """The current settings with the masked fields of the wanted ones. Raises InvalidArgumentError for others."""
    paths = field_mask_pb2.FieldMask(paths=mask.paths or [field.name for field in _Queue.DESCRIPTOR.fields])
    if not paths.IsValidForDescriptor(_Queue.DESCRIPTOR):
        raise InvalidArgumentError(f"Invalid field in update_mask: {', '.join(mask.paths)}")
    message = _Queue()
    message.CopyFrom(current)
    paths.MergeMessage(wanted, message, replace_message_field=True)
    for field in _OUTPUT_ONLY:
        message.ClearField(field)
    field_mask_pb2.FieldMask(paths=_OUTPUT_ONLY).MergeMessage(current, message)
    return message


def _page(names: Sequence[str], request: Any) -> tuple[Sequence[str], str]:
    """The names after the token, at most a page of them, and the token of the next page: the last name shown."""
    size = min(request.page_size or LARGEST_PAGE, LARGEST_PAGE)
    after = [name for name in names if name > request.page_token]
    return after[:size], after[size - 1] if len(after) > size else ""


def _rpc(read: Callable[[bytes], Any], answer: Callable[[Any], Any]) -> "grpc.RpcMethodHandler[Any, Any]":
    async def handle(request: Any, context: "grpc.aio.ServicerContext[Any, Any]") -> Any:
        try:
            return answer(request)
        except RefusedError as refusal:
            await context.abort(refusal.code, refusal.message)

    handler: Callable[[Any, Any], Awaitable[Any]] = handle
    return grpc.unary_unary_rpc_method_handler(
        handler, request_deserializer=read, response_serializer=lambda message: message.SerializeToString()
    )
