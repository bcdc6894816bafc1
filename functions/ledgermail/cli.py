"""The command line: `python -m ledgermail.cli preview <mailing>` writes the mail of sample data to files, `doctor` looks at a
deployment from inside.
"""

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from ledgermail.content import Rendered
from ledgermail.errors import ConfigurationError, ContentError, InvalidDocument
from ledgermail.finding import Verdict
from ledgermail.mailing import load
from ledgermail.preview import preview
from ledgermail.settings import FOLDER

SAMPLE = "sample.json"  # in a mailing's folder: the data of its preview
MAILING_AT_FAULT, CALL_AT_FAULT = 1, 2
PREVIEW_CODES = (
    "exit code: 0 written; 1 a mailing's declaration, template or column is at fault; 2 the arguments or the data are"
)
SOMETHING_WRONG = 1
DOCTOR_CODES = "exit code: 0 all is well; 1 something is not; 2 the arguments are at fault. Nothing is changed or sent."


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the arguments ask. Returns the exit code; standard error says what was at fault."""
    asked = _parser().parse_args(arguments)
    code: int = asked.act(asked)
    return code


def _preview_to_files(asked: argparse.Namespace) -> int:
    try:
        paths = _preview(asked.mailing, asked.mailings, asked.data, asked.out or Path("preview", asked.mailing))
    except ConfigurationError as error:
        return _say(error.problems, MAILING_AT_FAULT)
    except ContentError as error:
        return _say([str(error)], MAILING_AT_FAULT)
    except (InvalidDocument, OSError) as error:
        return _say([str(error)], CALL_AT_FAULT)
    sys.stdout.writelines(f"{path}\n" for path in paths)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="ledgermail", epilog="each verb tells its exit codes: ledgermail <verb> --help"
    )
    verbs = parser.add_subparsers(required=True, metavar="verb")
    verb = verbs.add_parser("preview", help="write the mail of sample data to files", epilog=PREVIEW_CODES)
    verb.add_argument("mailing", help="the name of its folder")
    verb.add_argument(
        "--data", type=Path, help=f"JSON of items, and perhaps total, user, period, report; else its {SAMPLE}"
    )
    verb.add_argument("--out", type=Path, help="the folder to write to; else preview/<mailing>")
    verb.add_argument("--mailings", type=Path, default=FOLDER, help="the folder with a folder for each mailing")
    verb.set_defaults(act=_preview_to_files)
    verb = verbs.add_parser("doctor", help="say what is wrong with a deployment, and what to do", epilog=DOCTOR_CODES)
    verb.add_argument("--json", action="store_true", help="print one JSON object instead of a line for each thing")
    verb.set_defaults(act=_doctor)
    return parser


def _doctor(asked: argparse.Namespace) -> int:
    from ledgermail.doctor import examine

    findings = examine(os.environ)
    well = all(finding.verdict is not Verdict.PROBLEM for finding in findings)
    if asked.json:
        told = {"well": well, "findings": [asdict(finding) for finding in findings]}
        sys.stdout.write(f"{json.dumps(told, indent=2)}\n")
    else:
        sys.stdout.writelines(f"{finding.line}\n" for finding in findings)
    return 0 if well else SOMETHING_WRONG


def _preview(name: str, folder: Path, data: Path | None, out: Path) -> list[Path]:
    mailings = load(folder)
    if name not in mailings:
        raise InvalidDocument(f"there is no mailing {name!r}; there are {', '.join(mailings)}")
    source = data or folder / name / SAMPLE
    try:
        rendered = preview(mailings[name], json.loads(source.read_text("utf-8")))
    except FileNotFoundError as error:
        raise InvalidDocument(f"{source}: is missing; name a file with --data") from error
    except (InvalidDocument, ValueError) as error:  # not of the shape that is asked for; no JSON, no UTF-8
        raise InvalidDocument(f"{source}: {error}") from error
    return _write(_files(rendered), out)


def _files(rendered: Rendered) -> Mapping[str, bytes]:
    texts = {"subject.txt": f"{rendered.subject}\n", "body.html": rendered.html, "body.txt": rendered.text}
    files = {name: text.encode() for name, text in texts.items()}
    if rendered.attachment:
        files[rendered.attachment.name] = rendered.attachment.content
    return files


def _write(files: Mapping[str, bytes], out: Path) -> list[Path]:
    out.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (out / name).write_bytes(content)
    return [out / name for name in files]


def _say(problems: Sequence[str], code: int) -> int:
    sys.stderr.writelines(f"ledgermail: {problem}\n" for problem in problems)
    return code


if __name__ == "__main__":
    sys.exit(main())
