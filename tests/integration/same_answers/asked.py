"""What is asked of a Firestore, as plain values: the same question can be put to two of them and printed."""

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Ref:
    """A reference to a document, as a value."""

    path: str


@dataclass(frozen=True)
class Transform:
    """A field transform: one of the client's classes, by name."""

    kind: Literal["Increment", "Maximum", "Minimum", "ArrayUnion", "ArrayRemove", "SERVER_TIMESTAMP", "DELETE_FIELD"]
    value: Any = None


@dataclass(frozen=True)
class Write:
    """One write. ``when`` is a precondition of update and delete: the document exists, is unchanged, was changed."""

    verb: Literal["create", "set", "merge", "merge_fields", "update", "delete"]
    path: str
    data: Any = None
    fields: tuple[str, ...] = ()
    when: Literal["", "exists", "unchanged", "stale"] = ""


@dataclass(frozen=True)
class Batch:
    """Writes that succeed or fail together, or each by itself."""

    writes: tuple[Write, ...]
    apart: bool = False


@dataclass(frozen=True)
class Comparison:
    """A field compared with a value."""

    field: str
    op: str
    value: Any


@dataclass(frozen=True)
class Both:
    """Filters joined by AND or OR."""

    op: Literal["AND", "OR"]
    filters: tuple[Any, ...]


@dataclass(frozen=True)
class Cursor:
    """Where the results begin or end, by the client's method name, with a value for each of the first orders."""

    method: Literal["start_at", "start_after", "end_at", "end_before"]
    values: tuple[Any, ...]


@dataclass(frozen=True)
class Query:
    """A query of a collection, or of all collections of that name."""

    collection: str
    group: bool
    where: Comparison | Both | None = None
    orders: tuple[tuple[str, str], ...] = ()
    cursors: tuple[Cursor, ...] = ()
    limit: int | None = None
    last: bool = False
    offset: int | None = None
    select: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Aggregation:
    """Numbers over a query's results: ("count" | "sum" | "avg", field)."""

    query: Query
    numbers: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Transaction:
    """Reads, then writes, then commit or rollback."""

    reads: tuple[str | Query, ...]
    writes: tuple[Write, ...]
    read_only: bool = False
    rolled_back: bool = False


@dataclass(frozen=True)
class Listing:
    """The documents of a collection with the missing ones that have something below, and each one's collections."""

    collection: str


Request = Write | Batch | Query | Aggregation | Transaction | Listing
