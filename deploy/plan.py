"""The whole deployment in its order: the ground first, then what stands on it, and what starts it all at the very end."""

from deploy import database, foundation, queues, schedules, services, watch
from deploy.step import Step
from deploy.target import Target

Stage = tuple[str, list[Step]]


def stages(target: Target) -> list[Stage]:
    """The steps under their headings."""
    return [
        ("Project and APIs", foundation.project(target)),
        ("Service accounts", foundation.accounts(target)),
        ("Firestore", database.database(target) + database.indexes(target) + database.rules(target)),
        ("Queues", queues.queues(target)),
        ("Secrets", foundation.secrets(target)),
        ("Roles", foundation.rights(target)),
        ("Functions", services.functions(target)),
        ("Who may call them", services.callers(target)),
        ("Monitoring", watch.watch(target)),
        ("Schedules", schedules.schedules(target)),
    ]


def steps(target: Target) -> list[Step]:
    """All steps in order."""
    return [step for _, stage in stages(target) for step in stage]
