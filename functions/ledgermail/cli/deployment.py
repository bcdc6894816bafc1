"""Which deployment a verb is about: settings from the environment, or first from a file, as the functions have them."""

import os
import shlex
from collections.abc import Mapping
from pathlib import Path

from ledgermail import app
from ledgermail.app import App
from ledgermail.cli.codes import Code, Failed
from ledgermail.errors import ConfigurationError

LOCAL = Path(__file__).resolve().parents[3] / ".local-cloud.env"  # what `make up` writes as long as it runs
START = "start it with `make up`, and leave it running"
CREDENTIALS = "no credentials of Google's: gcloud auth application-default login"


def use(file: Path) -> None:
    """Take variables from a file of NAME=VALUE lines, quoted as for a shell. Raises Failed, which names the line."""
    os.environ.update(_read(file))


def deployment() -> App:
    """The parts, by the settings there are. Raises ConfigurationError naming all that is wrong."""
    from google.auth.exceptions import GoogleAuthError

    made = app.from_environment(os.environ)
    try:
        _ = made.client
    except GoogleAuthError as error:
        raise ConfigurationError([CREDENTIALS]) from error
    return made


def _read(file: Path) -> Mapping[str, str]:
    try:
        lines = file.read_text("utf-8").splitlines()
    except FileNotFoundError as error:
        if file == LOCAL:
            raise Failed(Code.UNUSABLE, [f"no local cloud runs: {START}"]) from error
        raise Failed(Code.USAGE, [f"{file}: is missing"]) from error
    except (OSError, UnicodeDecodeError) as error:
        raise Failed(Code.USAGE, [f"{file}: {error}"]) from error
    found: dict[str, str] = {}
    for number, line in enumerate(lines, start=1):
        try:
            words = [word for word in shlex.split(line, comments=True) if word != "export"]
        except ValueError as error:
            raise Failed(Code.USAGE, [f"{file}:{number}: {error}"]) from error
        if len(words) > 1 or not all("=" in word for word in words):
            raise Failed(Code.USAGE, [f"{file}:{number}: must be NAME=VALUE"])
        found |= {name: value for name, _, value in (word.partition("=") for word in words)}
    return found
