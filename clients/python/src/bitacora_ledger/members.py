"""The members of a JSON object of the service, read by their types. Unknown members are passed over."""

from __future__ import annotations

from typing import Any


class MembersError(ValueError):
    """A member is missing, or is of another type."""


class Members:
    """A JSON object of an answer."""

    __slots__ = ("_object",)

    def __init__(self, value: Any) -> None:
        if not isinstance(value, dict):
            raise MembersError("found no object")
        self._object: dict[str, Any] = value

    def text(self, name: str) -> str:
        """Returns a text."""
        value = self._object.get(name)
        if not isinstance(value, str):
            raise MembersError(f"{name}: found no text")
        return value

    def optional_text(self, name: str) -> str | None:
        """Returns a text, if there is one."""
        return None if self._object.get(name) is None else self.text(name)

    def flag(self, name: str) -> bool:
        """Returns a truth value; absent is an error."""
        value = self._object.get(name)
        if not isinstance(value, bool):
            raise MembersError(f"{name}: found neither true nor false")
        return value

    def is_set(self, name: str) -> bool:
        """Returns ``True`` if the member is ``true``; absent is ``False``."""
        return self._object.get(name) is not None and self.flag(name)

    def optional_flag(self, name: str) -> bool | None:
        """Returns a truth value, if there is one."""
        return None if self._object.get(name) is None else self.flag(name)

    def whole(self, name: str) -> int:
        """Returns a whole number."""
        value = self._object.get(name)
        if not isinstance(value, int) or isinstance(value, bool):
            raise MembersError(f"{name}: found no whole number")
        return value

    def optional_whole(self, name: str) -> int | None:
        """Returns a whole number, if there is one."""
        return None if self._object.get(name) is None else self.whole(name)

    def position(self, name: str) -> int:
        """Returns a position, which the service writes as a decimal text."""
        return position(self.text(name))

    def optional_position(self, name: str) -> int | None:
        """Returns a position, if there is one."""
        return None if self._object.get(name) is None else self.position(name)

    def items(self, name: str) -> list[Members]:
        """Returns a list of objects."""
        value = self._object.get(name)
        if not isinstance(value, list):
            raise MembersError(f"{name}: found no list")
        return [Members(item) for item in value]

    def optional_items(self, name: str) -> list[Members]:
        """Returns a list of objects, empty if there is none."""
        return [] if self._object.get(name) is None else self.items(name)

    def texts(self, name: str) -> list[str]:
        """Returns a list of texts, empty if there is none."""
        value = self._object.get(name)
        if value is None:
            return []
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise MembersError(f"{name}: found no list of texts")
        return value

    def within(self, name: str) -> Members:
        """Returns an object within this one."""
        return Members(self._object.get(name))

    def optional_within(self, name: str) -> Members | None:
        """Returns an object within this one, if there is one."""
        return None if self._object.get(name) is None else self.within(name)

    def json(self, name: str) -> Any:
        """Returns any JSON value; ``None`` where it is absent."""
        return self._object.get(name)

    def has(self, name: str) -> bool:
        """Returns ``True`` if there is such a member, even a ``null``."""
        return name in self._object

    def whole_object(self) -> dict[str, Any]:
        """Returns the object itself."""
        return self._object


def position(text: str) -> int:
    """Returns a position or version of a stream: a decimal number below 2^64."""
    if not (text.isascii() and text.isdecimal() and len(text) <= 20):
        raise MembersError("found no position")
    number = int(text)
    if number >= 2**64:
        raise MembersError("found no position")
    return number
