"""A ledger that is followed by a task."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator

from bitacora_ledger.connection import AsyncConnection
from bitacora_ledger.cursor import Cursor
from bitacora_ledger.errors import ClientError
from bitacora_ledger.following import Away, Following
from bitacora_ledger.ledger import Ledger
from bitacora_ledger.stored_event import EventFilter, StoredEvent


class AsyncFollower:
    """Iterates over every matching event once, in order. A lost connection is made again."""

    def __init__(
        self,
        connection: AsyncConnection,
        ledger: Ledger,
        where: EventFilter,
        cursor: Cursor | str | os.PathLike[str] | None,
        after: int,
        until_caught_up: bool,
    ) -> None:
        self._connection = connection
        self._following = Following(ledger, where, cursor, after)
        self._until_caught_up = until_caught_up
        self._events: AsyncIterator[StoredEvent] | None = None

    @property
    def position(self) -> int:
        """The position up to which everything was given, or does not match."""
        return self._following.given

    def handled(self) -> None:
        """Notes in the cursor that all given events were handled. Returned ⇒ durable. It waits for the disk."""
        self._following.save()

    def __aiter__(self) -> AsyncIterator[StoredEvent]:
        return self

    async def __anext__(self) -> StoredEvent:
        if self._events is None:
            self._events = self._follow()
        return await anext(self._events)

    async def _follow(self) -> AsyncIterator[StoredEvent]:
        following = self._following
        while True:
            try:
                async with self._connection.stream(following.request()) as (headers, pieces):
                    following.begin(headers)
                    async for piece in pieces:
                        for message in following.push(piece):
                            event = following.take(message)
                            following.given = following.seen
                            if event is not None:
                                yield event
                            if self._until_caught_up and following.is_caught_up:
                                return
                raise Away
            except (ClientError, Away) as error:
                pause = following.pause(error)
            await asyncio.sleep(pause)
