"""What a client sees of a task."""

from typing import Any

from google.cloud import tasks_v2

from emulator.tasks.answers import Answer
from emulator.tasks.queues import LiveTask

_Task = tasks_v2.Task.pb()


def task_message(task: LiveTask, view: int) -> Any:
    """The google.cloud.tasks.v2.Task of a live task; BASIC, the default, leaves the body out."""
    full = view == tasks_v2.Task.View.FULL
    message = _Task()
    message.CopyFrom(task.message)
    if not full:
        message.http_request.ClearField("body")
    message.view = tasks_v2.Task.View.FULL if full else tasks_v2.Task.View.BASIC
    message.create_time.FromDatetime(task.created_at.replace(microsecond=0))
    message.schedule_time.FromDatetime(task.schedule_at)
    message.dispatch_count, message.response_count = task.dispatches, task.responses
    if task.first_dispatched_at:
        message.first_attempt.dispatch_time.FromDatetime(task.first_dispatched_at)
        _fill_last_attempt(message.last_attempt, task)
    return message


def _fill_last_attempt(attempt: Any, task: LiveTask) -> None:
    attempt.schedule_time.FromDatetime(task.last_scheduled_at)
    attempt.dispatch_time.FromDatetime(task.last_dispatched_at)
    answer, answered_at, dispatched_at = task.last_answer, task.last_answered_at, task.last_dispatched_at
    if answer and answered_at and dispatched_at and answered_at >= dispatched_at:  # else the last one still runs
        attempt.response_time.FromDatetime(answered_at)
        attempt.response_status.code = answer.code.value[0]
        attempt.response_status.message = _words(answer)


def _words(answer: Answer) -> str:
    return f"{answer.code.name}({answer.code.value[0]}): HTTP status code {answer.status}"
