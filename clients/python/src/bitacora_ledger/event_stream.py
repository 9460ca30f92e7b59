"""A parser of the ``text/event-stream`` that a service sends, message by message."""

from __future__ import annotations

from dataclasses import dataclass

from bitacora_ledger.exchange import strange
from bitacora_ledger.limits import MAX_MESSAGE_BYTES

_END = b"\n\n"


@dataclass(frozen=True)
class Message:
    """A message: its kind, id and data, undecoded."""

    kind: bytes = b""
    id: bytes | None = None
    data: bytes | None = None


class EventStream:
    """Bytes that are not a whole message yet."""

    def __init__(self) -> None:
        self._unread = bytearray()
        self._scanned = 0

    def push(self, piece: bytes) -> list[Message]:
        """Takes a piece, and returns the messages that it completes."""
        self._unread += piece
        messages = []
        begin = 0
        search = max(self._scanned - 1, 0)
        while (end := self._unread.find(_END, search)) >= 0:
            messages.append(_message(bytes(self._unread[begin:end])))
            begin = search = end + len(_END)
        del self._unread[:begin]
        self._scanned = len(self._unread)
        if self._scanned > MAX_MESSAGE_BYTES:
            raise strange()
        return messages


def _message(block: bytes) -> Message:
    fields: dict[bytes, bytes] = {}
    for line in block.split(b"\n"):
        name, _, value = line.partition(b":")
        fields[name] = value.removeprefix(b" ")
    return Message(fields.get(b"event", b""), fields.get(b"id"), fields.get(b"data"))
