"""An event to be appended: a CloudEvent 1.0."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from bitacora_ledger.exchange import json_bytes
from bitacora_ledger.identifier import new_id


class _Absent:
    """The type of :data:`ABSENT`."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = _Absent()
"""No data; ``None`` is the JSON value ``null``."""


@dataclass(frozen=True)
class Event:
    """An event. ``source`` and ``id`` identify it: the ledger takes it once."""

    type: str
    """What happened: a type of the vocabulary, or a name that begins with ``x.``."""
    source: str
    """The sender, a URI-reference such as ``agent/7``."""
    subject: str
    """The stream."""
    data: Any = ABSENT
    """Any JSON value; ``bytes`` are sent as ``data_base64``."""
    id: str = field(default_factory=new_id)
    time: str | None = None
    """RFC 3339."""
    tags: Sequence[str] = ()
    agent: str | None = None
    session: str | None = None
    run: str | None = None
    call: str | None = None
    datasubject: str | None = None
    """Whose personal data this is: sealed under that person's key."""
    extensions: Mapping[str, str | int | bool] = field(default_factory=dict)
    """Other attributes, such as ``correlationid``."""

    def members(self) -> dict[str, Any]:
        """Returns the event as the members of its JSON."""
        members: dict[str, Any] = {
            **self.extensions,
            "specversion": "1.0",
            "id": self.id,
            "source": self.source,
            "type": self.type,
            "subject": self.subject,
        }
        for name in ("time", "agent", "session", "run", "call", "datasubject"):
            value = getattr(self, name)
            if value is not None:
                members[name] = value
        if self.tags:
            members["tags"] = " ".join(self.tags)
        if isinstance(self.data, bytes):
            members["data_base64"] = base64.b64encode(self.data).decode("ascii")
        elif self.data is not ABSENT:
            members["data"] = self.data
        return members


@dataclass(frozen=True)
class EventLine:
    """An event as a line of NDJSON, and the id that its receipt has to name."""

    id: Any
    data: bytes


def event_line(event: Event | Mapping[str, Any]) -> EventLine:
    """Returns an event as a line of NDJSON. A mapping is a CloudEvent's JSON; without an ``id`` it gets one, which
    stays the same through all retries."""
    members = event.members() if isinstance(event, Event) else {"specversion": "1.0", "id": new_id(), **event}
    return EventLine(members["id"], json_bytes(members) + b"\n")
