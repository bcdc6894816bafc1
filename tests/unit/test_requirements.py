"""The hashed requirements files are in step with pyproject.toml: who needs whom is read from what is installed."""

import re
import tomllib
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, requires

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from emulator.process import ROOT

DEPLOYED, DEVELOPED = "functions/requirements.txt", "requirements-dev.txt"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
DEPENDENCIES: list[str] = PROJECT["project"]["dependencies"]
DEV: list[str] = PROJECT["dependency-groups"]["dev"]
HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")


def entries(name: str) -> dict[str, tuple[Requirement, int]]:
    """Each pinned requirement of a file by its name, and how many hashes it has."""
    text = (ROOT / name).read_text("utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    read = [(Requirement(line.split(" --hash")[0].strip()), len(HASH.findall(line))) for line in lines]
    return {canonicalize_name(requirement.name): (requirement, hashes) for requirement, hashes in read}


def reachable(roots: Iterable[str], pinned: Iterable[str]) -> set[str]:
    """What these need, directly or not, as far as it is pinned; on any platform, so a marker counts as met."""
    known, found, open_ = set(pinned), set[str](), [Requirement(root) for root in roots]
    while open_:
        requirement = open_.pop()
        key = f"{canonicalize_name(requirement.name)}[{','.join(sorted(requirement.extras))}]"
        if key not in found and canonicalize_name(requirement.name) in known:
            found.add(key)
            open_ += needs(requirement)
    return {key.partition("[")[0] for key in found}


def needs(requirement: Requirement) -> list[Requirement]:
    """What a package, with these extras, may need somewhere."""
    try:
        declared = [Requirement(line) for line in requires(requirement.name) or []]
    except PackageNotFoundError:  # for another platform
        return []
    return [need for need in declared if _concerns(need, requirement.extras)]


def _concerns(need: Requirement, extras: set[str]) -> bool:
    if need.marker is None or "extra" not in str(need.marker):
        return True
    return any(need.marker.evaluate({"extra": extra}) for extra in extras)


@pytest.mark.parametrize(("name", "wanted"), [(DEPLOYED, DEPENDENCIES), (DEVELOPED, [*DEPENDENCIES, *DEV])])
def test_every_dependency_is_pinned_by_version_and_hash(name: str, wanted: list[str]) -> None:
    pinned = entries(name)
    assert {canonicalize_name(Requirement(line).name) for line in wanted} <= set(pinned)
    loose = [str(requirement) for requirement, _ in pinned.values() if not _is_exact(requirement)]
    assert loose == []
    assert [pinned_name for pinned_name, (_, hashes) in pinned.items() if hashes == 0] == []


def _is_exact(requirement: Requirement) -> bool:
    return [specifier.operator for specifier in requirement.specifier] == ["=="]


@pytest.mark.parametrize(("name", "wanted"), [(DEPLOYED, DEPENDENCIES), (DEVELOPED, [*DEPENDENCIES, *DEV])])
def test_nothing_is_pinned_that_nothing_needs(name: str, wanted: list[str]) -> None:
    pinned = entries(name)
    assert set(pinned) - reachable(wanted, pinned) == set()


def test_what_is_deployed_is_what_was_tested() -> None:
    deployed, developed = entries(DEPLOYED), entries(DEVELOPED)
    versions = {name: str(requirement.specifier) for name, (requirement, _) in deployed.items()}
    assert versions == {name: str(developed[name][0].specifier) for name in deployed if name in developed}


@pytest.mark.parametrize("name", [DEPLOYED, DEVELOPED])
def test_no_index_and_no_host_is_named(name: str) -> None:
    text = (ROOT / name).read_text("utf-8")
    assert not re.search(r"https?://|--(extra-)?index-url|--find-links|--trusted-host", text)
