"""The doctor: all is well with a healthy deployment, and of a broken one it names what is broken, and what to do."""

import json
from pathlib import Path
from shutil import copytree

import pytest

from emulator.firestore import Firestore
from emulator.inbox import Inbox
from emulator.tasks import CloudTasks
from ledgermail.cli import main
from ledgermail.ledger.delivery import to_document
from ledgermail.settings import FOLDER, SECRETS, Provider, secrets_of
from tests.integration.doctor.conftest import NOWHERE, Examine
from tests.samples import NOW, a_delivery, a_match, a_user

OUR_SECRETS = len({name for function in SECRETS for name in secrets_of(function, Provider.SENDGRID)})


def fill(firestore: Firestore, project: str) -> None:
    """Thirty of everything that a query could find."""
    client = firestore.client(project)
    batch = client.batch()
    for number in range(30):
        documents = {
            "matches": a_match(),
            "users": a_user(mailings={"daily-digest": {"active": True, "schedule": "0 8 * * * UTC"}}),
            "deliveries": to_document(a_delivery(mailing="daily-digest")),
            "runs": {"mailing": "daily-digest", "opened_at": NOW, "intended": 30},
        }
        for collection, document in documents.items():
            batch.set(client.collection(collection).document(f"d{number}"), document)
    batch.commit()


@pytest.mark.parametrize("full", [False, True])
def test_all_is_well_with_a_healthy_deployment_and_looking_costs_little_and_leaves_nothing(
    full: bool, examine: Examine, world: str, controlled: Firestore, tasks_server: CloudTasks, inbox: Inbox
) -> None:
    if full:
        fill(controlled, world)
    controlled.reset_usage(world)
    assert examine() == (0, {})
    used = controlled.usage(world)
    assert 0 < used.reads < 25
    assert (used.writes, used.deletes) == (0, 0)
    assert inbox.stats()["requests"] == 0
    assert not [queue for queue, count in tasks_server.stats()["live"].items() if world in queue and count]


def test_each_thing_that_was_looked_at_is_one_line(world: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    told = ["settings", "mailings", *["secret"] * OUR_SECRETS, "firestore", "indexes", "gate"]
    told += ["queue deliver", "queue upkeep", "key", "sender"]
    assert [line.partition(":")[0].split(maxsplit=1) for line in lines] == [["ok", check] for check in told]


def test_a_problem_and_what_to_do_are_one_line(
    world: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LEDGERMAIL_TRIGGER_KEY")
    assert main(["doctor"]) == 1
    [line] = [line for line in capsys.readouterr().out.splitlines() if not line.startswith("ok ")]
    assert line.startswith("problem  secret: LEDGERMAIL_TRIGGER_KEY is missing. To do: store it in Secret Manager")


def test_arguments_that_are_not_known_are_refused_without_looking() -> None:
    assert main(["doctor", "--all"]) == 2


@pytest.mark.parametrize(
    ("variable", "value", "check", "said", "to_do"),
    [
        ("LEDGERMAIL_SENDGRID_KEY", "", "secret", "LEDGERMAIL_SENDGRID_KEY is missing", "give it to `deliver` alone"),
        ("LEDGERMAIL_TRIGGER_KEY", "", "secret", "LEDGERMAIL_TRIGGER_KEY is missing", "give it to `trigger` alone"),
        ("LEDGERMAIL_SENDGRID_KEY", "SG.wrong", "key", "does not accept it", "make a key with Mail Send"),
        ("LEDGERMAIL_SENDER", "a@other.org", "sender", "neither a@other.org nor other.org", "Sender Authentication"),
        ("LEDGERMAIL_SENDGRID_URL", f"http://{NOWHERE}", "sendgrid", "ConnectError", "LEDGERMAIL_SENDGRID_URL"),
        ("LEDGERMAIL_QUEUE", "mail", "queue mail", "it is not there", "`gcloud tasks queues create mail --location"),
        ("LEDGERMAIL_UPKEEP_QUEUE", "up", "queue up", "it is not there", "`gcloud tasks queues create up --location"),
        ("FIRESTORE_EMULATOR_HOST", NOWHERE, "firestore", "no answer", f"FIRESTORE_EMULATOR_HOST names {NOWHERE}"),
        ("LEDGERMAIL_MAILINGS", "/nowhere", "mailings", "nowhere: has no mailing", "mend the mailing's folder"),
    ],
)
def test_what_is_broken_is_named_with_its_fix_and_nothing_else_is(
    variable: str, value: str, check: str, said: str, to_do: str, examine: Examine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    code, found = examine()
    verdict, *words = found.pop(check)
    assert (code, verdict) == (1, "problem")
    assert said in words[0]
    assert to_do in words[1]
    assert {verdict for verdict, *_ in found.values()} <= {"unseen"}  # what needs the one that is broken, and no more
    assert set(found) <= {"firestore": {"indexes", "gate"}, "key": {"sender"}, "secret": {"key", "sender"}}.get(
        check, set()
    )


def test_a_template_that_is_none_is_named_as_every_mail_of_it_would_be_rejected(
    examine: Examine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copytree(FOLDER / "job-alert", tmp_path / "job-alert")
    (tmp_path / "job-alert" / "body.txt").write_text("{{ unsubscribe_url }} {{ item.title")
    monkeypatch.setenv("LEDGERMAIL_MAILINGS", str(tmp_path))
    code, found = examine()
    verdict, said, _ = found["mailings"]
    assert (code, verdict) == (1, "problem")
    assert said.startswith("job-alert/body.txt: unexpected end of template")


def test_every_wrong_setting_is_named_and_what_needs_no_settings_is_looked_at(
    world: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LEDGERMAIL_LOCATION")
    monkeypatch.setenv("LEDGERMAIL_LEASE", "1s")
    monkeypatch.setenv("LEDGERMAIL_PORJECT", "demo")
    assert main(["doctor", "--json"]) == 1
    findings = json.loads(capsys.readouterr().out)["findings"]
    wrong = [finding["said"].partition(":")[0] for finding in findings if finding["verdict"] == "problem"]
    assert wrong == ["LEDGERMAIL_LOCATION", "LEDGERMAIL_PORJECT", "LEDGERMAIL_LEASE"]
    assert [f["check"] for f in findings if f["verdict"] == "ok"] == ["mailings", *["secret"] * OUR_SECRETS]
    unseen = {f["check"]: f["said"] for f in findings if f["verdict"] == "unseen"}
    assert unseen == dict.fromkeys(["firestore", "indexes", "gate", "queues", "sender"], "needs the settings")
