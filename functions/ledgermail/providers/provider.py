"""The edge to whoever takes our mail. Each provider has the same three methods: prepare, send, close."""

from typing import TYPE_CHECKING, assert_never

from ledgermail.clock import Clock
from ledgermail.settings import Provider, Settings

if TYPE_CHECKING:
    from ledgermail.providers.provider_resend import Resend
    from ledgermail.providers.provider_sendgrid import SendGrid
    from ledgermail.providers.provider_smtp import Smtp

    AnyProvider = SendGrid | Resend | Smtp


def provider_of(settings: Settings, clock: Clock) -> "AnyProvider":
    """The provider that the settings name; its libraries alone are imported."""
    match settings.provider:
        case Provider.SENDGRID:
            from ledgermail.providers.provider_sendgrid import SendGrid

            return SendGrid(settings, clock)
        case Provider.RESEND:
            from ledgermail.providers.provider_resend import Resend

            return Resend(settings, clock)
        case Provider.SMTP:
            from ledgermail.providers.provider_smtp import Smtp

            return Smtp(settings, clock)
    assert_never(settings.provider)
