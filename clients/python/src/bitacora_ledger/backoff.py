"""The pauses before a retry."""

from __future__ import annotations

from bitacora_ledger.limits import FIRST_PAUSE_S, MAX_PAUSE_S, MAX_RETRIES


class Backoff:
    """Growing pauses: each is twice the one before, up to a limit, and never shorter than the service asks for."""

    __slots__ = ("_left", "_next")

    def __init__(self, retries: int | None = MAX_RETRIES) -> None:
        """Returns pauses for this number of retries; ``None`` is without an end."""
        self._next = FIRST_PAUSE_S
        self._left = retries

    def pause(self, asked_s: float | None = None) -> float | None:
        """Returns the pause before the next retry, seconds; ``None`` when no retry is left."""
        if self._left is not None:
            if self._left <= 0:
                return None
            self._left -= 1
        pause = min(max(asked_s or 0.0, self._next), MAX_PAUSE_S)
        self._next = min(self._next * 2, MAX_PAUSE_S)
        return pause
