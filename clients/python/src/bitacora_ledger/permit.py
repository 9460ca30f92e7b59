"""The permission for a call to begin: decided, and approved by a person where that is asked for."""

from __future__ import annotations

import time
from dataclasses import dataclass

from bitacora_ledger.call import Call
from bitacora_ledger.decision import Decision
from bitacora_ledger.errors import Denied, ReviewPending
from bitacora_ledger.exchange import Steps
from bitacora_ledger.ledger import Ledger
from bitacora_ledger.limits import MAX_REASKS


@dataclass(frozen=True)
class Permit:
    """A call that may begin now, as it was asked for last."""

    call: Call
    decision: Decision


def permit(ledger: Ledger, call: Call, patience_s: float) -> Steps[Permit]:
    """Asks for a call; waits for its approval, and asks again with it. Everything but an allow raises."""
    deadline = time.monotonic() + patience_s
    for _ in range(MAX_REASKS + 1):
        decision = yield from ledger.decide(call)
        if decision.allowed:
            return Permit(call, decision)
        if not decision.is_waiting or decision.approval is None:
            break
        call = call.with_approval(decision.approval)
        left = deadline - time.monotonic()
        if left <= 0:
            raise ReviewPending(decision, call, decision.approval)
        approval = yield from ledger.wait_for_approval(decision.approval, left)
        if approval.is_pending:
            raise ReviewPending(decision, call, decision.approval)
    raise Denied(decision)
