"""Stored events, pages of them, and the filter that chooses them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bitacora_ledger.members import Members


@dataclass(frozen=True)
class StoredEvent:
    """An event as the ledger holds it."""

    position: int
    stream_version: int
    recorded_at: str
    """The time at which the ledger recorded it, RFC 3339."""
    commitment: str
    event: dict[str, Any]
    """The CloudEvent."""
    is_derived: bool = False
    """``True`` if the reactor added it."""
    is_erased: bool = False
    """``True`` if its contents were erased with its data subject."""
    is_unreadable: bool = False
    """``True`` if its contents cannot be opened: the file of its data subject's key is damaged."""
    redactions: int = 0
    """Secrets that were replaced before it was appended."""

    @property
    def type(self) -> str:
        """What happened."""
        return str(self.event.get("type", ""))

    @property
    def id(self) -> str:
        """The event's id."""
        return str(self.event.get("id", ""))

    @property
    def data(self) -> Any:
        """The event's data, where it is JSON."""
        return self.event.get("data")

    @staticmethod
    def read(members: Members) -> StoredEvent:
        """Returns the event of an answer."""
        return StoredEvent(
            position=members.position("position"),
            stream_version=members.position("streamVersion"),
            recorded_at=members.text("recordedAt"),
            commitment=members.text("commitment"),
            event=members.within("event").whole_object(),
            is_derived=members.is_set("derived"),
            is_erased=members.is_set("erased"),
            is_unreadable=members.is_set("unreadable"),
            redactions=members.optional_whole("redactions") or 0,
        )


@dataclass(frozen=True)
class Page:
    """A page of events."""

    events: tuple[StoredEvent, ...]
    next: int | None
    """The ``after`` of the next page; ``None`` at the end."""
    head: int
    """The durable position that the page rests on."""

    @staticmethod
    def read(members: Members) -> Page:
        """Returns the page of an answer."""
        return Page(
            events=tuple(StoredEvent.read(event) for event in members.items("events")),
            next=members.optional_position("next"),
            head=members.within("head").position("position"),
        )


@dataclass(frozen=True)
class EventFilter:
    """The events that are read or followed: those that match every member."""

    types: Sequence[str] = ()
    """One of these types."""
    stream: str | None = None
    actor: str | None = None
    agent: str | None = None
    session: str | None = None
    run: str | None = None
    call: str | None = None
    tag: str | None = None
    since: str | None = None
    """Recorded at this RFC 3339 time or later."""
    before: str | None = None
    """Recorded before this RFC 3339 time."""

    def matches(self, stored: StoredEvent) -> bool:
        """Returns ``True`` if an event has what this names.

        The times are the service's to compare. Of an erased or unreadable event the type and the stream count.
        """
        event = stored.event
        if (self.types and stored.type not in self.types) or self.stream not in (None, event.get("subject")):
            return False
        if stored.is_erased or stored.is_unreadable:
            return True
        names = ("actor", "agent", "session", "run", "call")
        is_tagged = self.tag is None or self.tag in str(event.get("tags", "")).split(" ")
        return is_tagged and all(getattr(self, name) in (None, event.get(name)) for name in names)

    def parameters(self) -> dict[str, str | int | Sequence[str] | None]:
        """Returns the filter as parameters of a query."""
        names = ("stream", "actor", "agent", "session", "run", "call", "tag", "since", "before")
        return {"type": tuple(self.types), **{name: getattr(self, name) for name in names}}
