"""Connections to a service over TCP or a Unix socket that are kept for the next requests, for tasks."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from typing import cast

from bitacora.errors import AnswerLate, ClientError, ConnectFailed, ConnectionBroken
from bitacora.exchange import Answer, Request
from bitacora.http1 import AnswerReader, Outbox, Outgoing
from bitacora.limits import CONNECT_PATIENCE_S, IDLE_S, MAX_CONNECTIONS, MAX_IDLE_CONNECTIONS
from bitacora.service_url import ServiceUrl
from bitacora.token import Token


class _Wire(asyncio.Protocol):
    """An open connection, and the answer that it waits for."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._reader: AnswerReader | None = None
        self._answer: asyncio.Future[Answer] | None = None
        self.idle_since = 0.0
        self.is_open = True
        """``True`` as long as the next request can go over it."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        made: socket.socket | None = transport.get_extra_info("socket")
        if made is not None and made.family != socket.AF_UNIX:
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def data_received(self, data: bytes) -> None:
        if self._reader is None or self._answer is None or self._answer.done():
            # Bytes that no request asked for.
            self.abort()
            return
        try:
            answer = self._reader.push(data)
        except ClientError as error:
            self._answer.set_exception(error)
            self.abort()
            return
        if answer is not None:
            self.is_open = self.is_open and not self._reader.is_last
            self._answer.set_result(answer)

    def eof_received(self) -> None:
        self._lost(None)

    def connection_lost(self, error: Exception | None) -> None:
        self._lost(error)

    def abort(self, error: ClientError | None = None) -> None:
        """Ends the connection at once; whoever waits for an answer gets the error."""
        self.is_open = False
        if error is not None and self._answer is not None and not self._answer.done():
            self._answer.set_exception(error)
        if self._transport is not None:
            self._transport.abort()

    async def ask(self, sent: Outgoing, patience_s: float) -> Answer:
        """Sends a request and takes the whole answer."""
        assert self._transport is not None
        loop = asyncio.get_running_loop()
        self._reader = AnswerReader()
        self._answer = loop.create_future()
        late = loop.call_later(max(patience_s, 0.0), self.abort, AnswerLate("nothing came in time"))
        try:
            self._transport.write(sent.data)
            return await self._answer
        except BaseException:
            # Also when the task is cancelled: the answer may still come.
            self.abort()
            raise
        finally:
            late.cancel()
            self._reader = self._answer = None

    def _lost(self, error: Exception | None) -> None:
        self.is_open = False
        if self._reader is None or self._answer is None or self._answer.done():
            return
        try:
            if error is not None:
                raise ConnectionBroken(f"the connection broke: {error}")
            self._answer.set_result(self._reader.end())
        except ClientError as broken:
            self._answer.set_exception(broken)


class _Pool:
    """The connections of one event loop in one process."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.process = os.getpid()
        self.room = asyncio.Semaphore(MAX_CONNECTIONS)
        self.idle: list[_Wire] = []


class AsyncWires:
    """Sends requests to one service. Tasks share it; another event loop or process makes connections of its own."""

    def __init__(self, url: ServiceUrl, token: Token | None) -> None:
        self._url = url
        self._outbox = Outbox(url.authority, token)
        self._pool: _Pool | None = None

    async def exchange(self, request: Request) -> Answer:
        """Sends a request and takes the whole answer, within its patience."""
        deadline = time.monotonic() + request.patience_s
        sent = self._outbox.write(request)
        pool = self._of_loop()
        if pool.room.locked():
            await self._wait_for_room(pool, request.patience_s)
        else:
            await pool.room.acquire()
        try:
            wire = await self._take(pool)
            try:
                answer = await wire.ask(sent, deadline - time.monotonic())
            except ClientError as error:
                error.args = (f"{self._url}: {error}",)
                raise
            if wire.is_open and len(pool.idle) < MAX_IDLE_CONNECTIONS:
                wire.idle_since = time.monotonic()
                pool.idle.append(wire)
            else:
                wire.abort()
            return answer
        finally:
            pool.room.release()

    async def close(self) -> None:
        """Closes all idle connections."""
        pool, self._pool = self._pool, None
        if pool is not None and not pool.loop.is_closed():
            for wire in pool.idle:
                wire.abort()

    def _of_loop(self) -> _Pool:
        loop = asyncio.get_running_loop()
        pool = self._pool
        if pool is None or pool.loop is not loop or pool.process != os.getpid():
            pool = self._pool = _Pool(loop)
        return pool

    async def _wait_for_room(self, pool: _Pool, patience_s: float) -> None:
        try:
            await asyncio.wait_for(pool.room.acquire(), patience_s)
        except asyncio.TimeoutError:
            raise ConnectFailed(f"{self._url}: {MAX_CONNECTIONS} requests are on their way already") from None

    async def _take(self, pool: _Pool) -> _Wire:
        while pool.idle:
            wire = pool.idle.pop()
            if wire.is_open and time.monotonic() - wire.idle_since <= IDLE_S:
                return wire
            wire.abort()
        if self._url.socket is None:
            host, port = self._url.host_and_port
            connecting = pool.loop.create_connection(_Wire, host, port)
        else:
            connecting = pool.loop.create_unix_connection(_Wire, self._url.socket)
        try:
            _, made = await asyncio.wait_for(connecting, CONNECT_PATIENCE_S)
        except (OSError, asyncio.TimeoutError) as error:
            raise ConnectFailed(f"{self._url}: {error or 'no connection'}; is the service running?") from error
        return made
