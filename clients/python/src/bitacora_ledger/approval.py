"""An approval: a person's answer to a reviewed call."""

from __future__ import annotations

from dataclasses import dataclass

from bitacora_ledger.members import Members

PENDING = "pending"


@dataclass(frozen=True)
class Approval:
    """An approval, as it stands."""

    id: str
    status: str
    """``pending``, ``approved``, ``rejected``, ``edited``, ``withdrawn``, ``expired`` or ``consumed``."""
    call: str
    tool: str
    expires: str
    """The time until which it can be resolved and used, RFC 3339."""
    agent: str | None = None

    @property
    def is_pending(self) -> bool:
        """``True`` if nobody has answered yet."""
        return self.status == PENDING

    @staticmethod
    def read(members: Members) -> Approval:
        """Returns the approval of an answer."""
        return Approval(
            id=members.text("id"),
            status=members.text("status"),
            call=members.text("call"),
            tool=members.text("tool"),
            expires=members.text("expires"),
            agent=members.optional_text("agent"),
        )
