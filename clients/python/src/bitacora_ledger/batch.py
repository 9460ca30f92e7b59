"""Batches of events of many callers: what goes into one request, and what happens when it is refused."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Generic, TypeVar

from bitacora_ledger.errors import ClientError, ContentTooLarge, Refused
from bitacora_ledger.event import EventLine
from bitacora_ledger.limits import MAX_REQUEST_BYTES, MAX_REQUEST_EVENTS

F = TypeVar("F")

_OF_THE_WHOLE = ("unauthorized", "ledger-not-found", "method-not-allowed", "cross-site", "misdirected-host")
"""Refusals by a service that knows neither the ledger nor the caller: no single event's fault."""


@dataclass(frozen=True)
class QueuedEvent(Generic[F]):
    """A waiting event, as its line of NDJSON, and the future of its caller."""

    line: EventLine
    future: F


def take_batch(waiting: deque[QueuedEvent[F]]) -> list[QueuedEvent[F]]:
    """Takes from the queue what fits in one request, at least one event."""
    batch: list[QueuedEvent[F]] = []
    size = 0
    while waiting and len(batch) < MAX_REQUEST_EVENTS:
        size += len(waiting[0].line.data)
        if batch and size > MAX_REQUEST_BYTES:
            break
        batch.append(waiting.popleft())
    return batch


def halves(batch: list[QueuedEvent[F]], error: ClientError) -> list[list[QueuedEvent[F]]]:
    """Returns the halves to be sent separately where one event may be at fault, so that it fails alone; else nothing."""
    is_of_one = isinstance(error, Refused) and not error.retryable and error.code not in _OF_THE_WHOLE
    if len(batch) == 1 or not is_of_one:
        return []
    middle = len(batch) // 2
    return [batch[:middle], batch[middle:]]


def check_line(line: EventLine) -> EventLine:
    """Returns a line that fits in a request."""
    if len(line.data) > MAX_REQUEST_BYTES:
        raise ContentTooLarge(f"an event of {len(line.data)} bytes; at most {MAX_REQUEST_BYTES} are taken")
    return line
