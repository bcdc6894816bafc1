"""An SMTP server of bare sockets that follows a script, for what no real server would say or leave unsaid."""

import socket
import ssl
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import BinaryIO, Literal, NoReturn

from tests.integration.raw_server import resetting_on_close

Action = Literal["cut", "hang", "reset"]
Script = Mapping[str, bytes | Action]

# What a step is answered where the script says nothing of it.
USUAL: Script = {
    "CONNECT": b"220 mail.example ESMTP\r\n",
    "EHLO": b"250-mail.example\r\n250-SIZE 1000000\r\n250 AUTH PLAIN LOGIN\r\n",
    "STARTTLS": b"220 go on\r\n",
    "AUTH": b"235 welcome\r\n",
    "MAIL": b"250 sender ok\r\n",
    "RCPT": b"250 recipient ok\r\n",
    "DATA": b"354 go on\r\n",
    "BODY": b"250 2.0.0 Ok: queued as 4F2\r\n",
    "QUIT": b"221 bye\r\n",
}


@dataclass
class Scripted:
    """Talks with one client at a time; keeps every line and every mail it got, whether or not it said so."""

    script: Script = field(default_factory=dict)
    context: ssl.SSLContext | None = None
    implicit: bool = False
    lines: list[str] = field(default_factory=list)
    mails: list[bytes] = field(default_factory=list)

    def __call__(self, connection: socket.socket) -> None:
        """Hold one conversation."""
        if self.implicit and self.context:
            connection = self.context.wrap_socket(connection, server_side=True)
        with connection:
            self._say(connection, "CONNECT")
            self._talk(connection)

    def commands(self) -> list[str]:
        """The verbs that came, in their order."""
        return [line.split(" ")[0].upper() for line in self.lines]

    def _talk(self, connection: socket.socket) -> None:
        with connection.makefile("rb") as reader:
            while line := reader.readline():
                self.lines.append(line.decode().rstrip("\r\n"))
                verb = self.commands()[-1]
                self._say(connection, f"ARCHIVE {verb}" if self._is_archive(verb) else verb)
                if verb == "STARTTLS" and self.context:
                    with self.context.wrap_socket(connection, server_side=True) as encrypted:
                        self._talk(encrypted)
                    return
                if verb == "DATA" and self._reply("DATA") == USUAL["DATA"]:
                    self._take(connection, reader)

    def _take(self, connection: socket.socket, reader: BinaryIO) -> None:
        mail = b""
        if half := self.script.get("HALF"):
            reader.readline()
            self._act(connection, str(half))
        while (line := reader.readline()) not in {b".\r\n", b""}:
            mail += line.removeprefix(b".")
        self.mails.append(mail)
        self._say(connection, "BODY")

    def _is_archive(self, verb: str) -> bool:
        return verb == "RCPT" and self.commands().count("RCPT") > 1

    def _reply(self, step: str) -> bytes | Action:
        return self.script.get(step, USUAL[step.removeprefix("ARCHIVE ")])

    def _say(self, connection: socket.socket, step: str) -> None:
        reply = self._reply(step)
        if isinstance(reply, str):
            self._act(connection, reply)
        connection.sendall(reply)

    def _act(self, connection: socket.socket, action: str) -> NoReturn:
        if action == "hang":
            with suppress(OSError):
                while connection.recv(65536):
                    pass
        if action == "reset":
            resetting_on_close(connection)
        raise ConnectionAbortedError  # the server closes the connection
