"""The cursor of a follower, in a file: the format of the Rust client's."""

from __future__ import annotations

import contextlib
import json
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from bitacora_ledger.errors import CursorError
from bitacora_ledger.limits import MAX_CURSOR_BYTES
from bitacora_ledger.members import Members, MembersError


@dataclass(frozen=True)
class CursorPlace:
    """A ledger, and the position up to which everything was handled."""

    ledger: str
    after: int


class Cursor:
    """The file of a cursor. After a crash the events past it come again; none is left out."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)

    def load(self) -> CursorPlace | None:
        """Returns the kept place; ``None`` where there is none yet."""
        malformed = CursorError(f"{self._path}: not a cursor; remove it to begin anew")
        try:
            # A pipe would be waited for, and a device may have no end.
            if not stat.S_ISREG(self._path.stat().st_mode):
                raise malformed
            with self._path.open("rb") as file:
                text = file.read(MAX_CURSOR_BYTES + 1)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise CursorError(f"{self._path}: {error.strerror}") from error
        if len(text) > MAX_CURSOR_BYTES:
            raise malformed
        try:
            members = Members(json.loads(text))
            return CursorPlace(members.text("ledger"), members.position("after"))
        except (ValueError, RecursionError, MembersError):
            raise malformed from None

    def save(self, place: CursorPlace) -> None:
        """Keeps a place. Returned ⇒ durable: a new file is synced, renamed, and its folder synced."""
        fresh = self._path.with_name(self._path.name + ".new")
        text = json.dumps({"ledger": place.ledger, "after": str(place.after)}).encode()
        try:
            # Made anew: what has the name may be a link to another file.
            with contextlib.suppress(FileNotFoundError):
                fresh.unlink()
            with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(self._path)
            folder = os.open(self._path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        except OSError as error:
            raise CursorError(f"{self._path}: {error.strerror}") from error

    def check(self, ledger: str) -> None:
        """Raises if the cursor is of another ledger: its position says nothing there."""
        place = self.load()
        if place is not None and place.ledger != ledger:
            raise CursorError(
                f"{self._path}: a cursor of ledger {place.ledger}, not of {ledger}; remove it to begin anew"
            )
