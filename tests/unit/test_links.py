"""The link in every mail: its token names a user and a mailing, and nobody else can make one."""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledgermail.errors import ConfigurationError, InvalidToken
from ledgermail.preferences.links import Links, Subscription

OLD, NEW, NEWER = ("key-number-%d-of-more-than-32-characters" % number for number in range(3))  # noqa: UP031


def links(*keys: str, function_url: str = "https://{function}.example.com") -> Links:
    return Links(function_url=function_url, keys=keys or (NEW,))


def token_of(links: Links, user_id: str = "u1", mailing: str = "job-alert") -> str:
    return links.url(user_id, mailing).partition("?token=")[2]


def test_a_link_leads_to_the_preferences_with_a_path_of_its_own() -> None:
    assert links().url("u1", "job-alert").startswith("https://preferences.example.com/?token=")
    local = links(function_url="http://127.0.0.1:8080/{function}")
    assert local.url("u1", "job-alert").startswith("http://127.0.0.1:8080/preferences?token=")


def test_a_link_is_the_same_at_every_attempt_and_another_for_another_mailing_or_user() -> None:
    assert links().url("u1", "job-alert") == links().url("u1", "job-alert")
    others = {token_of(links(), *who) for who in (("u1", "job-alert"), ("u1", "weekly-digest"), ("u2", "job-alert"))}
    assert len(others) == 3


@given(user_id=st.text(min_size=1, max_size=1500), mailing=st.text(min_size=1, max_size=50))
def test_whatever_the_user_and_the_mailing_their_token_names_them_and_needs_no_escaping(
    user_id: str, mailing: str
) -> None:
    token = token_of(links(), user_id, mailing)
    assert links().read(token) == Subscription(user_id, mailing)
    assert set(token) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")


def test_after_a_rotation_links_of_old_mails_still_work_and_new_ones_have_the_new_key() -> None:
    old = token_of(links(OLD))
    rotated = links(NEWER, NEW, OLD)
    assert rotated.read(old) == Subscription("u1", "job-alert")
    assert token_of(rotated) == token_of(links(NEWER))
    with pytest.raises(InvalidToken):
        links(NEWER).read(old)


@pytest.mark.parametrize("place", range(0, 60, 3))
def test_a_token_that_was_changed_anywhere_is_refused(place: int) -> None:
    token = token_of(links())
    changed = token[:place] + ("A" if token[place] != "A" else "B") + token[place + 1 :]
    with pytest.raises(InvalidToken):
        links().read(changed)


def _unsigned(content: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(content).encode()).decode().rstrip("=")


@pytest.mark.parametrize(
    "token",
    ["", ".", "x", "x.y", ".x", "ü.ß", "\ud800", "a" * 100_000, _unsigned(["u1", "job-alert"]), "%00", "../.."],
)
def test_what_we_have_not_signed_is_refused_by_name(token: str) -> None:
    with pytest.raises(InvalidToken, match=r"^token: "):
        links().read(token)


@pytest.mark.parametrize("content", [[], ["u1"], ["u1", 5], ["u1", "a", "b"], {"u1": "a"}, "u1", None])
def test_what_we_have_signed_for_something_else_is_refused(content: object) -> None:
    with pytest.raises(InvalidToken, match="does not name a user and a mailing"):
        links().read(links()._signer.sign(content))


@pytest.mark.parametrize("keys", [(), ("",), (NEW, "")])
def test_without_a_key_there_are_no_links(keys: tuple[str, ...]) -> None:
    with pytest.raises(ConfigurationError, match="LEDGERMAIL_TOKEN_KEY: is missing"):
        Links(function_url="https://example.com/{function}", keys=keys)
