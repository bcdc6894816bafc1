"""Identity: who and what a delivery is about decides its document id, and nothing else does.

`<user_id>_<job_id>` as it stands is ambiguous and can leave its collection: ("a_b", "c") and ("a", "b_c") would meet, and
a job id with two slashes silently addresses a sub-collection. So each part is percent-encoded first, which leaves exactly
one raw `_` in a delivery id.
"""

import hashlib
import re
from urllib.parse import quote, unquote

from ledgermail.errors import InvalidId

PART_BYTES = 200  # an encoded part above this is cut and hashed: two of them stay far below Firestore's 1,500 bytes
CUT_BYTES = 100  # how much of such a part stays readable
DOCUMENT_ID_BYTES = 1500  # Firestore's limit
QUERY_BYTES = 1400  # of a value that is queried for: Firestore refuses longer ones, a little below 1,500
TASK_HASH_CHARS = 32  # of a SHA-256: spreads task names, as Cloud Tasks asks for, and keeps them short
KINDS = {"NoneType": "null", "dict": "map"}  # as those say who write documents, and not Python
DELIVERY_ID = re.compile(r"[A-Za-z0-9.%~-]+_[A-Za-z0-9.%~:-]+")


def encode_part(part: object, field: str) -> str:
    """One part of an id with every UTF-8 byte outside ``A-Z a-z 0-9 . -`` percent-encoded; injective.

    A part whose encoding is over 200 bytes becomes its first 100 bytes, ``~`` and a SHA-256 in hex; a raw ``~`` can come
    from nowhere else. Raises InvalidId, naming `field`, for what is not text, is empty, or holds a lone surrogate.
    """
    if not isinstance(part, str):
        kind = type(part).__name__
        raise InvalidId(f"{field}: must be text, not {KINDS.get(kind, kind)}")
    if not part:
        raise InvalidId(f"{field}: is empty")
    try:
        encoded = quote(part, safe="").replace("_", "%5F").replace("~", "%7E")
    except UnicodeEncodeError as error:
        raise InvalidId(f"{field}: has a lone surrogate at {error.start}") from error
    if len(encoded) <= PART_BYTES:
        return encoded
    return f"{encoded[:CUT_BYTES]}~{hashlib.sha256(part.encode()).hexdigest()}"


def delivery_id(user_id: str, subject: str) -> str:
    """The document id of the one delivery of this job to this user. Raises InvalidId."""
    return f"{encode_part(user_id, 'user_id')}_{encode_part(subject, 'job_id')}"


def run_delivery_id(user_id: str, occasion: str) -> str:
    """The document id of the one delivery of a run's occasion (its encoded parts joined with ``:``) to this user."""
    return f"{encode_part(user_id, 'user_id')}_{occasion}"


def user_of(delivery: str) -> str | None:
    """The user id within a delivery id, or None where it was too long to be kept whole. Raises InvalidId for any other id."""
    if len(delivery) > DOCUMENT_ID_BYTES or not DELIVERY_ID.fullmatch(delivery):
        raise InvalidId("delivery_id: is none that we make")
    encoded = delivery.partition("_")[0]
    return None if "~" in encoded else unquote(encoded)


def user_key(user_id: str) -> str:
    """The document id in `users`, the user id as it stands. Raises InvalidId where it could not be held or asked for."""
    encode_part(user_id, "user_id")
    if "/" in user_id or user_id in {".", ".."} or (user_id.startswith("__") and user_id.endswith("__")):
        raise InvalidId("user_id: cannot be a document id in users")
    if not can_be_asked_for(user_id):
        raise InvalidId(f"user_id: is longer than {QUERY_BYTES} bytes")
    return user_id


def can_be_asked_for(value: str) -> bool:
    """Whether Firestore takes this value in a query."""
    try:
        return len(value.encode()) <= QUERY_BYTES
    except UnicodeEncodeError:  # half a character, which no document can hold either
        return False


def run_key(mailing: str, *parts: str) -> str:
    """The document id of a run: its encoded parts joined with a raw ``:``, which no encoded part contains."""
    return ":".join(encode_part(part, "run") for part in (mailing, *parts))


def task_name(delivery: str, generation: int) -> str:
    """The last segment of a task's name: a hash first, never a counter or a time; a new generation is a new name."""
    return f"{hashlib.sha256(delivery.encode()).hexdigest()[:TASK_HASH_CHARS]}-{generation}"


def shard_of(delivery: str, shards: int) -> int:
    """Which of `shards` index ranges the upkeep of this delivery lies in, from 0."""
    return int.from_bytes(hashlib.sha256(delivery.encode()).digest()[-4:], "big") % shards
