"""A local SMTP relay beside the local SendGrid: the same mailbox, the same faults, the same clock.

Start it with ``emulator.inbox.start()``; it listens on 127.0.0.1 at ``Inbox.smtp_port``, without TLS. Logging in is
optional; who does is ``emulator.inbox.SMTP_USER`` with the SendGrid key as password. A recipient whose address begins
``refuse-NNN`` (``refuse-550@mail.org``) is refused with that code at RCPT.
"""
