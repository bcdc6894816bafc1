"""What is deployed: functions/ alone, with its requirements in a clean environment, serves every function.

Nothing here reaches Google: each call is one that is refused before a client is made.
"""

import fnmatch
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from deploy import ROOT, plan
from deploy.target import read
from tests.stack.deploy.serving import end, start, wait_until_served
from tests.unit.deploy.fake_gcloud import flags_of

SOURCE = ROOT / "functions"
EXAMPLE = ROOT / "deploy" / "deploy.example.toml"
BUILT = 315532801  # 1980-01-01T00:00:01Z: the time that every file of an image built by buildpacks bears
KEY = "deployed-key-of-thirty-two-characters"
# A refusal of each, and a call with the wrong method or body: the answers of code that has started and read its settings.
CALLED = (("GET", "", 405), ("POST", "no JSON", 400))
REFUSALS = {
    "deliver": CALLED,
    "scan": CALLED,
    "plan": CALLED,
    "sweep": CALLED,
    "prune": CALLED,
    "status": (("POST", "", 405), ("GET /?runs=all", "", 400)),
    "events": (("GET", "", 405), ("POST", "", 403)),
    "preferences": (("GET", "", 403), ("DELETE", "", 405)),
    "console": (("GET", "", 403), ("DELETE", "", 405)),
    "trigger": (("POST", "", 403), ("DELETE", "", 405), ("POST key", "", 400)),
}


def ignored(folder: str, names: list[str]) -> set[str]:
    """Those of a folder's entries that .gcloudignore keeps out: by name, or by path where a pattern begins with a slash."""
    lines = (SOURCE / ".gcloudignore").read_text("utf-8").splitlines()
    patterns = [line.rstrip("/") for line in lines if line and not line.startswith("#")]
    paths = {name: f"/{(Path(folder) / name).relative_to(SOURCE).as_posix()}" for name in names}
    return {n for n in names for p in patterns if fnmatch.fnmatch(paths[n] if p.startswith("/") else n, p)}


def deploys() -> list[dict[str, list[str]]]:
    """The flags of each function's deploy command."""
    commands = [flags_of(list(step.create or ())) for step in plan.steps(read("my-project-1", "europe-west1", EXAMPLE))]
    return [flags for flags in commands if "function" in flags]


def environments() -> dict[str, dict[str, str]]:
    """What each function is deployed with, as the deploy commands say it."""
    found = {}
    for flags in deploys():
        (name,) = flags["function"]
        variables = dict(pair.split("=", 1) for pair in flags["set-env-vars"])
        mounted = ",".join(flags.get("set-secrets", [])).split(",")
        secrets = {pair.partition("=")[0]: KEY for pair in mounted if pair}
        cloud_run = {"PATH": os.defpath, "K_SERVICE": name, "FUNCTION_TARGET": name}
        found[name] = {**variables, **secrets, **cloud_run}
    return found


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The copied source, and a clean environment beside it with its hashed requirements and nothing else."""
    folder = tmp_path_factory.mktemp("deployed")
    shutil.copytree(SOURCE, folder / "source", ignore=ignored)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "venv")], check=True)
    python, wanted = str(folder / "venv" / "bin" / "python"), str(folder / "source" / "requirements.txt")
    install = ["install", "--quiet", "--require-hashes", "--requirement", wanted]
    by_uv = [str(Path(sys.executable).parent / "uv"), "pip"]  # in seconds where pip takes most of a minute
    by_pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python]
    if subprocess.run([*by_uv, *install, "--python", python, "--compile-bytecode"], check=False).returncode != 0:
        subprocess.run([*by_pip, *install], check=True)  # which alone knows of a mirror that is set for pip
    subprocess.run([*by_uv, "check", "--quiet", "--python", python], check=True)
    build(python, folder / "source")
    return folder


def build(python: str, source: Path) -> None:
    """As Google's builder does: it compiles the source, and all its files then bear the same time."""
    told = dict(pair.split("=", 1) for flags in deploys() for pair in flags["set-build-env-vars"])
    subprocess.run([python, "-m", "compileall", "-f", "-q", "."], check=True, cwd=source, env=os.environ | told)
    for file in source.rglob("*.py"):
        os.utime(file, (BUILT, BUILT))


