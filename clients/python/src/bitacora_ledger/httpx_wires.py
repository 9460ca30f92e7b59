"""Exchanges through httpx: all those of tasks, and those of threads over a transport that the caller gives.

Transports are used without ``httpx.Client``: a redirect is never followed and no proxy is taken from the environment, so
that the token reaches no other host.
"""

from __future__ import annotations

import asyncio
import functools
import os
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager

import anyio
import httpx

from bitacora_ledger.errors import AnswerLate, ClientError, ConnectFailed, ConnectionBroken
from bitacora_ledger.exchange import Answer, Request, checked_headers, is_ended, refusal, strange
from bitacora_ledger.limits import (
    CONNECT_PATIENCE_S,
    IDLE_S,
    MAX_ANSWER_BYTES,
    MAX_CONNECTIONS,
    MAX_IDLE_CONNECTIONS,
    MAX_KNOWN_PATHS,
)
from bitacora_ledger.service_url import ServiceUrl
from bitacora_ledger.tls import tls_context
from bitacora_ledger.token import Token

_LIMITS = httpx.Limits(
    max_connections=MAX_CONNECTIONS, max_keepalive_connections=MAX_IDLE_CONNECTIONS, keepalive_expiry=IDLE_S
)
_FAULTS = (httpx.TransportError, httpx.StreamError)
"""What httpx raises for a connection that is gone."""


class _Messages:
    """Makes the requests of httpx, and the answers and errors of this package."""

    def __init__(self, url: ServiceUrl, token: Token | None) -> None:
        self._url = url
        self._base = httpx.URL(url.origin)
        # Parsing an address takes longer than all else that is done for a request; a thread's is the same each time.
        self._address = functools.lru_cache(MAX_KNOWN_PATHS)(self._parse)
        self._headers = [(b"host", self._base.netloc), (b"accept-encoding", b"identity")]
        if token is not None:
            self._headers.append((b"authorization", b"Bearer " + token.reveal().encode("ascii")))

    def request(self, request: Request) -> httpx.Request:
        """Returns a request of httpx."""
        headers = [*self._headers, *((k.encode(), v.encode()) for k, v in request.headers.items())]
        patience = request.patience_s
        timeout = {"connect": CONNECT_PATIENCE_S, "pool": patience, "read": patience, "write": patience}
        return httpx.Request(
            request.method,
            self._address(request.path),
            headers=headers,
            content=request.body or None,
            extensions={"timeout": timeout},
        )

    def headers(self, answer: httpx.Response) -> dict[str, str]:
        """Returns the headers of an answer."""
        return checked_headers((key.decode("ascii"), value.decode("latin-1")) for key, value in answer.headers.raw)

    def error(self, error: Exception) -> ClientError:
        """Returns the error of this package for one of httpx."""
        if isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)):
            return ConnectFailed(f"{self._url}: {error or 'no connection'}; is the service running?")
        if isinstance(error, (httpx.TimeoutException, TimeoutError)):
            return AnswerLate(f"{self._url}: the answer did not end in time")
        if isinstance(error, httpx.RemoteProtocolError) and "disconnected" not in str(error) and "closed" not in str(error):
            return strange()
        return ConnectionBroken(f"{self._url}: the connection broke: {error}")

    def _parse(self, path: str) -> httpx.URL:
        return self._base.copy_with(raw_path=path.encode("ascii"))


class _Body:
    """The body of an answer as it comes: bounded in bytes and in time."""

    def __init__(self, patience_s: float) -> None:
        self._pieces: list[bytes] = []
        self._bytes = 0
        self._deadline = time.monotonic() + patience_s

    def push(self, piece: bytes) -> None:
        self._bytes += len(piece)
        if self._bytes > MAX_ANSWER_BYTES:
            raise strange()
        if time.monotonic() > self._deadline:
            raise AnswerLate("the answer did not end in time")
        self._pieces.append(piece)

    def whole(self) -> bytes:
        return b"".join(self._pieces)


