"""Apply, check and destroy against a gcloud that refuses to create what is there and to change what is not."""

import copy
from dataclasses import replace

import pytest

from deploy import plan
from deploy.apply import apply
from deploy.check import check
from deploy.destroy import destroy, erase
from deploy.gcloud import StepFailed
from deploy.target import Target
from tests.unit.deploy.conftest import Cloud

CHANGES = {
    "create",
    "add",
    "update",
    "delete",
    "deploy",
    "enable",
    "add-iam-policy-binding",
    "remove-iam-policy-binding",
}


def changes(cloud: Cloud) -> list[tuple[str, str]]:
    """The verb and the call of every call that changes something."""
    return [(word, " ".join(call)) for call in cloud.gcloud.calls for word in call if word in CHANGES]


def said_by(cloud: Cloud, target: Target) -> list[str]:
    """Apply everything, and what it said."""
    said: list[str] = []
    apply(plan.steps(target), cloud.runner(), said.append)
    return said


def test_a_second_apply_only_updates(cloud: Cloud, target: Target) -> None:
    """Nothing is created twice, and nothing is deleted; what is there and needs no change is left alone."""
    first = said_by(cloud, target)
    made = copy.deepcopy(cloud.gcloud.kinds)
    cloud.gcloud.calls.clear()

    second = said_by(cloud, target)

    assert len(first) == len(second) == 2 * len(plan.steps(target))
    verbs = {verb for verb, call in changes(cloud) if "services identity" not in call}
    assert verbs == {"update", "deploy", "enable"}
    assert not any(text == "created\n" for text in second)
    dashboards = "monitoring dashboards"
    assert {**cloud.gcloud.kinds, dashboards: {}} == {**made, dashboards: {}}
    assert cloud.gcloud.kinds[dashboards]["d1"]["etag"] == "e2"


def test_what_failed_in_the_middle_is_completed_by_the_next_run(cloud: Cloud, target: Target) -> None:
    """It stops at the first failure, names the command, and goes on from there when it is run again."""
    cloud.gcloud.fail_at = "run deploy ledgermail-status"
    with pytest.raises(StepFailed) as failed:
        said_by(cloud, target)
    assert failed.value.command[:4] == ("gcloud", "run", "deploy", "ledgermail-status")
    assert "PERMISSION_DENIED" in failed.value.said
    assert "scheduler jobs" not in cloud.gcloud.kinds
    assert set(cloud.gcloud.kinds["run services"]) == {f"ledgermail-{name}" for name in ("deliver", "sweep", "prune")}

    cloud.gcloud.fail_at = ""
    said_by(cloud, target)

    said: list[str] = []
    assert check(plan.steps(target), cloud.runner(), said.append) == 0, said


def test_secrets_are_written_once_and_never_shown(cloud: Cloud, target: Target) -> None:
    """The key goes through standard input; one that nobody brings is made up where that is allowed."""
    said = said_by(cloud, target)
    versions = cloud.gcloud.kinds["secrets versions"]
    assert versions["ledgermail-sendgrid-key"]["payload"] == "SG.a-key"
    assert len(versions["ledgermail-trigger-key"]["payload"]) >= 32
    shown = "".join(said) + "\n".join(" ".join(call) for call in cloud.gcloud.calls)
    assert not [version for version in versions.values() if version["payload"] in shown]


@pytest.mark.parametrize(
    ("listing", "kind"),
    [
        ("secrets versions list ledgermail-token-key", "secrets versions"),
        ("alpha monitoring policies list", "monitoring policies"),
    ],
)
def test_what_cannot_be_listed_is_not_made_a_second_time(listing: str, kind: str, cloud: Cloud, target: Target) -> None:
    """Google would refuse neither: a second alert for each, and a token key by which no link of an old mail is known."""
    said_by(cloud, target)
    made = copy.deepcopy(cloud.gcloud.kinds[kind])
    cloud.gcloud.fail_at = listing
    with pytest.raises(StepFailed) as failed:
        said_by(cloud, target)
    assert "PERMISSION_DENIED" in failed.value.said
    assert cloud.gcloud.kinds[kind] == made


def test_a_ttl_that_deploy_toml_wants_no_more_is_taken_away(cloud: Cloud, target: Target) -> None:
    """Left on, it would go on deleting what no prune has counted, and break the identity of every run."""
    said_by(cloud, replace(target, ttl=True))
    assert set(cloud.gcloud.kinds["firestore fields ttls"]) == {"deliveries/prune_at"}
    assert check(plan.steps(replace(target, ttl=True)), cloud.runner(), lambda _: None) == 0
    said: list[str] = []
    assert check(plan.steps(target), cloud.runner(), said.append) == 1
    assert "it is there, and should not be" in "".join(said)
    said_by(cloud, target)
    assert not cloud.gcloud.kinds["firestore fields ttls"]
    assert check(plan.steps(target), cloud.runner(), lambda _: None) == 0
    assert check(plan.steps(replace(target, ttl=True)), cloud.runner(), lambda _: None) == 1


