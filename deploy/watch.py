"""Monitoring: the counters of events, who is told, the uptime check of `status`, the alerts and the dashboard."""

from deploy import policies
from deploy.alerts import ABSENCES, COUNTS, PROBE, Absence, Count, Probe
from deploy.services import invoker
from deploy.step import FILES, FOUND, Command, Step
from deploy.table import WATCHED
from deploy.target import NUMBER, Target
from ledgermail.log_table import EVENTS

REGIONS = "europe,usa-iowa,asia-pacific"  # three are the fewest
PROBE_SECONDS = 30  # a cold start
RIGHTS = "You need roles/monitoring.editor."


def watch(target: Target) -> list[Step]:
    """All of it, in the order in which one names the other."""
    return [
        _metric(target, policies.EVENTS, policies.metric(target)),
        *(_metric(target, count.name, policies.metric(target, count.only)) for count in COUNTS if count.only),
        *(
            _metric(target, policies.curve_name(event.name, field), policies.curve(target, event.name, field))
            for event in EVENTS
            for field in event.measured
        ),
        *(_channel(target, number, address) for number, address in enumerate(target.notify)),
        *_probing(target),
        *(_policy(target, alert) for alert in (*COUNTS, *ABSENCES, PROBE)),
        *_dashboard(target),
    ]


def _metric(target: Target, counter: str, document: policies.Json) -> Step:
    name, words, file = target.name(counter), ("logging", "metrics"), f"metric-{counter}.json"
    config = f"--config-from-file={FILES}/{file}"
    return Step(
        title=f"metric {name}",
        find=_gcloud(target, *words, "describe", name, "--format=value(name)"),
        create=_gcloud(target, *words, "create", name, config),
        update=_gcloud(target, *words, "update", name, config),
        delete=_gcloud(target, *words, "delete", name, "--quiet"),
        files={file: policies.text(document)},
        fix="You need roles/logging.configWriter.",
    )


def _channel(target: Target, number: int, address: str) -> Step:
    words = ("beta", "monitoring", "channels")
    mine = f'--filter=displayName~"^{target.prefix}$" AND labels.email_address="{address}"'
    return Step(
        title=f"alerts go to {address}",
        find=_gcloud(target, *words, "list", mine, "--limit=1", "--format=value(name)"),
        create=_gcloud(
            target,
            *words,
            "create",
            f"--display-name={target.prefix}",
            "--type=email",
            f"--channel-labels=email_address={address}",
        ),
        delete=_gcloud(target, *words, "delete", FOUND, "--force", "--quiet"),
        captures=policies.channel(number).strip("@"),
        fix=RIGHTS,
    )


def _probing(target: Target) -> list[Step]:
    """`status` is private: Cloud Monitoring's own account brings a token and may call it."""
    agent = f"serviceAccount:service-{NUMBER}@gcp-sa-monitoring-notification.iam.gserviceaccount.com"
    identity = ("beta", "services", "identity", "create", "--service=monitoring.googleapis.com")
    return [
        Step(
            title="the account of Cloud Monitoring",
            why="The uptime check calls `status` in its name.",
            create=_gcloud(target, *identity),
            fix="You need roles/serviceusage.serviceUsageAdmin.",
        ),
        _probe(target),
        invoker(target, "status", agent),
    ]


def _probe(target: Target) -> Step:
    name, words = target.name(PROBE.name), ("monitoring", "uptime")
    often = (f"--path={WATCHED}", f"--period={PROBE.minutes}", f"--timeout={PROBE_SECONDS}")
    asked = (
        "--resource-type=uptime-url",
        f"--resource-labels=host={target.host('status')},project_id={target.project}",
        "--protocol=https",
        "--service-agent-auth=oidc-token",
        "--validate-ssl=true",
        f"--regions={REGIONS}",
        "--status-classes=2xx",
    )
    changed = ("--set-status-classes=2xx", f"--set-regions={REGIONS}")
    return Step(
        title=f"uptime check {name}",
        find=_listed(target, (*words, "list-configs"), name, "name.basename()"),
        create=_gcloud(target, *words, "create", name, *asked, *often),
        update=_gcloud(target, *words, "update", FOUND, *changed, *often),
        delete=_gcloud(target, *words, "delete", FOUND, "--quiet"),
        captures=policies.CHECK,
        fix=RIGHTS,
    )


def _policy(target: Target, alert: Count | Absence | Probe) -> Step:
    name, words = target.name(alert.name), ("alpha", "monitoring", "policies")
    file = f"alert-{alert.name}.json"
    config = f"--policy-from-file={FILES}/{file}"
    return Step(
        title=f"alert {name}",
        find=_listed(target, (*words, "list"), name, "name"),
        create=_gcloud(target, *words, "create", config),
        update=_gcloud(target, *words, "update", FOUND, config),
        delete=_gcloud(target, *words, "delete", FOUND, "--quiet"),
        files={file: policies.text(policies.policy(target, alert))},
        fix=f"{RIGHTS} A metric made a moment ago is known after some minutes: run again.",
    )


def _dashboard(target: Target) -> list[Step]:
    words = ("monitoring", "dashboards")
    config = f"--config-from-file={FILES}/dashboard.json"
    return [
        Step(
            title="version of the dashboard",
            why="An update must name the version that it replaces.",
            find=_listed(target, (*words, "list"), target.prefix, "etag"),
            captures="DASHBOARD_ETAG",
            required=False,
        ),
        Step(
            title=f"dashboard {target.prefix}",
            find=_listed(target, (*words, "list"), target.prefix, "name.basename()"),
            create=_gcloud(target, *words, "create", config),
            update=_gcloud(target, *words, "update", FOUND, config),
            delete=_gcloud(target, *words, "delete", FOUND, "--quiet"),
            files={"dashboard.json": policies.text(policies.dashboard(target))},
            fix=RIGHTS,
        ),
    ]


def _listed(target: Target, words: tuple[str, ...], name: str, shown: str) -> Command:
    """By its whole name: gcloud's `=` is about to match single words too."""
    return _gcloud(target, *words, f'--filter=displayName~"^{name}$"', "--limit=1", f"--format=value({shown})")


def _gcloud(target: Target, *words: str) -> Command:
    return ("gcloud", *words, f"--project={target.project}")
