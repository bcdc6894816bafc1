"""Batches of events as SendGrid posts and signs them."""

import base64
import time
from dataclasses import dataclass, field
from typing import Any

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from ledgermail.events.signature import SIGNATURE, TIMESTAMP
from tests import samples

AT = int(samples.NOW.timestamp())


def an_event(kind: str = "delivered", **fields: Any) -> dict[str, Any]:
    """An event of the time at which the samples are."""
    return samples.an_event(kind, **{"timestamp": AT, **fields})


@dataclass(frozen=True)
class Signer:
    """A key pair of the provider's."""

    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))

    @property
    def public(self) -> str:
        """The public key as the provider shows it."""
        form = serialization.PublicFormat.SubjectPublicKeyInfo
        return base64.b64encode(self.key.public_key().public_bytes(serialization.Encoding.DER, form)).decode()

    def headers(self, raw: bytes, at: object = None) -> dict[str, str]:
        """What a post of these bytes carries."""
        timestamp = str(int(time.time()) if at is None else at)
        signature = self.key.sign(timestamp.encode() + raw, ec.ECDSA(hashes.SHA256()))
        return {SIGNATURE: base64.b64encode(signature).decode(), TIMESTAMP: timestamp}
