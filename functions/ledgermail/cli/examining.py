"""The verb doctor: looks at everything a deployment rests on, and says of each what is wrong and what to do."""

import os
from dataclasses import asdict

import typer

from ledgermail.cli.codes import Code
from ledgermail.cli.options import Json
from ledgermail.cli.printed import print_json, print_lines
from ledgermail.doctor.finding import Verdict


def doctor(as_json: Json = False) -> None:
    """Say what is wrong with a deployment, and what to do. Nothing is changed or sent. Ends with 1 when something is."""
    from ledgermail.doctor.doctor import examine

    findings = examine(os.environ)
    well = all(finding.verdict is not Verdict.PROBLEM for finding in findings)
    if as_json:
        print_json({"well": well, "findings": [asdict(finding) for finding in findings]})
    else:
        print_lines(*(finding.line for finding in findings))
    if not well:
        raise typer.Exit(Code.PROBLEM)


VERBS = (doctor,)
