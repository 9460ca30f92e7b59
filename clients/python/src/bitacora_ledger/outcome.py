"""The report of a call's end."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal

from bitacora_ledger.call import Call
from bitacora_ledger.members import Members

OutcomeStatus = Literal["ok", "error", "timeout", "interrupted", "rejected", "blocked"]
"""``ok``; ``error``, ``timeout`` or ``interrupted``; ``rejected`` or ``blocked`` if it did not run."""

_NAMES = {
    "error_type": "errorType",
    "exit_code": "exitCode",
    "duration_ms": "durationMs",
    "cost_usd": "costUsd",
    "post_check_passed": "postCheckPassed",
}


@dataclass(frozen=True)
class Outcome:
    """How a call ended, and what it used."""

    call: str
    status: OutcomeStatus
    error_type: str | None = None
    """The kind of error, in one word."""
    exit_code: int | None = None
    duration_ms: int | None = None
    cost_usd: str | None = None
    """The cost in US dollars, with up to six decimals: ``"0.0023"``."""
    post_check_passed: bool | None = None
    agent: str | None = None
    session: str | None = None
    run: str | None = None

    @staticmethod
    def of(call: Call, status: OutcomeStatus, error_type: str | None = None, duration_ms: int | None = None) -> Outcome:
        """Returns the report of a call, in the stream that its request was recorded in."""
        return Outcome(
            call.id,
            status,
            error_type=error_type,
            duration_ms=duration_ms,
            agent=call.agent,
            session=call.session,
            run=call.run,
        )

    def members(self) -> dict[str, Any]:
        """Returns the report as the members of a request."""
        values = ((_NAMES.get(one.name, one.name), getattr(self, one.name)) for one in fields(self))
        return {name: value for name, value in values if value is not None}


@dataclass(frozen=True)
class OutcomeRecorded:
    """The place of a recorded outcome."""

    call: str
    type: str
    """``tool.completed``, ``tool.failed`` or ``tool.blocked``."""
    position: int
    breaker: str | None = None
    """The breaker of the call's dimension now: ``closed``, ``open`` or ``half_open``."""

    @staticmethod
    def read(members: Members) -> OutcomeRecorded:
        """Returns the outcome of an answer."""
        return OutcomeRecorded(
            call=members.text("call"),
            type=members.text("type"),
            position=members.position("position"),
            breaker=members.optional_text("breaker"),
        )
