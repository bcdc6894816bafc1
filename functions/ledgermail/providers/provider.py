"""The edge to whoever takes our mail. Each provider has the same three methods: prepare, send, close."""

from typing import assert_never

from ledgermail.clock import Clock
from ledgermail.providers.provider_resend import Resend
from ledgermail.providers.provider_sendgrid import SendGrid
from ledgermail.providers.provider_smtp import Smtp
from ledgermail.settings import Provider, Settings

AnyProvider = SendGrid | Resend | Smtp


def provider_of(settings: Settings, clock: Clock) -> AnyProvider:
    """The provider that the settings name."""
    match settings.provider:
        case Provider.SENDGRID:
            return SendGrid(settings, clock)
        case Provider.RESEND:
            return Resend(settings, clock)
        case Provider.SMTP:
            return Smtp(settings, clock)
    assert_never(settings.provider)
