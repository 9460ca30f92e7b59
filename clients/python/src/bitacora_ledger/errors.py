"""The errors of requests: no answer, a refusal, or a call that may not begin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bitacora_ledger.problem import Problem

if TYPE_CHECKING:
    from bitacora_ledger.call import Call
    from bitacora_ledger.decision import Decision


class BitacoraError(Exception):
    """The root of the errors of this package."""


class ClientError(BitacoraError):
    """The reason why there is no usable answer."""

    retryable: bool = False
    """``True`` if a retry may succeed."""
    side_effects: str = "unknown"
    """The effect that the request may have had: ``none``, ``unknown`` or ``committed``."""
    retry_after_s: float | None = None
    """The pause before a retry that the service asks for, seconds."""

    @property
    def code(self) -> str | None:
        """The service's code of the refusal; ``None`` where it gave none."""
        return None


class ConnectFailed(ClientError):
    """Nobody takes the connection. Nothing was sent."""

    retryable = True
    side_effects = "none"


class ConnectionBroken(ClientError):
    """The connection broke on the way: whether the service did what was asked is unknown."""

    retryable = True


class AnswerLate(ClientError):
    """Nothing came in time: whether the service did what was asked is unknown."""

    retryable = True


class StrangeAnswer(ClientError):
    """The answer is not one of this service, is about something else than was asked, or is of another version."""


class ContentTooLarge(ClientError):
    """A content or event is larger than any that is taken. Nothing was sent."""

    side_effects = "none"


class ClientClosed(ClientError):
    """The client or appender was closed before the request was sent."""

    side_effects = "none"


class Refused(ClientError):
    """The service refuses the request."""

    def __init__(self, problem: Problem, retry_after_s: float | None = None) -> None:
        super().__init__(_shown(f"{problem.detail} ({problem.code}, HTTP {problem.status})"))
        self.problem = problem
        self.retryable = problem.retryable
        self.side_effects = problem.side_effects
        self.retry_after_s = retry_after_s

    @property
    def code(self) -> str:
        """The service's code of the refusal."""
        return self.problem.code


class FollowError(BitacoraError):
    """Following ended on a lasting error. Everything given before stays valid."""


class CursorError(BitacoraError):
    """A cursor's file is not read or kept, or is of another ledger."""


class NotAllowed(BitacoraError):
    """The call may not begin."""

    def __init__(self, decision: Decision) -> None:
        super().__init__(_shown(f"{decision.verdict}: {decision.reason} ({decision.reason_code})"))
        self.decision = decision


class Denied(NotAllowed):
    """The call is denied: by the policy, by a person, or by a word that this version does not know."""


class ArgumentsChanged(BitacoraError):
    """The arguments were changed while the call was decided about. The call did not run."""


class ReviewPending(NotAllowed):
    """A person has not answered yet. Ask the same call again with its approval once it is given."""

    def __init__(self, decision: Decision, call: Call, approval: str) -> None:
        super().__init__(decision)
        self.approval = approval
        """The id of the approval that waits."""
        self.call = call
        """The same call with its approval, to be asked again."""


def _shown(text: str) -> str:
    """Returns a text of the service in characters that a terminal only shows."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
