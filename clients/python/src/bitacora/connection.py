"""Connections to a service. Requests go over wires of this package; those over TLS, those of a transport that the caller
gives, and streams go through httpx.

Transports are used without ``httpx.Client``: a redirect is never followed and no proxy is taken from the environment, so
that the token reaches no other host.
"""

from __future__ import annotations

import asyncio
import functools
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Generic, TypeVar

import httpx

from bitacora.async_wires import AsyncWires
from bitacora.errors import AnswerLate, ClientError, ConnectFailed, ConnectionBroken
from bitacora.exchange import Answer, Pause, Request, Steps, refusal, strange
from bitacora.limits import (
    CONNECT_PATIENCE_S,
    IDLE_S,
    MAX_ANSWER_BYTES,
    MAX_CONNECTIONS,
    MAX_IDLE_CONNECTIONS,
    MAX_KNOWN_PATHS,
)
from bitacora.service_url import ServiceUrl
from bitacora.token import Token
from bitacora.wires import Wires

T = TypeVar("T")

_POOL = httpx.Limits(
    max_connections=MAX_CONNECTIONS, max_keepalive_connections=MAX_IDLE_CONNECTIONS, keepalive_expiry=IDLE_S
)


H = TypeVar("H")


class _OfProcess(Generic[H]):
    """The transport of this process: the caller's, or one that is made. A forked process makes its own."""

    def __init__(self, given: H | None, make: Callable[[], H]) -> None:
        self._make = None if given is not None else make
        self._process = os.getpid()
        self._transport = given if given is not None else make()

    def get(self) -> H:
        if self._make is not None and self._process != os.getpid():
            # The parent's connections carry its answers.
            self._process, self._transport = os.getpid(), self._make()
        return self._transport


def _settings(url: ServiceUrl) -> dict[str, Any]:
    return {"verify": url.is_encrypted, "trust_env": False, "limits": _POOL, "uds": url.socket}


class _Messages:
    """Makes the requests of httpx, and the errors of this package."""

    def __init__(self, url: ServiceUrl, token: Token | None) -> None:
        self._url = url
        self._base = httpx.URL(url.origin)
        # Parsing an address takes longer than all else that is done for a request; a thread's is the same each time.
        self._address = functools.lru_cache(MAX_KNOWN_PATHS)(self._parse)
        self._headers = [(b"host", self._base.netloc), (b"accept-encoding", b"identity")]
        if token is not None:
            self._headers.append((b"authorization", b"Bearer " + token.reveal().encode("ascii")))

    def request(self, request: Request, stream_patience_s: float | None = None) -> httpx.Request:
        headers = [*self._headers, *((k.encode(), v.encode()) for k, v in request.headers.items())]
        patience = stream_patience_s if stream_patience_s is not None else request.patience_s
        timeout = {"connect": CONNECT_PATIENCE_S, "pool": patience, "read": patience, "write": patience}
        return httpx.Request(
            request.method,
            self._address(request.path),
            headers=headers,
            content=request.body or None,
            extensions={"timeout": timeout},
        )

    def _parse(self, path: str) -> httpx.URL:
        return self._base.copy_with(raw_path=path.encode("ascii"))

    def error(self, error: Exception) -> ClientError:
        """Returns the error of this package for one of httpx."""
        if isinstance(error, (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)):
            return ConnectFailed(f"{self._url}: {error or 'no connection'}; is the service running?")
        if isinstance(error, httpx.TimeoutException):
            return AnswerLate(f"{self._url}: nothing came in time")
        return ConnectionBroken(f"{self._url}: the connection broke: {error}")


_FAULTS = (httpx.TransportError, httpx.StreamError)
"""What httpx raises for a connection that is gone."""


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


def _headers(answer: httpx.Response) -> Mapping[str, str]:
    return {key.lower().decode("ascii"): value.decode("latin-1") for key, value in answer.headers.raw}


