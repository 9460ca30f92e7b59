"""The client of one ledger, for tasks of an event loop."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from types import TracebackType
from typing import Any, TypeVar

import httpx

from bitacora_ledger.appended import Appended
from bitacora_ledger.approval import Approval
from bitacora_ledger.async_appender import AsyncAppender
from bitacora_ledger.async_checkpoints import AsyncCheckpoints
from bitacora_ledger.async_follower import AsyncFollower
from bitacora_ledger.call import Call
from bitacora_ledger.connection import AsyncConnection
from bitacora_ledger.cursor import Cursor
from bitacora_ledger.decision import Decision
from bitacora_ledger.event import Event
from bitacora_ledger.exchange import Steps
from bitacora_ledger.ledger import Ledger
from bitacora_ledger.limits import ANSWER_PATIENCE_S, MAX_RETRIES, PAGE_EVENTS, QUEUE_EVENTS, REVIEW_PATIENCE_S
from bitacora_ledger.outcome import Outcome, OutcomeRecorded
from bitacora_ledger.permit import Permit, permit
from bitacora_ledger.settings import Settings
from bitacora_ledger.stored_event import EventFilter, Page, StoredEvent
from bitacora_ledger.token import Token

T = TypeVar("T")


class AsyncClient:
    """The client of one ledger of a service. Tasks of one event loop share it; it connects with the first request.

    What is not named comes from the environment, as for :class:`bitacora_ledger.Client`.
    """

    def __init__(
        self,
        base_url: str | None = None,
        ledger: str | None = None,
        token: Token | str | None = None,
        *,
        token_file: str | os.PathLike[str] | None = None,
        retries: int = MAX_RETRIES,
        timeout_s: float = ANSWER_PATIENCE_S,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        settings = Settings.resolve(base_url, ledger, token, token_file)
        self._connection = AsyncConnection(settings.url, settings.token, transport)
        self._ledger = Ledger(settings.ledger, retries, timeout_s)
        self._name = f"AsyncClient({str(settings.url)!r}, {settings.ledger!r})"

    async def append(self, *events: Event | Mapping[str, Any], expected_version: int | None = None) -> Appended:
        """Appends events, as one atomic request: see :meth:`bitacora_ledger.Client.append`."""
        return await self._connection.run(self._ledger.append(events, expected_version))

    async def run(self, steps: Steps[T]) -> T:
        """Takes the steps of an operation of this package, and returns its result."""
        return await self._connection.run(steps)

    @property
    def ledger(self) -> Ledger:
        """The operations of its ledger."""
        return self._ledger

    def appender(self, *, queue_events: int = QUEUE_EVENTS) -> AsyncAppender:
        """Returns an appender, which batches the events of many tasks."""
        return AsyncAppender(self._connection, self._ledger, queue_events)

    async def decide(self, call: Call) -> Decision:
        """Asks whether a call may begin now. Only :attr:`Decision.allowed` lets it; an error is a no."""
        return await self._connection.run(self._ledger.decide(call))

    async def permit(self, call: Call, patience_s: float = REVIEW_PATIENCE_S) -> Permit:
        """Asks for a call until it may begin: waits for its approval, and asks again with it.

        Raises :class:`Denied`, and :class:`ReviewPending` when nobody answered in ``patience_s`` seconds.
        """
        return await self._connection.run(permit(self._ledger, call, patience_s))

    async def outcome(self, outcome: Outcome) -> OutcomeRecorded:
        """Reports how a call ended. Returned ⇒ it is durable, once."""
        return await self._connection.run(self._ledger.outcome(outcome))

    async def approval(self, approval: str) -> Approval:
        """Returns an approval as it stands."""
        return await self._connection.run(self._ledger.approval(approval))

    async def wait_for_approval(self, approval: str, patience_s: float = REVIEW_PATIENCE_S) -> Approval:
        """Waits for the answer to an approval. It may be pending still when the time is over."""
        return await self._connection.run(self._ledger.wait_for_approval(approval, patience_s))

    async def read(
        self, where: EventFilter | None = None, *, after: int = 0, limit: int = PAGE_EVENTS, wait_s: int = 0
    ) -> Page:
        """Reads a page of events past a position. An empty answer is held back for ``wait_s`` seconds."""
        return await self._connection.run(self._ledger.page(where or EventFilter(), after, limit, wait_s))

    async def pages(
        self, where: EventFilter | None = None, *, after: int = 0, limit: int = PAGE_EVENTS
    ) -> AsyncIterator[Page]:
        """Reads page by page up to the end."""
        place: int | None = after
        while place is not None:
            page = await self.read(where, after=place, limit=limit)
            yield page
            place = page.next

    async def event(self, position: int) -> StoredEvent:
        """Reads the event at a position."""
        return await self._connection.run(self._ledger.event(position))

    async def head(self) -> int:
        """Returns the last durable position."""
        return await self._connection.run(self._ledger.head())

    def follow(
        self,
        where: EventFilter | None = None,
        *,
        cursor: Cursor | str | os.PathLike[str] | None = None,
        after: int = 0,
        until_caught_up: bool = False,
    ) -> AsyncFollower:
        """Follows the ledger: see :meth:`bitacora_ledger.Client.follow`."""
        return AsyncFollower(self._connection, self._ledger, where or EventFilter(), cursor, after, until_caught_up)

    def checkpoints(self) -> AsyncCheckpoints:
        """Returns the checkpoints of threads of work."""
        return AsyncCheckpoints(self._connection, self._ledger)

    async def get(self, resource: str) -> Any:
        """Gets any other resource under the ledger, as JSON: ``runs?limit=10``. There is no retry."""
        return await self._connection.run(self._ledger.resource(resource))

    async def close(self) -> None:
        """Closes all connections."""
        await self._connection.close()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return self._name
