"""The decision about a call."""

from __future__ import annotations

from dataclasses import dataclass

from bitacora_ledger.members import Members

ALLOW = "allow"
REVIEW = "review"


@dataclass(frozen=True)
class Obligations:
    """The conditions on an allowed call."""

    timeout_ms: int | None = None
    max_retries: int | None = None
    backoff_ms: int | None = None
    exclude_secret_files: bool = False
    """``True``: the executor leaves out the files that the active policy names secret or reviewed."""


@dataclass(frozen=True)
class Decision:
    """The decision about a call. Only :attr:`allowed` lets it begin."""

    call: str
    verdict: str
    """``allow``, ``review`` or ``deny``. Any other word is a no."""
    reason_code: str
    """The reason, in one word."""
    reason: str
    """The reason, in words that an agent can act on."""
    position: int
    """The decision's position in the ledger."""
    mode: str
    """``enforce`` or ``observe``. In ``observe`` calls are allowed, and ``would_be`` holds the verdict of ``enforce``."""
    would_be: str | None = None
    approval: str | None = None
    """The approval that waits for a person, or that allowed the call."""
    approval_expires: str | None = None
    expires: str | None = None
    """The time before which an allowed call has to begin, RFC 3339."""
    rule: str | None = None
    retry_after_ms: int | None = None
    obligations: Obligations = Obligations()

    @property
    def allowed(self) -> bool:
        """``True`` if the call may begin now. Nothing else is an allow."""
        return self.verdict == ALLOW

    @property
    def is_waiting(self) -> bool:
        """``True`` if a person is asked: the call may begin once the approval is given."""
        return self.verdict == REVIEW and self.approval is not None

    @staticmethod
    def read(members: Members) -> Decision:
        """Returns the decision of an answer."""
        approval = members.optional_within("approval")
        return Decision(
            call=members.text("call"),
            verdict=members.text("verdict"),
            reason_code=members.text("reasonCode"),
            reason=members.text("reason"),
            position=members.position("position"),
            mode=members.text("mode"),
            would_be=members.optional_text("wouldBe"),
            approval=approval.text("id") if approval else None,
            approval_expires=approval.optional_text("expires") if approval else None,
            expires=members.optional_text("expires"),
            rule=members.optional_text("rule"),
            retry_after_ms=members.optional_whole("retryAfterMs"),
            obligations=_obligations(members.optional_within("obligations")),
        )


def _obligations(members: Members | None) -> Obligations:
    if members is None:
        return Obligations()
    retry = members.optional_within("retry")
    return Obligations(
        timeout_ms=members.optional_whole("timeoutMs"),
        max_retries=retry.whole("max") if retry else None,
        backoff_ms=retry.optional_whole("backoffMs") if retry else None,
        exclude_secret_files=members.is_set("excludeSecretFiles"),
    )
