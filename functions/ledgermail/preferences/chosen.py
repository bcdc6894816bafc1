"""What a user's document says of one mailing: `mailings.<name>`. Pure; what adopters write there may be anything."""

from collections.abc import Mapping
from typing import Any


def preferences_of(user: Mapping[str, Any] | None, mailing: str) -> Mapping[str, Any]:
    """All that it says; nothing where there is no user, or no map."""
    mailings = (user or {}).get("mailings")
    of_one = mailings.get(mailing) if isinstance(mailings, dict) else None
    return of_one if isinstance(of_one, dict) else {}


def wants(user: Mapping[str, Any] | None, mailing: str) -> bool:
    """Whether it says that this mailing is active."""
    return preferences_of(user, mailing).get("active") is True
