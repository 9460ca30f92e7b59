"""Connections to a service for threads, through the HTTP client of the standard library. They are kept for the next requests."""

from __future__ import annotations

import http.client
import os
import select
import socket
import ssl
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager


from bitacora_ledger.bounded_socket import BoundedSocket, BoundedTlsSocket, Bounds
from bitacora_ledger.errors import AnswerLate, ClientError, ConnectFailed, ConnectionBroken
from bitacora_ledger.exchange import Answer, Request, checked_headers, is_ended, refusal, strange
from bitacora_ledger.limits import (
    CONNECT_PATIENCE_S,
    IDLE_S,
    MAX_ANSWER_BYTES,
    MAX_CONNECTIONS,
    MAX_HEAD_BYTES,
    MAX_IDLE_CONNECTIONS,
    RECEIVED_BYTES,
)
from bitacora_ledger.service_url import ServiceUrl
from bitacora_ledger.tls import tls_context
from bitacora_ledger.token import Token

_MOST_BYTES = MAX_HEAD_BYTES + MAX_ANSWER_BYTES


class _Wire(http.client.HTTPConnection):
    """A connection, and since when it is idle."""

    def __init__(self, url: ServiceUrl, tls: ssl.SSLContext | None) -> None:
        host, port = url.host_and_port
        super().__init__(host, port)
        self._url = url
        self._tls = tls
        self._unsent: list[bytes] = []
        self.bounds = Bounds()
        self.idle_since = 0.0

    def connect(self) -> None:
        """Connects, within a time of its own."""
        made: socket.socket
        if self._url.socket is None:
            made = socket.create_connection((self.host, self.port), CONNECT_PATIENCE_S)
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        else:
            made = _unix_socket(self._url.socket)
        if self._tls is None:
            bounded: BoundedSocket | BoundedTlsSocket = BoundedSocket(made)
        else:
            secured = self._tls.wrap_socket(made, server_hostname=self.host)
            assert isinstance(secured, BoundedTlsSocket)
            bounded = secured
        bounded.bounds = self.bounds
        self.sock = bounded

    def send(self, data: bytes) -> None:  # type: ignore[override]
        """Keeps a piece of a request until the last one: head and body are one write."""
        self._unsent.append(data)

    def _send_kept(self) -> None:
        whole = b"".join(self._unsent)
        self._unsent.clear()
        super().send(whole)

    def is_usable(self) -> bool:
        """Returns ``True`` if it was idle for a short time, and nothing came: neither an end nor bytes without a request."""
        if time.monotonic() - self.idle_since > IDLE_S:
            return False
        poll = select.poll()
        poll.register(self.sock, select.POLLIN)
        return not poll.poll(0)

    def send_request(self, request: Request, token: Token | None) -> bool:
        """Sends a request. Returns ``False`` if the service has ended the connection meanwhile: its answer can be there."""
        try:
            self.putrequest(request.method, request.path)
            for name, value in request.headers.items():
                self.putheader(name, value)
            if token is not None:
                self.putheader("authorization", f"Bearer {token.reveal()}")
            if request.body or request.method == "POST":
                self.putheader("content-length", str(len(request.body)))
            self.endheaders(request.body or None)
            self._send_kept()
            return True
        except (BrokenPipeError, ConnectionResetError):
            return False
        except OSError as error:
            # The frames of the library hold what was sent; a report of the error must not show the token.
            failed = error.with_traceback(None)
        raise failed


