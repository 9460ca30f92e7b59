"""Connections to a service over TCP or a Unix socket that are kept for the next requests, for threads."""

from __future__ import annotations

import os
import select
import socket
import threading
import time
from collections import deque
from collections.abc import Callable

from bitacora.errors import AnswerLate, ConnectFailed, ConnectionBroken
from bitacora.exchange import Answer, Request
from bitacora.http1 import AnswerReader, Outbox, Outgoing
from bitacora.limits import CONNECT_PATIENCE_S, IDLE_S, MAX_CONNECTIONS, MAX_IDLE_CONNECTIONS, RECEIVED_BYTES
from bitacora.service_url import ServiceUrl
from bitacora.token import Token


class _Wire:
    """An open connection, and since when it is idle."""

    __slots__ = ("idle_since", "socket")

    def __init__(self, made: socket.socket) -> None:
        self.socket = made
        self.idle_since = 0.0

    def is_usable(self) -> bool:
        """Returns ``True`` if it was idle for a short time, and nothing came: neither an end nor bytes without a request."""
        if time.monotonic() - self.idle_since > IDLE_S:
            return False
        poll = select.poll()
        poll.register(self.socket, select.POLLIN)
        return not poll.poll(0)


class _Pool:
    """The connections of one process."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self.room = threading.BoundedSemaphore(MAX_CONNECTIONS)
        # Appending and popping need no lock.
        self.idle: deque[_Wire] = deque()


class Wires:
    """Sends requests to one service. Threads share it; a forked process makes connections of its own."""

    def __init__(self, url: ServiceUrl, token: Token | None) -> None:
        self._url = url
        self._outbox = Outbox(url.authority, token)
        self._connect = _connector(url)
        self._pool = _Pool()

    def exchange(self, request: Request) -> Answer:
        """Sends a request and takes the whole answer, within its patience."""
        deadline = time.monotonic() + request.patience_s
        sent = self._outbox.write(request)
        pool = self._pool
        if pool.process != os.getpid():
            # The parent's connections carry its answers.
            pool = self._pool = _Pool()
        if not pool.room.acquire(timeout=request.patience_s):
            raise ConnectFailed(f"{self._url}: {MAX_CONNECTIONS} requests are on their way already")
        try:
            wire = self._take(pool)
            try:
                answer, is_last = self._ask(wire.socket, sent, deadline)
            except BaseException:
                # Also when the thread is interrupted: the answer may still come.
                wire.socket.close()
                raise
            if is_last or len(pool.idle) >= MAX_IDLE_CONNECTIONS:
                wire.socket.close()
            else:
                wire.idle_since = time.monotonic()
                pool.idle.append(wire)
            return answer
        finally:
            pool.room.release()

    def close(self) -> None:
        """Closes all idle connections."""
        while self._pool.idle:
            try:
                self._pool.idle.pop().socket.close()
            except IndexError:
                return

    def _take(self, pool: _Pool) -> _Wire:
        while True:
            try:
                wire = pool.idle.pop()
            except IndexError:
                break
            if wire.is_usable():
                return wire
            wire.socket.close()
        try:
            return _Wire(self._connect())
        except OSError as error:
            raise ConnectFailed(f"{self._url}: {error or 'no connection'}; is the service running?") from error

    def _ask(self, wire: socket.socket, sent: Outgoing, deadline: float) -> tuple[Answer, bool]:
        reader = AnswerReader()
        try:
            wire.settimeout(max(deadline - time.monotonic(), 0.001))
            is_cut = not _sent(wire, sent)
            while True:
                left = deadline - time.monotonic()
                if left <= 0:
                    raise AnswerLate(f"{self._url}: the answer did not end in time")
                wire.settimeout(left)
                piece = wire.recv(RECEIVED_BYTES)
                answer = reader.push(piece) if piece else reader.end()
                if answer is not None:
                    return answer, reader.is_last or is_cut
        except TimeoutError as error:
            raise AnswerLate(f"{self._url}: nothing came in time") from error
        except OSError as error:
            raise ConnectionBroken(f"{self._url}: the connection broke: {error}") from error


def _sent(wire: socket.socket, sent: Outgoing) -> bool:
    """Sends a request. A service that refuses it early may close before it has read all: its answer can be there."""
    try:
        wire.sendall(sent.data)
    except (BrokenPipeError, ConnectionResetError):
        return False
    return True


def _connector(url: ServiceUrl) -> Callable[[], socket.socket]:
    def to_socket() -> socket.socket:
        made = socket.socket(socket.AF_UNIX)
        try:
            made.settimeout(CONNECT_PATIENCE_S)
            made.connect(url.socket or "")
        except BaseException:
            made.close()
            raise
        return made

    def to_port() -> socket.socket:
        made = socket.create_connection(url.host_and_port, CONNECT_PATIENCE_S)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return made

    return to_port if url.socket is None else to_socket
