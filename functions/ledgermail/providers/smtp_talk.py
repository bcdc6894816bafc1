"""One conversation with an SMTP server, step by step, of which it is always known how far it has come."""

import contextlib
import functools
import smtplib
import socket
import ssl
import threading
from collections.abc import Callable, Sequence
from typing import Any

from ledgermail.providers.smtp_outcomes import Step
from ledgermail.settings import Settings, SmtpTls
from ledgermail.trust import authorities

CONNECT_SECONDS = 5.0
QUIT_SECONDS = 1.0  # for the goodbye, which changes nothing
# RFC 5321, 4.2 and RFC 4954: what lets the next step come.
READY, DONE, SEND_IT, LOGGED_IN = (frozenset(codes) for codes in ((220,), (250, 251, 252), (354,), (235, 503)))


class Refusal(Exception):  # it is no error of ours
    """The server said no: its code, and its words."""

    def __init__(self, code: int, words: bytes | str) -> None:
        super().__init__(str(code))
        self.code = code
        self.words = words if isinstance(words, str) else words.decode(errors="replace")


class Talk:
    """A conversation, to be used in a `with`. It ends in time as a whole, however slowly the server drips.

    Every step raises Refusal, OSError, smtplib.SMTPException or ValueError; `step` is the one that it had come to.
    """

    def __init__(self, settings: Settings, context: ssl.SSLContext | None = None) -> None:
        """`context` holds the authorities to trust, by default certifi's."""
        self._settings = settings
        self._context = context
        self._seconds = settings.provider_timeout.total_seconds()
        self._smtp = smtplib.SMTP(local_hostname=settings.sender.rpartition("@")[2])
        self._watch = threading.Timer(self._seconds, self._cut)
        self._watch.daemon = True
        self.step = Step.CONNECT
        self.over = threading.Event()

    def __enter__(self) -> "Talk":
        self._watch.start()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Say goodbye, where that still goes: what was said before counts, whatever becomes of it."""
        with contextlib.suppress(OSError):
            if self._smtp.sock is not None and (error is None or isinstance(error, Refusal)):
                self._smtp.sock.settimeout(QUIT_SECONDS)
                self._smtp.quit()
        self._watch.cancel()
        self._smtp.close()

    def open(self) -> None:
        """Connect, greet, encrypt and log in, as the settings say."""
        settings, smtp = self._settings, self._smtp
        seconds = min(CONNECT_SECONDS, self._seconds)
        self._go_on(socket.create_connection((settings.smtp_host, settings.smtp_port), seconds))
        if settings.smtp_tls is SmtpTls.IMPLICIT:
            self._encrypt()
        self._take(Step.GREETING, READY, smtp.getreply)
        self._take(Step.EHLO, DONE, smtp.ehlo)
        if settings.smtp_tls is SmtpTls.STARTTLS:
            self._take(Step.STARTTLS, READY, lambda: smtp.docmd("STARTTLS"))
            self._encrypt()
            self._take(Step.EHLO, DONE, smtp.ehlo)  # what was said in the open, anybody could have said
        if settings.smtp_user:
            self._take(Step.AUTH, LOGGED_IN, self._log_in)

    def write_as(self, sender: str, size: int = 0) -> None:
        """Name who writes, and how much."""
        options = [f"size={size}"] if size and self._smtp.has_extn("size") else []
        self._take(Step.MAIL, DONE, lambda: self._smtp.mail(sender, options))

    def write_to(self, recipient: str, archive: Sequence[str]) -> None:
        """Name to whom, and who gets a copy."""
        self._take(Step.RCPT, DONE, lambda: self._smtp.rcpt(recipient))
        for address in archive:
            self._take(Step.ARCHIVE, DONE, functools.partial(self._smtp.rcpt, address))

    def hand_over(self, mail: bytes) -> str:
        """The mail, with lines that end in CRLF. Returns the server's words for it."""
        self._take(Step.DATA, SEND_IT, lambda: self._smtp.docmd("DATA"))
        self.step = Step.BODY
        self._smtp.send(_stuffed(mail))
        return self._take(Step.BODY, DONE, self._smtp.getreply)

    def _take(self, step: Step, good: frozenset[int], ask: Callable[[], tuple[int, bytes]]) -> str:
        self.step = step
        code, words = ask()
        if code not in good:
            raise Refusal(code, words)
        return words.decode(errors="replace")

    def _log_in(self) -> tuple[int, bytes]:
        """By the first way that both know. smtplib's own login goes on to the next after a refusal, on a connection that
        may be closed by then.
        """
        smtp = self._smtp
        smtp.user, smtp.password = self._settings.smtp_user, self._settings.secrets["SMTP_PASSWORD"]
        ways: dict[str, Any] = {"PLAIN": smtp.auth_plain, "LOGIN": smtp.auth_login, "CRAM-MD5": smtp.auth_cram_md5}
        offered = smtp.esmtp_features.get("auth", "").upper().split()
        for name in ways:
            if name in offered:
                try:
                    return smtp.auth(name, ways[name])
                except smtplib.SMTPAuthenticationError as error:
                    raise Refusal(error.smtp_code, error.smtp_error) from error
        raise smtplib.SMTPNotSupportedError

    def _encrypt(self) -> None:
        """From here on with TLS, and as if nothing had been said. The handshake comes when the watch can see it."""
        if self._smtp.sock is None:
            raise smtplib.SMTPServerDisconnected
        context = self._context or authorities()
        host = self._settings.smtp_host
        sock = context.wrap_socket(self._smtp.sock, server_hostname=host, do_handshake_on_connect=False)
        self._go_on(sock)
        sock.do_handshake()

    def _go_on(self, sock: socket.socket) -> None:
        """Talk over this from now on."""
        sock.settimeout(2 * self._seconds)  # the watch is the limit
        self._smtp.sock, self._smtp.file = sock, None
        if self.over.is_set():
            raise TimeoutError

    def _cut(self) -> None:
        """The time is over: whoever reads or writes now gets an error."""
        self.over.set()
        if self._smtp.sock is not None:
            with contextlib.suppress(OSError):
                socket.socket.shutdown(self._smtp.sock, socket.SHUT_RDWR)  # that of TLS would take it from the reader


def _stuffed(mail: bytes) -> bytes:
    """The mail as DATA takes it: a dot before each that begins a line, and one alone at the end (RFC 5321, 4.5.2)."""
    return (b"\r\n" + mail).replace(b"\r\n.", b"\r\n..")[2:].removesuffix(b"\r\n") + b"\r\n.\r\n"
