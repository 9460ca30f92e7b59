"""A ledger that is followed by a thread."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

from bitacora_ledger.connection import Connection
from bitacora_ledger.cursor import Cursor
from bitacora_ledger.errors import ClientError
from bitacora_ledger.following import Away, Following
from bitacora_ledger.ledger import Ledger
from bitacora_ledger.stored_event import EventFilter, StoredEvent


class Follower:
    """Iterates over every matching event once, in order. A lost connection is made again."""

    def __init__(
        self,
        connection: Connection,
        ledger: Ledger,
        where: EventFilter,
        cursor: Cursor | str | os.PathLike[str] | None,
        after: int,
        until_caught_up: bool,
    ) -> None:
        self._connection = connection
        self._following = Following(ledger, where, cursor, after)
        self._until_caught_up = until_caught_up
        self._events: Iterator[StoredEvent] | None = None

    @property
    def position(self) -> int:
        """The position up to which everything was given, or does not match."""
        return self._following.given

    def handled(self) -> None:
        """Notes in the cursor that all given events were handled. Returned ⇒ durable."""
        self._following.save()

    def __iter__(self) -> Iterator[StoredEvent]:
        return self

    def __next__(self) -> StoredEvent:
        if self._events is None:
            self._events = self._follow()
        return next(self._events)

    def _follow(self) -> Iterator[StoredEvent]:
        following = self._following
        while True:
            try:
                with self._connection.stream(following.request()) as (headers, pieces):
                    following.begin(headers)
                    for piece in pieces:
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
            time.sleep(pause)
