"""The token that requests are sent with."""

from __future__ import annotations

import base64
import binascii
import os
import stat
from pathlib import Path

from bitacora_ledger.limits import MAX_TOKEN_FILE_BYTES

_PREFIX = "bt_"
_RANDOM_BYTES = 32


class TokenError(ValueError):
    """A text or file is not a token. The text is not shown: it may be nearly one."""


class Token:
    """A token, as ``bitacora token create`` shows it. Neither ``repr`` nor a pickle shows it, so that it reaches no log."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        text = text.strip()
        try:
            bits = base64.b64decode(text.removeprefix(_PREFIX) + "=", altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            bits = b""
        if not text.startswith(_PREFIX) or len(bits) != _RANDOM_BYTES:
            raise TokenError(
                "not a token; one is `bt_` and 43 characters, as `bitacora token create` shows it"
            ) from None
        self._text = text

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Token:
        """Returns the token in a file of its own. A file that is no regular one is refused."""
        try:
            with Path(path).open("rb") as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    raise TokenError(f"{os.fspath(path)}: not a regular file")
                text = file.read(MAX_TOKEN_FILE_BYTES + 1)
        except OSError as error:
            raise TokenError(f"{os.fspath(path)}: {error.strerror}; name the file of a token") from None
        if len(text) > MAX_TOKEN_FILE_BYTES:
            raise TokenError(f"{os.fspath(path)}: longer than a token's file")
        try:
            return cls(text.decode("ascii", "replace"))
        except TokenError as error:
            raise TokenError(f"{os.fspath(path)}: {error}") from None

    def reveal(self) -> str:
        """Returns its text, for the header that carries it."""
        return self._text

    def __repr__(self) -> str:
        return "Token"

    def __reduce__(self) -> str:
        raise TypeError("a token is not pickled")