class HttpPool:
    """Sends requests to one service. Threads share it; a forked process makes connections of its own."""

    def __init__(self, url: ServiceUrl, token: Token | None) -> None:
        self._url = url
        self._token = token
        self._tls = _tls(url) if url.is_encrypted else None
        self._pool = _Pool()

    def exchange(self, request: Request) -> Answer:
        """Sends a request and takes the whole answer, within its patience."""
        deadline = time.monotonic() + request.patience_s
        pool = self._of_process()
        if not pool.room.acquire(timeout=request.patience_s):
            raise ConnectFailed(f"{self._url}: {MAX_CONNECTIONS} requests are on their way already")
        try:
            wire = self._take(pool)
            try:
                answer, is_last = self._ask(wire, request, deadline)
            except BaseException:
                # Also when the thread is interrupted: the answer may still come.
                wire.close()
                raise
            if is_last or len(pool.idle) >= MAX_IDLE_CONNECTIONS:
                wire.close()
            else:
                wire.idle_since = time.monotonic()
                pool.idle.append(wire)
            return answer
        finally:
            pool.room.release()

    @contextmanager
    def stream(self, request: Request) -> Iterator[tuple[Mapping[str, str], Iterator[bytes]]]:
        """Sends a request over a connection of its own, and yields the headers and the pieces of an answer without an end."""
        wire = self._connected()
        try:
            deadline = time.monotonic() + request.patience_s
            response, _ = self._answered(wire, request, deadline)
            headers = checked_headers(response.getheaders())
            if response.status != 200:
                raise refusal(Answer(response.status, headers, self._body(wire, response)))
            yield headers, self._pieces(wire, response, request.patience_s)
        finally:
            wire.close()

    def close(self) -> None:
        """Closes all idle connections."""
        while self._pool.idle:
            try:
                self._pool.idle.pop().close()
            except IndexError:
                return

    def _of_process(self) -> _Pool:
        if self._pool.process != os.getpid():
            # The parent's connections carry its answers.
            self._pool = _Pool()
        return self._pool

    def _take(self, pool: _Pool) -> _Wire:
        while True:
            try:
                wire = pool.idle.pop()
            except IndexError:
                break
            if wire.is_usable():
                return wire
            wire.close()
        return self._connected()

    def _connected(self) -> _Wire:
        wire = _Wire(self._url, self._tls)
        try:
            wire.connect()
        except OSError as error:
            raise ConnectFailed(f"{self._url}: {error or 'no connection'}; is the service running?") from error
        return wire

    def _ask(self, wire: _Wire, request: Request, deadline: float) -> tuple[Answer, bool]:
        response, is_whole = self._answered(wire, request, deadline)
        is_last = response.will_close or not is_whole
        headers = checked_headers(response.getheaders())
        if response.status < 200 or not is_ended(response.status, headers):
            raise self._error(wire, strange())
        return Answer(response.status, headers, self._body(wire, response)), is_last

    def _answered(self, wire: _Wire, request: Request, deadline: float) -> tuple[http.client.HTTPResponse, bool]:
        """Sends a request, and returns the answer once its head is there, and ``False`` if the request was cut."""
        wire.bounds.begin(deadline, _MOST_BYTES)
        try:
            is_whole = wire.send_request(request, self._token)
            response = wire.getresponse()
        except (OSError, http.client.HTTPException) as error:
            raise self._error(wire, error) from error
        if response.headers.defects:
            raise self._error(wire, strange())
        return response, is_whole

    def _body(self, wire: _Wire, response: http.client.HTTPResponse) -> bytes:
        if response.length is not None and response.length > MAX_ANSWER_BYTES:
            raise strange()
        try:
            if not response.chunked:
                return response.read()
            # A whole read would make room for a chunk of any size that is announced.
            body = bytearray()
            while piece := response.read1(RECEIVED_BYTES):
                body += piece
            return bytes(body)
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise self._error(wire, error) from error

    def _pieces(self, wire: _Wire, response: http.client.HTTPResponse, patience_s: float) -> Iterator[bytes]:
        while True:
            wire.bounds.begin(time.monotonic() + patience_s, _MOST_BYTES)
            try:
                piece = response.read1(RECEIVED_BYTES)
            except (OSError, ValueError, http.client.HTTPException) as error:
                raise self._error(wire, error) from error
            if not piece:
                return
            yield piece

    def _error(self, wire: _Wire, error: Exception) -> ClientError:
        """Returns the error of this package. Whatever is not understood of an answer that was cut may be its cut."""
        if isinstance(error, TimeoutError):
            return AnswerLate(f"{self._url}: the answer did not end in time")
        if isinstance(error, OSError) or wire.bounds.has_ended:
            return ConnectionBroken(f"{self._url}: the connection broke: {type(error).__name__}")
        return strange()


class _Pool:
    """The connections of one process."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self.room = threading.BoundedSemaphore(MAX_CONNECTIONS)
        # Appending and popping need no lock.
        self.idle: deque[_Wire] = deque()


def _unix_socket(path: str) -> socket.socket:
    made = socket.socket(socket.AF_UNIX)
    try:
        made.settimeout(CONNECT_PATIENCE_S)
        made.connect(path)
    except BaseException:
        made.close()
        raise
    return made


def _tls(url: ServiceUrl) -> ssl.SSLContext:
    """Returns what verifies a service: the same as for tasks."""
    context = tls_context(url)
    context.sslsocket_class = BoundedTlsSocket
    return context
