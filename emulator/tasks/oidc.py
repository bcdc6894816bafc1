"""OIDC tokens for the target, signed with a key made at start, and the certificates that verify them."""

import base64
import time

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from google.auth import crypt, jwt

ISSUER = "https://accounts.google.com"
_LIFETIME = 3600  # seconds
_RENEW_BEFORE = 600  # seconds; a token is used again until so little of it is left
_KEY_ID = "local-cloud-tasks"


class TokenSigner:
    """Makes the tokens that Cloud Tasks attaches for an OidcToken; signing costs milliseconds, so they are kept.

    Tokens carry real time, not this server's clock: whoever verifies them looks at a real clock.
    """

    def __init__(self, pem: str = "") -> None:
        """With a key of its own, or with one that an earlier signer had."""
        self._key = _read_key(pem) if pem else rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self._signer = crypt.RSASigner(self._key, _KEY_ID)  # type: ignore[no-untyped-call]
        self._tokens: dict[tuple[str, str], tuple[str, float]] = {}

    def pem(self) -> str:
        """The private key, for a signer that goes on where this one has ended."""
        encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
        return self._key.private_bytes(encoding, form, serialization.NoEncryption()).decode()

    def token(self, account: str, audience: str) -> str:
        """A token of that service account for that audience, valid for at least ten more minutes."""
        token, until = self._tokens.get((account, audience), ("", 0.0))
        if until < time.time() + _RENEW_BEFORE:
            token, until = self._sign(account, audience)
            self._tokens[account, audience] = token, until
        return token

    def certs(self) -> dict[str, str]:
        """Key id to public key in PEM: what google.oauth2.id_token.verify_token reads from its certs_url."""
        pem = self._key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        return {_KEY_ID: pem.decode()}

    def jwks(self) -> dict[str, list[dict[str, str]]]:
        """The same key as a JSON Web Key Set (RFC 7517), for verifiers that want that."""
        numbers = self._key.public_key().public_numbers()
        key = {"kty": "RSA", "alg": "RS256", "use": "sig", "kid": _KEY_ID}
        return {"keys": [key | {"n": _base64url(numbers.n), "e": _base64url(numbers.e)}]}

    def _sign(self, account: str, audience: str) -> tuple[str, float]:
        now = int(time.time())
        claims = {
            "iss": ISSUER,
            "aud": audience,
            "azp": account,
            "sub": account,
            "email": account,
            "email_verified": True,
            "iat": now,
            "exp": now + _LIFETIME,
        }
        token: bytes = jwt.encode(self._signer, claims)  # type: ignore[no-untyped-call]
        return token.decode(), now + _LIFETIME


def _read_key(pem: str) -> rsa.RSAPrivateKey:
    key = serialization.load_pem_private_key(pem.encode(), password=None)
    assert isinstance(key, rsa.RSAPrivateKey)
    return key


def _base64url(number: int) -> str:
    data = number.to_bytes((number.bit_length() + 7) // 8, "big")
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
