"""What is deployed, declared: a new function is one more row here (and a row below, if something calls it on a schedule)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

BASE_IMAGE = "python313"
# The build compiles the source, and then gives every file of it the same time, so that compiled code which is known by its
# source's time counts as stale, and is compiled again at each cold start. With this, compileall knows it by a hash.
BUILD_ENVIRONMENT = {"SOURCE_DATE_EPOCH": "315532801"}
WATCHED = "/?runs=0"  # the path of the cheap status
TASK_ACCOUNT = "tasks"  # in whose name Cloud Tasks and Cloud Scheduler call
BUILD_ACCOUNT = "build"  # in whose name Cloud Build turns the source into a service

APIS = (
    "artifactregistry",
    "cloudbuild",
    "cloudresourcemanager",
    "cloudscheduler",
    "cloudtasks",
    "firebaserules",
    "firestore",
    "iam",
    "logging",
    "monitoring",
    "run",
    "secretmanager",
)


class Access(StrEnum):
    """What a function may do to the ledger: the role it is given on the one database."""

    READ = "roles/datastore.viewer"
    WRITE = "roles/datastore.user"


@dataclass(frozen=True, kw_only=True)
class Function:
    """One entry point of functions/main.py and what it runs with. Its service, and its service account, bear its name."""

    name: str
    public: bool = False  # anybody may call it: it checks by itself who it is
    called: bool = True  # by tasks or schedules, in the name of the task account
    ledger: Access | None = Access.WRITE
    queues: tuple[str, ...] = ()  # of deploy/queues.toml, that it puts tasks into
    secrets: tuple[str, ...] = ()  # as named in ledgermail.settings, without the prefix
    memory: str = "512Mi"
    cpu: int = 1  # below 1 an instance serves one request at a time
    concurrency: int = 4  # requests at once in an instance: --concurrency, and THREADS, which must agree
    min_instances: int = 0
    max_instances: int = 2


# The order is the order of a rollout: what reads a newer schema_version comes before what writes it.
FUNCTIONS = (
    Function(
        name="deliver",
        queues=("deliver",),
        secrets=("SENDGRID_KEY", "RESEND_KEY", "SMTP_PASSWORD", "TOKEN_KEY"),  # one provider's
        concurrency=8,
        max_instances=10,
    ),
    Function(name="sweep", queues=("deliver", "upkeep")),
    Function(name="prune", queues=("upkeep",)),
    Function(name="status", ledger=Access.READ),
    Function(name="events", public=True, called=False, max_instances=4),
    Function(name="plan", queues=("deliver", "upkeep"), max_instances=5),  # parts of a large audience, side by side
    Function(name="scan", queues=("deliver", "upkeep")),
    Function(name="preferences", public=True, called=False, secrets=("TOKEN_KEY",), concurrency=8),
    # Operators call it: see docs/operate.md for how they are let in.
    Function(name="console", called=False, queues=("deliver",), secrets=("CONSOLE_KEY",)),
    Function(name="trigger", public=True, called=False, ledger=None, queues=("upkeep",), secrets=("TRIGGER_KEY",)),
)

# Secrets that may be made up; all others come from somebody, in an environment variable of the same name.
GENERATED = ("CONSOLE_KEY", "TOKEN_KEY", "TRIGGER_KEY")


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """One Cloud Scheduler job: what is called, when (unix-cron, in UTC), with which JSON body; or what is only looked at."""

    name: str
    function: str
    cron: str
    body: Mapping[str, object] = field(default_factory=dict)
    path: str | None = None  # asked for with GET, and no body
    retries: int = 0  # by Cloud Scheduler, at most 5; 0 where the next call comes as soon as a retry would


SCHEDULES = (
    Schedule(name="scan", function="scan", cron="* * * * *"),
    Schedule(name="look-back", function="scan", cron="17 * * * *", body={"look_back": True}, retries=2),
    Schedule(name="plan", function="plan", cron="*/5 * * * *"),
    Schedule(name="sweep", function="sweep", cron="*/5 * * * *"),
    Schedule(name="prune", function="prune", cron="40 3,15 * * *", retries=3),
    # What the alerts go by. The ages are cheap to look at; a whole status counts runs, and so the identity (docs/deploy.md, 8).
    Schedule(name="status", function="status", cron="*/5 * * * *", path=WATCHED),
    Schedule(name="identity", function="status", cron="3 * * * *", path="/"),
)
