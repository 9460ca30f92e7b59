"""A call of a tool that is to be decided."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any

from bitacora_ledger.identifier import new_id

_NAMES = {"id": "call", "idempotency_key": "idempotencyKey", "deadline_ms": "deadlineMs", "blast_radius": "blastRadius"}


@dataclass(frozen=True)
class Call:
    """A call of a tool. Its id is the executor's choice, a new one for each call."""

    tool: str
    args: Any = field(default_factory=dict)
    """The arguments: any JSON value."""
    id: str = field(default_factory=new_id)
    server: str | None = None
    """The server that the tool belongs to."""
    agent: str | None = None
    """The agent that calls, where the token does not say so."""
    model: str | None = None
    task_type: str | None = None
    session: str | None = None
    run: str | None = None
    cwd: str | None = None
    """The folder that paths in the arguments are relative to."""
    approval: str | None = None
    """The approval that a person has given for this call."""
    idempotency_key: str | None = None
    """One effect for one key."""
    estimate: str | None = None
    """The estimated cost in US dollars: ``"0.0023"``."""
    blast_radius: str | None = None
    """``low``, ``medium``, ``high`` or ``critical``, where it is more than the registry says."""
    deadline_ms: int | None = None
    """The time that the call may take."""
    interactive: bool | None = None
    """``True`` if a person is there to be asked."""

    def with_approval(self, approval: str) -> Call:
        """Returns the same call with an approval."""
        return replace(self, approval=approval)

    def members(self) -> dict[str, Any]:
        """Returns the call as the members of a request."""
        values = ((_NAMES.get(one.name, one.name), getattr(self, one.name)) for one in fields(self))
        return {name: value for name, value in values if value is not None or name == "args"}