class GivenTransport:
    """Sends requests of threads over a transport of the caller, which bounds the time between two pieces of an answer."""

    def __init__(self, url: ServiceUrl, token: Token | None, transport: httpx.BaseTransport) -> None:
        self._messages = _Messages(url, token)
        self._transport = transport

    def exchange(self, request: Request) -> Answer:
        """Sends a request and takes the whole answer."""
        with self._answered(request) as (status, headers, pieces):
            if not is_ended(status, headers):
                raise strange()
            return _whole(status, headers, pieces, request.patience_s)

    @contextmanager
    def stream(self, request: Request) -> Iterator[tuple[Mapping[str, str], Iterator[bytes]]]:
        """Sends a request, and yields the headers and the pieces of an answer without an end."""
        with self._answered(request) as (status, headers, pieces):
            if status != 200:
                raise refusal(_whole(status, headers, pieces, request.patience_s))
            yield headers, pieces

    def close(self) -> None:
        """Closes all connections."""
        self._transport.close()

    @contextmanager
    def _answered(self, request: Request) -> Iterator[tuple[int, Mapping[str, str], Iterator[bytes]]]:
        try:
            answer = self._transport.handle_request(self._messages.request(request))
        except _FAULTS as error:
            raise self._messages.error(error) from error
        try:
            assert isinstance(answer.stream, httpx.SyncByteStream)
            yield answer.status_code, self._messages.headers(answer), self._pieces(answer.stream)
        finally:
            answer.close()

    def _pieces(self, stream: httpx.SyncByteStream) -> Iterator[bytes]:
        try:
            yield from stream
        except _FAULTS as error:
            raise self._messages.error(error) from error


def _whole(status: int, headers: Mapping[str, str], pieces: Iterator[bytes], patience_s: float) -> Answer:
    body = _Body(patience_s)
    for piece in pieces:
        body.push(piece)
    return Answer(status, headers, body.whole())


class AsyncHttpx:
    """Sends requests of tasks. Another event loop or process makes connections of its own."""

    def __init__(self, url: ServiceUrl, token: Token | None, transport: httpx.AsyncBaseTransport | None) -> None:
        self._url = url
        self._messages = _Messages(url, token)
        self._given = transport
        self._made: tuple[int, asyncio.AbstractEventLoop, httpx.AsyncBaseTransport] | None = None

    async def exchange(self, request: Request) -> Answer:
        """Sends a request and takes the whole answer, within its patience."""
        try:
            with anyio.fail_after(request.patience_s):
                async with self._answered(request) as (status, headers, pieces):
                    if not is_ended(status, headers):
                        raise strange()
                    return await _whole_async(status, headers, pieces)
        except TimeoutError as error:
            raise self._messages.error(error) from error

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[tuple[Mapping[str, str], AsyncIterator[bytes]]]:
        """Sends a request, and yields the headers and the pieces of an answer without an end."""
        async with self._answered(request) as (status, headers, pieces):
            if status != 200:
                try:
                    with anyio.fail_after(request.patience_s):
                        refused = await _whole_async(status, headers, pieces)
                except TimeoutError as error:
                    raise self._messages.error(error) from error
                raise refusal(refused)
            yield headers, pieces

    async def close(self) -> None:
        """Closes all connections."""
        made, self._made = self._made, None
        if self._given is not None:
            await self._given.aclose()
        elif made is not None and made[:2] == (os.getpid(), asyncio.get_running_loop()):
            await made[2].aclose()

    @asynccontextmanager
    async def _answered(
        self, request: Request
    ) -> AsyncIterator[tuple[int, Mapping[str, str], AsyncIterator[bytes]]]:
        try:
            answer = await self._transport().handle_async_request(self._messages.request(request))
        except _FAULTS as error:
            raise self._messages.error(error) from error
        try:
            assert isinstance(answer.stream, httpx.AsyncByteStream)
            yield answer.status_code, self._messages.headers(answer), self._pieces(answer.stream)
        finally:
            await answer.aclose()

    async def _pieces(self, stream: httpx.AsyncByteStream) -> AsyncIterator[bytes]:
        try:
            async for piece in stream:
                yield piece
        except _FAULTS as error:
            raise self._messages.error(error) from error

    def _transport(self) -> httpx.AsyncBaseTransport:
        if self._given is not None:
            return self._given
        place = (os.getpid(), asyncio.get_running_loop())
        if self._made is None or self._made[:2] != place:
            # Connections of another loop are dead, and those of a parent process carry its answers.
            made = httpx.AsyncHTTPTransport(
                verify=tls_context(self._url) if self._url.is_encrypted else False,
                trust_env=False,
                limits=_LIMITS,
                uds=self._url.socket,
            )
            self._made = (*place, made)
        return self._made[2]


async def _whole_async(status: int, headers: Mapping[str, str], pieces: AsyncIterator[bytes]) -> Answer:
    data: list[bytes] = []
    left = MAX_ANSWER_BYTES
    async for piece in pieces:
        left -= len(piece)
        if left < 0:
            raise strange()
        data.append(piece)
    return Answer(status, headers, b"".join(data))
