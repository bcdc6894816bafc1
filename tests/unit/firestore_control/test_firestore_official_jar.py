"""Where the official emulator is looked for."""

from pathlib import Path

import pytest

from emulator.firestore.official_jar import JAR_IN_SDK, find


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def jar(tmp_path: Path) -> Path:
    path = tmp_path / "sdk" / JAR_IN_SDK
    path.parent.mkdir(parents=True)
    path.write_bytes(b"jar")
    return path


@pytest.fixture
def java(tmp_path: Path) -> Path:
    return program(tmp_path / "bin" / "java")


def test_the_jar_of_the_gcloud_on_path_is_found_through_its_link(tmp_path: Path, jar: Path, java: Path) -> None:
    (java.parent / "gcloud").symlink_to(program(tmp_path / "sdk" / "bin" / "gcloud"))
    found = find({"PATH": str(java.parent), "HOME": str(tmp_path)})
    assert found
    assert (found.java, found.jar) == (java, jar)


def test_a_jar_that_is_named_comes_before_any_other(tmp_path: Path, jar: Path, java: Path) -> None:
    (java.parent / "gcloud").symlink_to(program(tmp_path / "sdk" / "bin" / "gcloud"))
    named = tmp_path / "named.jar"
    named.touch()
    found = find({"PATH": str(java.parent), "HOME": str(tmp_path), "FIRESTORE_EMULATOR_JAR": str(named)})
    assert found
    assert found.jar == named


def test_a_named_jar_that_is_not_there_is_not_replaced_by_another(tmp_path: Path, jar: Path, java: Path) -> None:
    (java.parent / "gcloud").symlink_to(program(tmp_path / "sdk" / "bin" / "gcloud"))
    assert find({"PATH": str(java.parent), "FIRESTORE_EMULATOR_JAR": str(tmp_path / "none.jar")}) is None


def test_without_java_there_is_none(tmp_path: Path, jar: Path) -> None:
    assert find({"PATH": str(tmp_path), "FIRESTORE_EMULATOR_JAR": str(jar)}) is None


def test_another_java_or_jar_has_another_archive(tmp_path: Path, jar: Path, java: Path) -> None:
    env = {"PATH": str(java.parent), "HOME": str(tmp_path), "FIRESTORE_EMULATOR_JAR": str(jar)}
    first = find(env)
    jar.write_bytes(b"a newer jar")
    second = find(env)
    java.write_text("#!/bin/sh\nexit 1\n")
    third = find(env)
    assert first
    assert second
    assert third
    assert len({first.archive, second.archive, third.archive}) == 3


def test_the_archive_is_kept_in_the_users_cache(tmp_path: Path, jar: Path, java: Path) -> None:
    env = {"PATH": str(java.parent), "HOME": str(tmp_path), "FIRESTORE_EMULATOR_JAR": str(jar)}
    at_home, elsewhere = find(env), find({**env, "XDG_CACHE_HOME": str(tmp_path / "cache")})
    assert at_home
    assert elsewhere
    assert at_home.archive.parent == tmp_path / ".cache" / "ledgermail"
    assert elsewhere.archive.parent == tmp_path / "cache" / "ledgermail"


def test_an_archive_that_is_there_is_used_and_otherwise_written(tmp_path: Path, jar: Path, java: Path) -> None:
    found = find({"PATH": str(java.parent), "HOME": str(tmp_path), "FIRESTORE_EMULATOR_JAR": str(jar)})
    assert found
    written = tmp_path / "written"
    assert f"-XX:ArchiveClassesAtExit={written}" in found.command(1, None, written)
    found.archive.parent.mkdir(parents=True)
    found.archive.touch()
    assert f"-XX:SharedArchiveFile={found.archive}" in found.command(1, None, written)
