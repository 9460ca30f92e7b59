"""Events of many tasks in few requests: while one request is on its way, the next one is filled."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from bitacora_ledger.appended import Receipt
from bitacora_ledger.batch import QueuedEvent, check_line, halves, take_batch
from bitacora_ledger.connection import AsyncConnection
from bitacora_ledger.errors import ClientClosed, ClientError
from bitacora_ledger.event import Event, event_line
from bitacora_ledger.ledger import Ledger

_Queued = QueuedEvent["asyncio.Future[Receipt]"]


class AsyncAppender:
    """Appends the events of many tasks, in the order in which they were given, one request after the other.

    The queue is bounded: callers that are too fast wait. Closing it sends everything that waits. A cancelled caller's
    event may be sent all the same.
    """

    def __init__(self, connection: AsyncConnection, ledger: Ledger, queue_events: int) -> None:
        self._connection = connection
        self._ledger = ledger
        self._most = max(queue_events, 1)
        self._waiting: deque[_Queued] = deque()
        self._changed = asyncio.Condition()
        self._is_closed = False
        self._task: asyncio.Task[None] | None = None

    async def append(self, event: Event | Mapping[str, Any]) -> Receipt:
        """Appends an event. Returned ⇒ it is durable. A refused event fails alone."""
        return await (await self.queue(event))

    async def queue(self, event: Event | Mapping[str, Any]) -> asyncio.Future[Receipt]:
        """Puts an event behind those that wait, once there is room. The future yields its receipt or its error."""
        line = check_line(event_line(event))
        loop = asyncio.get_running_loop()
        queued: _Queued = QueuedEvent(line, loop.create_future())
        async with self._changed:
            await self._changed.wait_for(lambda: len(self._waiting) < self._most or self._is_closed)
            if self._is_closed:
                raise ClientClosed("the appender was closed before the event was sent")
            if self._task is None:
                self._task = loop.create_task(self._send_all(), name="bitacora-appender")
            self._waiting.append(queued)
            self._changed.notify_all()
        return queued.future

    async def close(self) -> None:
        """Sends everything that waits, then ends."""
        async with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        if self._task is not None:
            await self._task

    async def __aenter__(self) -> AsyncAppender:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _send_all(self) -> None:
        try:
            while True:
                async with self._changed:
                    await self._changed.wait_for(lambda: bool(self._waiting) or self._is_closed)
                    if not self._waiting:
                        return
                    batch = take_batch(self._waiting)
                    self._changed.notify_all()
                await self._send(batch)
        finally:
            # The loop ends: no caller waits for ever.
            _fail(list(self._waiting), ClientClosed("the appender ended before the event was sent"))

    async def _send(self, batch: list[_Queued]) -> None:
        parts = [batch]
        while parts:
            part = parts.pop(0)
            try:
                steps = self._ledger.append_lines([one.line for one in part])
                appended = await self._connection.run(steps)
            except ClientError as error:
                if split := halves(part, error):
                    parts[:0] = split
                    continue
                _fail(part, error)
            except BaseException as error:
                for left in (part, *parts):
                    _fail(left, error)
                if not isinstance(error, Exception):
                    raise
                return
            else:
                for one, receipt in zip(part, appended.receipts, strict=True):
                    if not one.future.done():
                        one.future.set_result(receipt)


def _fail(part: list[_Queued], error: BaseException) -> None:
    for one in part:
        if one.future.done():
            continue
        if isinstance(error, asyncio.CancelledError):
            one.future.cancel()
        else:
            one.future.set_exception(error)
