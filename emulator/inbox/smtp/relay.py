"""An SMTP server on loopback: whom it takes mail from and for, then the fault each mail meets at the end of DATA."""

import asyncio
import hmac
import re
import secrets
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from emulator.inbox import SMTP_USER, failing
from emulator.inbox.faults import KEEPING, Fault
from emulator.inbox.shared import Shared
from emulator.inbox.smtp.reading import read

HANGING_AT_ONCE = 64
REFUSED_RECIPIENT = re.compile(r"refuse-([45]\d\d)\b")
REFUSALS = {
    Fault.THROTTLE: "451 4.7.0 Too many messages, try again later",
    Fault.UNAVAILABLE: "421 4.3.2 Service not available, closing transmission channel",
    Fault.SERVER_ERROR: "451 4.3.0 Local error in processing",
    Fault.ERROR_AFTER: "451 4.3.0 Local error in processing",
    Fault.BAD_GATEWAY: "452 4.3.1 Insufficient system storage",
    Fault.UNAUTHORIZED: "530 5.7.0 Authentication required",
    Fault.REFUSE: "550 5.7.1 Message refused",
    Fault.HANG: "421 4.4.2 Timeout, closing transmission channel",
}


class Relay:
    """The server, in a thread of its own. ``port`` is where it listens."""

    def __init__(self, port: int, shared: Shared) -> None:
        self._handler = _Handler(shared)
        self._key = shared.account.key
        self._socket = socket.create_server(("127.0.0.1", port))
        self.port: int = self._socket.getsockname()[1]
        self._loop = asyncio.new_event_loop()
        self._over = asyncio.Event()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=[self._serve()])
        self._thread.start()

    def stop(self) -> None:
        """Hang up on everybody and end. What hangs must have been released."""
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join()
        self._handler.waiting.shutdown()
        self._loop.close()

    async def _serve(self) -> None:
        server = await self._loop.create_server(self._session, sock=self._socket)
        await self._over.wait()
        server.close()
        sessions = asyncio.all_tasks() - {asyncio.current_task()}
        for session in sessions:
            session.cancel()
        await asyncio.gather(*sessions, return_exceptions=True)

    def _session(self) -> SMTP:
        return SMTP(
            self._handler,
            loop=self._loop,
            hostname="localhost",
            ident="local relay",
            authenticator=self._authenticate,
            auth_require_tls=False,
        )

    def _authenticate(
        self, _server: SMTP, _session: Session, _envelope: Envelope, _how: str, who: object
    ) -> AuthResult:
        if not isinstance(who, LoginPassword) or who.login != SMTP_USER.encode():
            return AuthResult(success=False, handled=False)
        return AuthResult(success=hmac.compare_digest(who.password, self._key.encode()), handled=False)


class _Handler:
    """What is answered to MAIL, RCPT and DATA. aiosmtpd finds the methods by their names."""

    def __init__(self, shared: Shared) -> None:
        self._verified = shared.account.verified
        self._mailbox = shared.mailbox
        self._faults = shared.faults
        self._clock = shared.clock
        self.waiting = ThreadPoolExecutor(HANGING_AT_ONCE)

    async def handle_MAIL(  # noqa: N802
        self, _server: SMTP, _session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        email = address.lower()
        if not {email, email.rpartition("@")[2]} & self._verified:
            return self._refused("550 5.7.1 Sender address is not verified")
        envelope.mail_from = address
        envelope.mail_options.extend(options)
        return "250 2.1.0 Sender ok"

    async def handle_RCPT(  # noqa: N802
        self, _server: SMTP, _session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if refused := REFUSED_RECIPIENT.match(address):
            code = refused[1]
            return self._refused(f"{code} {code[0]}.1.1 Recipient refused")
        envelope.rcpt_tos.append(address)
        envelope.rcpt_options.extend(options)
        return "250 2.1.5 Recipient ok"

    async def handle_DATA(self, server: SMTP, _session: Session, envelope: Envelope) -> str:  # noqa: N802
        content, queue_id = envelope.original_content or b"", secrets.token_hex(8)
        mail = read(content, envelope.mail_from or "", envelope.rcpt_tos, queue_id, self._clock.now())
        fault = self._faults.meet(mail.delivery_id or sha256(content).hexdigest())
        if fault is None or fault in KEEPING:
            self._mailbox.keep([mail])
        if fault in (Fault.HANG, Fault.HANG_AFTER):
            await asyncio.get_running_loop().run_in_executor(self.waiting, self._faults.hang)
        if fault in (Fault.CUT, Fault.RESET):
            self._mailbox.count("none", fault)
            _hang_up(server, reset=fault is Fault.RESET)
        answer = f"250 2.0.0 Ok: queued as {queue_id}" if fault in (None, Fault.HANG_AFTER) else REFUSALS[fault]
        self._mailbox.count(answer[:3], fault)
        return answer

    def _refused(self, answer: str) -> str:
        self._mailbox.count(answer[:3], None)
        return answer


def _hang_up(server: SMTP, *, reset: bool) -> None:
    """Close the connection without an answer. Raises CancelledError, by which aiosmtpd ends the session quietly."""
    transport = server.transport
    assert isinstance(transport, asyncio.Transport)
    if reset:
        failing.reset_on_close(transport.get_extra_info("socket"))
    transport.abort()
    raise asyncio.CancelledError
