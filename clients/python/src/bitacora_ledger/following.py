"""The state of a follower, without input or output: every event comes once, in order."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

from bitacora_ledger.backoff import Backoff
from bitacora_ledger.cursor import Cursor, CursorPlace
from bitacora_ledger.errors import ClientError, FollowError
from bitacora_ledger.event_stream import EventStream, Message
from bitacora_ledger.exchange import Request, query, strange
from bitacora_ledger.ledger import Ledger
from bitacora_ledger.members import Members, MembersError, position
from bitacora_ledger.problem import Problem
from bitacora_ledger.stored_event import EventFilter, StoredEvent


class Away(Exception):
    """The stream ended; it is made again."""


class Following:
    """The place of a follower, and what the messages of the service do to it."""

    def __init__(
        self, ledger: Ledger, where: EventFilter, cursor: Cursor | str | os.PathLike[str] | None, after: int
    ) -> None:
        self._ledger = ledger
        self._where = where
        self._cursor = Cursor(cursor) if cursor is not None and not isinstance(cursor, Cursor) else cursor
        kept = self._cursor.load() if self._cursor else None
        self._ledger_id = kept.ledger if kept else None
        self.seen = kept.after if kept else after
        """The position up to which everything was given, or does not match."""
        self.given = self.seen
        """The position up to which everything was taken by the caller."""
        self.is_caught_up = False
        self._has_begun = False
        self._backoff = Backoff(None)
        self._stream = EventStream()

    def request(self) -> Request:
        """Returns the request that goes on at the present place."""
        headers = {"accept": "text/event-stream"}
        if self._ledger_id is not None:
            headers["last-event-id"] = f"{self._ledger_id}:{self.seen}"
        return self._ledger.get(f"events{query({**self._where.parameters(), 'after': self.seen})}", headers)

    def begin(self, headers: Mapping[str, str]) -> None:
        """Takes the headers of a stream."""
        ledger_id = headers.get("ledger-id")
        if not ledger_id:
            raise strange()
        if self._cursor is not None and self._ledger_id != ledger_id:
            self._cursor.check(ledger_id)
        self._ledger_id = ledger_id
        self._has_begun = True
        self._stream = EventStream()

    def pause(self, error: ClientError | Away) -> float:
        """Returns the pause before the stream is made again; raises an error that lasts.

        Before the first answer nobody knows whether there is such a service at all.
        """
        if isinstance(error, Away):
            return self._backoff.pause() or 0.0
        if not (self._has_begun and error.retryable):
            raise error
        return self._backoff.pause(error.retry_after_s) or 0.0

    def push(self, piece: bytes) -> list[Message]:
        """Takes a piece of the stream."""
        return self._stream.push(piece)

    def take(self, message: Message) -> StoredEvent | None:
        """Takes a message, and returns its event if it has one."""
        if message.kind in (b"closing", b"lagged"):
            raise Away
        if message.kind == b"failed":
            self._fail(message)
        place = self._position(message)
        if place is None:
            return None
        if message.kind == b"" and message.data is not None:
            return self._event(place, message.data)
        if message.kind in (b"", b"caught-up"):
            self._advance(place)
            self.is_caught_up = self.is_caught_up or message.kind == b"caught-up"
        return None

    def save(self) -> None:
        """Notes in the cursor that everything given was handled. Returned ⇒ durable."""
        if self._cursor is not None and self._ledger_id is not None:
            self._cursor.save(CursorPlace(self._ledger_id, self.given))

    def _event(self, place: int, data: bytes) -> StoredEvent:
        # Never twice, and never back, whatever the service says.
        if place <= self.seen:
            raise FollowError(f"an event at position {place}, not past {self.seen}; check what answers at this address")
        try:
            event = StoredEvent.read(Members(json.loads(data)))
        except (ValueError, RecursionError, MembersError):
            raise strange() from None
        if event.position != place or not self._where.matches(event):
            raise strange()
        self._advance(place)
        return event

    def _advance(self, place: int) -> None:
        self.seen = max(self.seen, place)
        self._backoff = Backoff(None)

    def _position(self, message: Message) -> int | None:
        if message.id is None:
            return None
        try:
            return position(message.id.decode("ascii"))
        except (ValueError, MembersError):
            raise strange() from None

    def _fail(self, message: Message) -> None:
        try:
            problem = Problem.read(json.loads(message.data or b""), 503)
        except (ValueError, RecursionError):
            problem = None
        if problem is None:
            raise strange()
        if problem.retryable:
            raise Away
        raise FollowError(f"{problem.detail} ({problem.code}); go on past position {self.seen}")
