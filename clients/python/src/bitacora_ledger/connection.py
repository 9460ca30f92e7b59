"""Connections to a service: take the steps of an operation, one request after the other."""

from __future__ import annotations

import asyncio
import time
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import TypeVar

import httpx

from bitacora_ledger.errors import ClientError
from bitacora_ledger.exchange import Answer, Pause, Request, Steps
from bitacora_ledger.http_pool import HttpPool
from bitacora_ledger.httpx_wires import AsyncHttpx, GivenTransport
from bitacora_ledger.service_url import ServiceUrl
from bitacora_ledger.token import Token

T = TypeVar("T")


class Connection:
    """Sends requests and waits for their answers. Threads share it."""

    def __init__(self, url: ServiceUrl, token: Token | None, transport: httpx.BaseTransport | None = None) -> None:
        self._wires = HttpPool(url, token) if transport is None else GivenTransport(url, token, transport)

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
        return self._wires.exchange(request)

    def stream(self, request: Request) -> AbstractContextManager[tuple[Mapping[str, str], Iterator[bytes]]]:
        """Sends a request, and yields the headers and the pieces of an answer without an end."""
        return self._wires.stream(request)

    def close(self) -> None:
        """Closes all connections."""
        self._wires.close()


class AsyncConnection:
    """Sends requests and waits for their answers. Tasks of one event loop share it."""

    def __init__(self, url: ServiceUrl, token: Token | None, transport: httpx.AsyncBaseTransport | None = None) -> None:
        self._wires = AsyncHttpx(url, token, transport)

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
        return await self._wires.exchange(request)

    def stream(self, request: Request) -> AbstractAsyncContextManager[tuple[Mapping[str, str], AsyncIterator[bytes]]]:
        """Sends a request, and yields the headers and the pieces of an answer without an end."""
        return self._wires.stream(request)

    async def close(self) -> None:
        """Closes all connections."""
        await self._wires.close()
