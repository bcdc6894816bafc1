"""Deploy firestore.rules through the rules API, unless the project has rules of its own: `python -m deploy.rules FILE`.

gcloud has no command for rules. The API is the one that the Firebase CLI uses: a ruleset is made, then a release is
pointed at it (https://firebase.google.com/docs/reference/rules/rest). The token is gcloud's. Only the standard library is
needed, so that the printed script can call it with any Python 3.11.
"""

import argparse
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

ENDPOINT = "https://firebaserules.googleapis.com"
OVERRIDE = "CLOUDSDK_API_ENDPOINT_OVERRIDES_FIREBASERULES"  # as gcloud names such a variable
SECONDS = 30.0
OTHERS = (
    "The project has rules of its own, which are left as they are. See to it that they keep every client out of the "
    "collections deliveries, runs, state, prunes and audits, and out of users and matches of others."
)


class RulesRefused(Exception):  # what happened
    """The rules API did not do what was asked; the text is its own."""


@dataclass(frozen=True, kw_only=True)
class Rules:
    """The rules of one database, through the API."""

    project: str
    database: str
    token: str
    endpoint: str = ENDPOINT

    @property
    def release(self) -> str:
        """The full name of the release that binds rules to the database."""
        other = "" if self.database == "(default)" else f"/{self.database}"
        return f"projects/{self.project}/releases/cloud.firestore{other}"

    def deploy(self, source: str) -> str:
        """Release this source where nothing is released, and say what was done. Raises RulesRefused."""
        released = self._call("GET", quote(self.release), absent=404)
        if released is not None:
            return "The rules are deployed." if self._source(released["rulesetName"]) == source else OTHERS
        content = {"source": {"files": [{"name": "firestore.rules", "content": source}]}}
        ruleset = self._call("POST", f"projects/{self.project}/rulesets", content)
        assert ruleset is not None
        release = {"name": self.release, "rulesetName": ruleset["name"]}
        self._call("POST", f"projects/{self.project}/releases", release)
        return "The rules are deployed now."

    def _source(self, ruleset: str) -> str:
        kept = self._call("GET", quote(ruleset)) or {}
        return "".join(file["content"] for file in kept["source"]["files"])

    def _call(self, method: str, path: str, body: object = None, absent: int | None = None) -> dict[str, Any] | None:
        """The JSON answer; None for the status that says that it is not there."""
        url = urlsplit(self.endpoint)
        connection = (HTTPConnection if url.scheme == "http" else HTTPSConnection)(url.netloc, timeout=SECONDS)
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        headers["X-Goog-User-Project"] = self.project
        try:
            connection.request(method, f"/v1/{path}", None if body is None else json.dumps(body), headers)
            response = connection.getresponse()
            answer = response.read().decode(errors="replace")
        except (OSError, HTTPException) as error:
            raise RulesRefused(f"{self.endpoint}: {error}") from error
        finally:
            connection.close()
        if response.status == absent:
            return None
        if response.status != 200:
            raise RulesRefused(f"{method} {path}: {response.status} {answer}")
        parsed: dict[str, Any] = json.loads(answer)
        return parsed


def main() -> None:
    """Deploy, or say why not."""
    parser = argparse.ArgumentParser(prog="python -m deploy.rules")
    parser.add_argument("file", type=Path)
    parser.add_argument("--project", required=True)
    parser.add_argument("--database", default="(default)")
    options = parser.parse_args()
    words = ["gcloud", "auth", "print-access-token"]
    asked = subprocess.run(words, capture_output=True, text=True, check=False)  # noqa: S603 # gcloud, as everywhere here
    if asked.returncode != 0:
        sys.exit(asked.stderr.strip())
    token = asked.stdout.strip()
    rules = Rules(
        project=options.project, database=options.database, token=token, endpoint=os.environ.get(OVERRIDE, ENDPOINT)
    )
    try:
        sys.stdout.write(rules.deploy(options.file.read_text("utf-8")) + "\n")
    except RulesRefused as refused:
        sys.exit(str(refused))


if __name__ == "__main__":
    main()
