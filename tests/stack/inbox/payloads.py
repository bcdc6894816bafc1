"""Payloads as the real sendgrid library builds them."""

from typing import Any

from sendgrid.helpers.mail import CustomArg, Header, Mail


def mail(delivery_id: str = "u_j", *, subject: str = "A job", html: str = "<p>html</p>") -> Mail:
    message = Mail(
        from_email=("jobs@example.com", "Jobs"),
        to_emails=[("ann@mail.org", "Ann")],
        subject=subject,
        plain_text_content="text",
        html_content=html,
    )
    message.add_custom_arg(CustomArg("delivery_id", delivery_id))
    message.add_header(Header("Message-ID", f"<{delivery_id}@example.com>"))
    return message


def payload(delivery_id: str = "u_j", **more: str) -> dict[str, Any]:
    body: dict[str, Any] = mail(delivery_id, **more).get()
    return body
