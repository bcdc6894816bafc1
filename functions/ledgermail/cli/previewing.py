"""The verb preview: writes the mail of sample data to files."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from ledgermail.cli.codes import Code, Failed
from ledgermail.cli.options import Json
from ledgermail.cli.printed import print_json, print_lines
from ledgermail.delivering.content import Rendered
from ledgermail.errors import ConfigurationError, ContentError, InvalidDocument
from ledgermail.mailing import load
from ledgermail.settings import FOLDER

SAMPLE = "sample.json"  # in a mailing's folder: the data of its preview


def preview(
    mailing: Annotated[str, typer.Argument(help="The name of its folder.")],
    data: Annotated[
        Path | None, typer.Option(help=f"JSON of items, and perhaps total, user, period, report; else its {SAMPLE}.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The folder to write to; else preview/<mailing>.")] = None,
    mailings: Annotated[Path, typer.Option(help="The folder with a folder for each mailing.")] = FOLDER,
    as_json: Json = False,
) -> None:
    """Write the mail of sample data to files: 1 when the mailing is at fault, 2 when the data are."""
    try:
        paths = _preview(mailing, mailings, data, out or Path("preview", mailing))
    except ConfigurationError as error:
        raise Failed(Code.PROBLEM, error.problems) from error
    except ContentError as error:
        raise Failed(Code.PROBLEM, [str(error)]) from error
    except (InvalidDocument, OSError) as error:
        raise Failed(Code.USAGE, [str(error)]) from error
    if as_json:
        print_json({"files": [str(path) for path in paths]})
    else:
        print_lines(*map(str, paths))


VERBS = (preview,)


def _preview(name: str, folder: Path, data: Path | None, out: Path) -> list[Path]:
    from ledgermail.delivering.preview import preview

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