class Connection:
    """Sends requests and waits for their answers. Threads share it."""

    def __init__(self, url: ServiceUrl, token: Token | None, transport: httpx.BaseTransport | None = None) -> None:
        self._messages = _Messages(url, token)
        self._wires = None if transport or url.is_encrypted else Wires(url, token)
        self._httpx: _OfProcess[httpx.BaseTransport] = _OfProcess(transport, lambda: httpx.HTTPTransport(**_settings(url)))

    def run(self, steps: Steps[T]) -> T:
        """Takes the steps of an operation, and returns its result."""
        try:
            step = next(steps)
            while True:
                if isinstance(step, Pause):
                    time.sleep(step.seconds)
                    step = steps.send(None)
                    continue
                try:
                    answer = self.exchange(step)
                except ClientError as error:
                    step = steps.throw(error)
                else:
                    step = steps.send(answer)
        except StopIteration as end:
            result: T = end.value
            return result

    def exchange(self, request: Request) -> Answer:
        """Sends a request and takes the whole answer."""
        if self._wires is not None:
            return self._wires.exchange(request)
        body = _Body(request.patience_s)
        try:
            answer = self._httpx.get().handle_request(self._messages.request(request))
            try:
                assert isinstance(answer.stream, httpx.SyncByteStream)
                for piece in answer.stream:
                    body.push(piece)
            finally:
                answer.close()
        except _FAULTS as error:
            raise self._messages.error(error) from error
        return Answer(answer.status_code, _headers(answer), body.whole())

    @contextmanager
    def stream(self, request: Request) -> Iterator[tuple[Mapping[str, str], Iterator[bytes]]]:
        """Sends a request, and yields the headers and the pieces of an answer without an end."""
        try:
            answer = self._httpx.get().handle_request(self._messages.request(request, request.patience_s))
        except _FAULTS as error:
            raise self._messages.error(error) from error
        try:
            assert isinstance(answer.stream, httpx.SyncByteStream)
            pieces = self._pieces(answer.stream)
            if answer.status_code != 200:
                body = _Body(request.patience_s)
                for piece in pieces:
                    body.push(piece)
                raise refusal(Answer(answer.status_code, _headers(answer), body.whole()))
            yield _headers(answer), pieces
        finally:
            answer.close()

    def _pieces(self, stream: httpx.SyncByteStream) -> Iterator[bytes]:
        try:
            yield from stream
        except _FAULTS as error:
            raise self._messages.error(error) from error

    def close(self) -> None:
        """Closes all connections."""
        if self._wires is not None:
            self._wires.close()
        self._httpx.get().close()


class AsyncConnection:
    """Sends requests and waits for their answers. Tasks of one event loop share it."""

    def __init__(self, url: ServiceUrl, token: Token | None, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self._messages = _Messages(url, token)
        self._wires = None if transport or url.is_encrypted else AsyncWires(url, token)
        self._httpx: _OfProcess[httpx.AsyncBaseTransport] = _OfProcess(transport, lambda: httpx.AsyncHTTPTransport(**_settings(url)))

    async def run(self, steps: Steps[T]) -> T:
        """Takes the steps of an operation, and returns its result."""
        try:
            step = next(steps)
            while True:
                if isinstance(step, Pause):
                    await asyncio.sleep(step.seconds)
                    step = steps.send(None)
                    continue
                try:
                    answer = await self.exchange(step)
                except ClientError as error:
                    step = steps.throw(error)
                else:
                    step = steps.send(answer)
        except StopIteration as end:
            result: T = end.value
            return result

    async def exchange(self, request: Request) -> Answer:
        """Sends a request and takes the whole answer."""
        if self._wires is not None:
            return await self._wires.exchange(request)
        body = _Body(request.patience_s)
        try:
            answer = await self._httpx.get().handle_async_request(self._messages.request(request))
            try:
                assert isinstance(answer.stream, httpx.AsyncByteStream)
                async for piece in answer.stream:
                    body.push(piece)
            finally:
                await answer.aclose()
        except _FAULTS as error:
            raise self._messages.error(error) from error
        return Answer(answer.status_code, _headers(answer), body.whole())

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[tuple[Mapping[str, str], AsyncIterator[bytes]]]:
        """Sends a request, and yields the headers and the pieces of an answer without an end."""
        try:
            answer = await self._httpx.get().handle_async_request(self._messages.request(request, request.patience_s))
        except _FAULTS as error:
            raise self._messages.error(error) from error
        try:
            assert isinstance(answer.stream, httpx.AsyncByteStream)
            pieces = self._pieces(answer.stream)
            if answer.status_code != 200:
                body = _Body(request.patience_s)
                async for piece in pieces:
                    body.push(piece)
                raise refusal(Answer(answer.status_code, _headers(answer), body.whole()))
            yield _headers(answer), pieces
        finally:
            await answer.aclose()

    async def _pieces(self, stream: httpx.AsyncByteStream) -> AsyncIterator[bytes]:
        try:
            async for piece in stream:
                yield piece
        except _FAULTS as error:
            raise self._messages.error(error) from error

    async def close(self) -> None:
        """Closes all connections."""
        if self._wires is not None:
            await self._wires.close()
        await self._httpx.get().aclose()
