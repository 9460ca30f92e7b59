"""Contents of checkpoints: bytes and their encoding, in requests and answers."""

from __future__ import annotations

import base64
import binascii
import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from bitacora_ledger.exchange import JSON, json_bytes
from bitacora_ledger.limits import SPLICED_BYTES
from bitacora_ledger.members import Members, MembersError, position

_VALUE_BYTES = 128
"""Bytes that a content takes in a request beside itself, at most, but for its encoding."""


@dataclass(frozen=True)
class Content:
    """A channel's value, or a task's write: bytes, and their encoding in the executor's words."""

    data: bytes
    encoding: str | None = None

    @staticmethod
    def of_json(value: Any) -> Content:
        """Returns a JSON value, which people see as JSON."""
        return Content(json.dumps(value, ensure_ascii=False, allow_nan=False).encode(), JSON)


@dataclass(frozen=True)
class LargeContent:
    """A content that is larger than an answer; ``read`` of the checkpoints gets it piece by piece."""

    encoding: str | None
    size: int
    positions: tuple[int, ...]
    """The positions of the events whose data, one behind the other, are its bytes."""


class LostContent(Enum):
    """A content that cannot be had."""

    ERASED = "erased"
    """It was sealed under the key of a data subject, which is gone."""
    MISSING = "missing"
    """It was named before it was recorded."""


ContentState = Content | LargeContent | LostContent


class Splices:
    """Contents that are put into the JSON of a request behind its encoding: base64 needs no escapes."""

    def __init__(self) -> None:
        # Nobody can guess the mark, so no text of the request holds it.
        self._mark = secrets.token_hex(16)
        self._spliced: list[bytes] = []

    def within(self, content: Content) -> dict[str, Any]:
        """Returns a content within the request, in the order of the request."""
        if len(content.data) < SPLICED_BYTES:
            return within(content)
        self._spliced.append(binascii.b2a_base64(content.data, newline=False))
        return _with_encoding(content, {"base64": self._mark})

    def json_bytes(self, body: Any) -> bytes:
        """Returns the JSON of a request with its contents."""
        pieces = json_bytes(body).split(self._mark.encode()) if self._spliced else [json_bytes(body)]
        made = [pieces[0]]
        for spliced, piece in zip(self._spliced, pieces[1:], strict=True):
            made += (spliced, piece)
        return b"".join(made)


def within(content: Content) -> dict[str, Any]:
    """Returns a content within the request."""
    return _with_encoding(content, {"base64": base64.b64encode(content.data).decode("ascii")})


def named(content: Content, pieces: Sequence[str]) -> dict[str, Any]:
    """Returns a content that was sent ahead as these pieces."""
    return _with_encoding(content, {"bytes": len(content.data), "pieces": list(pieces)})


def _with_encoding(content: Content, value: dict[str, Any]) -> dict[str, Any]:
    return value if content.encoding is None else {"encoding": content.encoding, **value}


def read_content(members: Members) -> ContentState:
    """Returns the content of an answer."""
    if members.is_set("erased"):
        return LostContent.ERASED
    if members.is_set("missing"):
        return LostContent.MISSING
    encoding = members.optional_text("encoding")
    kinds = [name for name in ("base64", "json", "positions") if members.has(name)]
    if kinds == ["base64"]:
        return Content(read_base64(members.text("base64")), encoding)
    if kinds == ["json"]:
        return Content.of_json(members.json("json"))
    if kinds == ["positions"]:
        positions = tuple(position(text) for text in members.texts("positions"))
        return LargeContent(encoding, members.whole("bytes"), positions)
    raise MembersError("found no content")


def read_base64(text: str) -> bytes:
    """Returns the bytes of a padded base64 text."""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise MembersError("found no base64") from None


def sent_ahead(contents: Sequence[Content], room: int) -> list[bool]:
    """Chooses the contents that are sent ahead, so that the rest fits in ``room`` bytes of a request: the largest."""
    ahead = [True] * len(contents)
    for number in sorted(range(len(contents)), key=lambda one: len(contents[one].data)):
        content = contents[number]
        room -= -(-len(content.data) // 3) * 4 + len((content.encoding or "").encode()) + _VALUE_BYTES
        if room < 0:
            # All that come are as large.
            break
        ahead[number] = False
    return ahead
