"""A problem that the service reports (RFC 9457)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bitacora_ledger.members import Members, MembersError


@dataclass(frozen=True)
class Fault:
    """A single fault of a request, by its place."""

    detail: str
    pointer: str | None = None
    line: int | None = None
    parameter: str | None = None
    header: str | None = None


@dataclass(frozen=True)
class Problem:
    """The reason why the service refuses a request."""

    code: str
    """A stable name for programs, as docs/HTTP.md lists them."""
    status: int
    """The HTTP status."""
    title: str
    """The same for every occurrence of the code."""
    detail: str
    """The cause in this case."""
    retryable: bool
    """``True`` if the same request may succeed later."""
    side_effects: str
    """The effect that the request may have had: ``none``, ``unknown`` or ``committed``."""
    position: int | None = None
    """The position of the event that refuses the request, if one does."""
    tip: int | None = None
    """The last durable position, where the request names one past it."""
    expected: str | None = None
    """The version of the stream that was expected."""
    actual: str | None = None
    """The version that is there instead."""
    needs: str | None = None
    """The role that may do this, where another one was refused."""
    faults: tuple[Fault, ...] = ()
    """The single faults of the request."""

    @staticmethod
    def read(value: Any, status: int) -> Problem | None:
        """Returns the problem of an answer; ``None`` if the value is not one."""
        try:
            members = Members(value)
            return Problem(
                code=members.text("code"),
                status=status,
                title=members.text("title"),
                detail=members.text("detail"),
                retryable=members.flag("retryable"),
                side_effects=members.text("sideEffects"),
                position=members.optional_position("position"),
                tip=members.optional_position("tip"),
                expected=members.optional_text("expected"),
                actual=members.optional_text("actual"),
                needs=members.optional_text("needs"),
                faults=tuple(_fault(fault) for fault in members.optional_items("errors")),
            )
        except MembersError:
            return None


def _fault(members: Members) -> Fault:
    return Fault(
        detail=members.text("detail"),
        pointer=members.optional_text("pointer"),
        line=members.optional_whole("line"),
        parameter=members.optional_text("parameter"),
        header=members.optional_text("header"),
    )