def test_check_says_of_what_it_cannot_see_why(cloud: Cloud, target: Target) -> None:
    """And not that it is missing, which apply would not mend."""
    said_by(cloud, target)
    cloud.gcloud.fail_at = "scheduler jobs describe ledgermail-scan"
    said: list[str] = []
    assert check(plan.steps(target), cloud.runner(), said.append) == 1
    assert "it cannot be seen: ERROR: (gcloud) PERMISSION_DENIED" in "".join(said)


@pytest.mark.parametrize("unseen", ["alpha monitoring policies list", "scheduler jobs describe"])
def test_destroy_does_not_end_well_where_it_could_not_look(unseen: str, cloud: Cloud, target: Target) -> None:
    """What it had left behind would have gone on watching, or calling."""
    said_by(cloud, target)
    cloud.gcloud.fail_at = unseen
    with pytest.raises(StepFailed, match=r"alert|schedule"):
        destroy(plan.steps(target), cloud.runner(), lambda _: None)


def test_a_secret_that_nobody_brings_stops_with_its_name(cloud: Cloud, target: Target) -> None:
    """The failure says which variable is missing."""
    del cloud.environment["LEDGERMAIL_SENDGRID_KEY"]
    with pytest.raises(StepFailed) as failed:
        said_by(cloud, target)
    assert "LEDGERMAIL_SENDGRID_KEY" in failed.value.said
    assert "run services" not in cloud.gcloud.kinds


def test_check_finds_each_difference(cloud: Cloud, target: Target) -> None:
    """A queue changed by hand, a variable, a missing index, a paused job, an open function: each by name, with a fix."""
    said_by(cloud, target)
    state = cloud.gcloud.kinds
    state["tasks queues"]["ledgermail-deliver"]["rateLimits"]["maxConcurrentDispatches"] = 1000
    scan = state["run services"]["ledgermail-scan"]["spec"]["template"]["spec"]["containers"][0]
    next(entry for entry in scan["env"] if entry["name"] == "LEDGERMAIL_SENDER")["value"] = "eve@example.com"
    state["scheduler jobs"]["ledgermail-sweep"]["state"] = "PAUSED"
    state["firestore indexes composite"].popitem()
    next(iter(state["firestore indexes composite"].values()))["state"] = "CREATING"
    state["secrets versions"]["ledgermail-sendgrid-key"]["state"] = "disabled"
    cloud.gcloud.bindings.append(("run services/ledgermail-deliver", "roles/run.invoker", "allUsers"))
    deliver = state["run services"]["ledgermail-deliver"]
    del deliver["metadata"]["annotations"]["run.googleapis.com/build-environment-variables"]
    deliver["spec"]["template"]["metadata"]["annotations"]["autoscaling.knative.dev/minScale"] = "3"
    state["run services"]["ledgermail-sweep"]["metadata"]["annotations"]["run.googleapis.com/build-function-target"] = (
        "scan"
    )

    said: list[str] = []
    off = check(plan.steps(target), cloud.runner(), said.append)

    text = "".join(said)
    assert off == 8, text
    assert "maxConcurrentDispatches is 1000, and should be 80" in text
    assert "LEDGERMAIL_SENDER.value is 'eve@example.com', and should be 'alerts@example.com'" in text
    assert "state is 'PAUSED', and should be 'ENABLED'" in text
    assert "state is 'CREATING', and should be 'READY'" in text
    assert "OFF  value of secret ledgermail-sendgrid-key" in text
    assert "allUsers" in text
    assert "build-environment-variables is 'nothing', and should be '{\"SOURCE_DATE_EPOCH\": \"315532801\"}'" in text
    assert "minScale is '3', and should be 'nothing'" in text
    assert "build-function-target is 'scan', and should be 'sweep'" in text
    assert not changes_since_apply(cloud)


def changes_since_apply(cloud: Cloud) -> list[tuple[str, str]]:
    """What was changed after the last schedule was made, which is the last thing that apply does."""
    made = changes(cloud)
    last = max(place for place, (_, call) in enumerate(made) if "scheduler jobs create" in call)
    return made[last + 1 :]


def test_destroy_leaves_the_queues_and_the_database(cloud: Cloud, target: Target) -> None:
    """All else that apply made is gone, also the roles on what stays; and it may be run again."""
    said_by(cloud, target)
    destroy(plan.steps(target), cloud.runner(), lambda _: None)
    left = {kind for kind, resources in cloud.gcloud.kinds.items() if resources}
    assert left == {
        "tasks queues",
        "firestore databases",
        "firestore indexes composite",
        "firestore indexes fields",
        "secrets versions",
    }
    stays = ("projects/", "tasks queues/")
    assert not [binding for binding in cloud.gcloud.bindings if binding[0].startswith(stays)]
    destroy(plan.steps(target), cloud.runner(), lambda _: None)


def test_erase_deletes_the_protected_database_and_no_queue(cloud: Cloud, target: Target) -> None:
    """Only this takes the protection away."""
    said_by(cloud, target)
    erase(target, cloud.runner(), lambda _: None)
    assert cloud.gcloud.kinds["firestore databases"] == {}
    assert set(cloud.gcloud.kinds["tasks queues"]) == {"ledgermail-deliver", "ledgermail-upkeep"}