@pytest.mark.timeout(300)
def test_the_source_alone_serves_every_function(deployed: Path) -> None:
    """Each in a process of its own, with the settings of its deploy command, and answers what it must refuse."""
    framework, source = deployed / "venv" / "bin" / "functions-framework", deployed / "source"
    assert set(REFUSALS) == set(environments())
    processes = {
        name: (*start(name, environment, source, deployed / f"{name}.log", framework), deployed / f"{name}.log")
        for name, environment in environments().items()
    }
    try:
        for name, (process, url, log) in processes.items():
            wait_until_served(process, url, log)
            assert [_answer(url, *refusal[:2]) for refusal in REFUSALS[name]] == [r[2] for r in REFUSALS[name]], name
    finally:
        for process, _, _ in processes.values():
            end(process)


def _answer(url: str, call: str, body: str) -> int:
    method, _, more = call.partition(" ")
    headers, path = ({"X-Ledgermail-Key": KEY}, "") if more == "key" else ({}, more)
    return httpx.request(method, url + path, content=body, headers=headers).status_code


def test_a_cold_start_compiles_nothing(deployed: Path) -> None:
    """What the build compiled is what is imported."""
    python, source = deployed / "venv" / "bin" / "python", deployed / "source"
    modules = [path.relative_to(source).with_suffix("") for path in (source / "ledgermail").rglob("*.py")]
    names = [".".join(module.parts).removesuffix(".__init__") for module in modules]
    command = [str(python), "-v", "-c", f"import {', '.join(names)}"]
    said = subprocess.run(command, check=True, cwd=source, capture_output=True, text=True).stderr
    ours = [line for line in said.splitlines() if str(source) in line]
    assert sum(" matches " in line for line in ours) == len(names)
    assert [line for line in ours if "stale" in line or "wrote" in line or ".py'>" in line] == []


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda env: {n: v for n, v in env.items() if not n.startswith("LEDGERMAIL_")}, "SENDER"),
        (lambda env: env | {"LEDGERMAIL_LEASE": "30s"}, "LEASE"),
        (lambda env: env | {"FIRESTORE_EMULATOR_HOST": "127.0.0.1:1"}, "FIRESTORE_EMULATOR_HOST"),
    ],
)
def test_a_revision_with_bad_settings_never_starts(
    deployed: Path, change: Callable[[dict[str, str]], dict[str, str]], named: str
) -> None:
    """It ends and names what is wrong: Cloud Run then keeps sending requests to the revision before."""
    framework, log = deployed / "venv" / "bin" / "functions-framework", deployed / "refused.log"
    environment = change(environments()["deliver"])
    process, _ = start("deliver", environment, deployed / "source", log, framework)
    try:
        assert process.wait(timeout=60) != 0
    finally:
        process.kill()
        process.wait()
    said = log.read_text()
    assert named in said
    if not [name for name in environment if name.startswith("LEDGERMAIL_")]:
        for missing in ("PROJECT", "LOCATION", "FUNCTION_URL", "TASK_ACCOUNT", "SENDER", "SENDGRID_KEY"):
            assert f"LEDGERMAIL_{missing}: is missing" in said


def test_gcloud_uploads_exactly_the_copied_files() -> None:
    """As the installed gcloud reads .gcloudignore; skipped, visibly, where there is none."""
    if shutil.which("gcloud") is None:
        pytest.skip("gcloud is not installed: .gcloudignore is not compared")
    command = ["gcloud", "meta", "list-files-for-upload", str(SOURCE)]
    listed = subprocess.run(command, capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL)
    kept = set()
    for folder, folders, files in os.walk(SOURCE):
        out = ignored(folder, folders + files)
        folders[:] = [name for name in folders if name not in out]
        kept |= {str((Path(folder) / name).relative_to(SOURCE)) for name in files if name not in out}
    assert set(listed.stdout.split()) == kept
    assert {"main.py", "requirements.txt", "ledgermail/app.py"} <= kept
