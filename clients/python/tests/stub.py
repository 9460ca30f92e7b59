"""A server that says anything, or nothing."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

Script = Callable[[int, bytes], bytes | Iterable[bytes] | None]
"""What it answers to the request of this number, at once or in pieces; ``None`` is nothing at all, for as long as the client
waits, and an empty answer ends the connection."""


def answer(status: int, body: object, *headers: str, kind: str = "application/json") -> bytes:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} X", f"content-type: {kind}", f"content-length: {len(data)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + data


def problem(code: str, status: int, *, retryable: bool, side_effects: str = "none") -> bytes:
    members = {
        "type": f"urn:bitacora:problem:{code}", "title": code, "status": status, "detail": "why",
        "code": code, "retryable": retryable, "sideEffects": side_effects,
    }  # fmt: skip
    return answer(status, members)


class Stub:
    """A server on a free port. It keeps the requests that it got."""

    def __init__(self, script: Script, tls: ssl.SSLContext | None = None) -> None:
        self.requests: list[bytes] = []
        self.connections = 0
        self._script = script
        self._tls = tls
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http{'s' if self._tls else ''}://127.0.0.1:{self._socket.getsockname()[1]}"

    def close(self) -> None:
        self._socket.close()
        for one in self._open:
            one.close()

    def drop(self) -> None:
        """Ends the connections that are open."""
        for one in self._open:
            one.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.connections += 1
            self._open.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        unread = b""
        try:
            if self._tls:
                connection = self._tls.wrap_socket(connection, server_side=True)
            while piece := connection.recv(65_536):
                unread += piece
                head, end, rest = unread.partition(b"\r\n\r\n")
                length = 0
                for line in head.lower().split(b"\r\n"):
                    if line.startswith(b"content-length:"):
                        length = int(line.partition(b":")[2])
                if not end or len(rest) < length:
                    continue
                self.requests.append(unread)
                unread = b""
                said = self._script(len(self.requests), self.requests[-1])
                if said is None:
                    continue
                if said == b"":
                    connection.shutdown(socket.SHUT_RDWR)
                    return
                for one in [said] if isinstance(said, bytes) else said:
                    connection.sendall(one)
        except OSError:
            connection.close()


@contextmanager
def stub(script: Script, tls: ssl.SSLContext | None = None) -> Iterator[Stub]:
    made = Stub(script, tls)
    try:
        yield made
    finally:
        made.close()
