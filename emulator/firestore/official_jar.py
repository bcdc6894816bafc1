"""Where Google's own emulator is on this machine, and how Java runs it quickly and small."""

import hashlib
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

JAR_VARIABLE = "FIRESTORE_EMULATOR_JAR"
JAR_IN_SDK = Path("platform/cloud-firestore-emulator/cloud-firestore-emulator.jar")
MAIN = "com.google.cloud.datastore.emulator.firestore.CloudFirestore"
# A quarter of the machine's memory is Java's default; half a gigabyte served every load as fast. The simple collector
# and the first compiler start it in 1 s instead of 3.
OPTIONS = ("-Duser.language=en", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


@dataclass(frozen=True)
class Official:
    """The emulator's JAR, a Java to run it, and the class archive (AppCDS) of these two, which may not be there yet."""

    java: Path
    jar: Path
    archive: Path

    def command(self, port: int, rules: Path | None, written: Path) -> list[str]:
        """Return the command that serves on this port; without an archive it writes one to ``written`` as it ends."""
        shared = f"SharedArchiveFile={self.archive}" if self.archive.exists() else f"ArchiveClassesAtExit={written}"
        command = [str(self.java), *OPTIONS, f"-XX:{shared}", "-cp", str(self.jar), MAIN]
        return [*command, "--host", "127.0.0.1", "--port", str(port), *(("--rules", str(rules)) if rules else ())]


def find(env: Mapping[str, str] = os.environ) -> Official | None:
    """Return the emulator of this machine, None without it or without Java on PATH.

    What FIRESTORE_EMULATOR_JAR names; else that of the Cloud SDK whose ``gcloud`` is on PATH, or in a usual place.
    """
    java = shutil.which("java", path=env.get("PATH", ""))
    jar = next((path for path in _jars(env) if path.is_file()), None)
    if java is None or jar is None:
        return None
    return Official(Path(java), jar, _archive(Path(java), jar, env))


def _jars(env: Mapping[str, str]) -> list[Path]:
    if env.get(JAR_VARIABLE):
        return [Path(env[JAR_VARIABLE])]
    gcloud = shutil.which("gcloud", path=env.get("PATH", ""))
    own = [Path(gcloud).resolve().parent.parent] if gcloud else []
    sdks = [*own, Path("/usr/lib/google-cloud-sdk"), _home(env) / "google-cloud-sdk"]
    return [sdk / JAR_IN_SDK for sdk in sdks]


def _archive(java: Path, jar: Path, env: Mapping[str, str]) -> Path:
    """Return where the archive of exactly this Java and this JAR is kept: it serves no other."""
    parts = [(path, path.stat().st_size, path.stat().st_mtime_ns) for path in (java.resolve(), jar.resolve())]
    cache = Path(env["XDG_CACHE_HOME"]) if env.get("XDG_CACHE_HOME") else _home(env) / ".cache"
    return cache / "ledgermail" / f"firestore-{hashlib.sha256(repr(parts).encode()).hexdigest()[:16]}.jsa"


def _home(env: Mapping[str, str]) -> Path:
    return Path(env["HOME"]) if env.get("HOME") else Path.home()
