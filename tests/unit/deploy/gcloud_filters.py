"""The few of gcloud's filters and formats that the deployment uses."""

import re
from typing import Any

CLAUSE = re.compile(r'(?P<not>NOT )?(?P<key>[\w.\[\]]+)(?P<op>[=:~])"?(?P<value>[^"]*)"?')


def matching(found: list[Any], flags: dict[str, list[str]]) -> list[Any]:
    """Those that pass --filter."""
    wanted = flags.get("filter", [""])[0]
    clauses = re.split(r" AND ", wanted) if wanted else []
    return [one for one in found if all(_holds(one, clause) for clause in clauses)]


def _holds(one: Any, clause: str) -> bool:
    read = CLAUSE.fullmatch(clause)
    assert read, clause
    held, wanted = value(one, read["key"]), read["value"]
    match read["op"]:
        case "=":
            holds = held.lower() == wanted.lower()
        case ":":
            holds = bool(held) if wanted == "*" else wanted in held
        case _:
            holds = bool(re.search(wanted, held))
    return holds is not bool(read["not"])


def value(one: Any, path: str) -> str:
    """What stands at a path such as name.basename() or fields[0].order; nothing for what is not there."""
    short = path.endswith(".basename()")
    for key in re.findall(r"\w+", path.removesuffix(".basename()")):
        if isinstance(one, list):
            one = one[int(key)] if int(key) < len(one) else None
        else:
            one = one.get(key) if isinstance(one, dict) else None
    text = "" if one is None else str(one)
    return text.rpartition("/")[2] if short else text
