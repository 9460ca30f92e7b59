"""Where a client finds its service, ledger and token: named by the caller, else by the environment."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from bitacora_ledger.service_url import ServiceUrl
from bitacora_ledger.token import Token

DEFAULT_URL = "http://127.0.0.1:7717"
DEFAULT_LEDGER = "main"
_LEDGER_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")


@dataclass(frozen=True)
class Settings:
    """The service, ledger and token of a client."""

    url: ServiceUrl
    ledger: str
    token: Token | None

    @staticmethod
    def resolve(
        base_url: str | None,
        ledger: str | None,
        token: Token | str | None,
        token_file: str | os.PathLike[str] | None,
        environment: Mapping[str, str] | None = None,
    ) -> Settings:
        """Returns what the caller names, else what ``BITACORA_URL``, ``BITACORA_LEDGER``, ``BITACORA_TOKEN``,
        ``BITACORA_TOKEN_FILE`` and, for TLS, ``BITACORA_CA_FILE`` name. An empty ``BITACORA_TOKEN`` sends no token."""
        variables = os.environ if environment is None else environment
        name = ledger or variables.get("BITACORA_LEDGER") or DEFAULT_LEDGER
        if not _LEDGER_NAME.fullmatch(name):
            raise ValueError("not a ledger's name: 1 to 64 characters of a-z, 0-9 and -")
        url = ServiceUrl.parse(base_url or variables.get("BITACORA_URL") or DEFAULT_URL)
        if url.is_encrypted:
            url = replace(url, ca_file=variables.get("BITACORA_CA_FILE") or None)
        return Settings(url, name, _token(token, token_file, variables))


def _token(
    token: Token | str | None, token_file: str | os.PathLike[str] | None, variables: Mapping[str, str]
) -> Token | None:
    if token is not None and token_file is not None:
        raise ValueError("a token and a token's file: name one of them")
    if isinstance(token, Token):
        return token
    if token is not None:
        return Token(token)
    if token_file is not None:
        return Token.from_file(token_file)
    if "BITACORA_TOKEN" in variables:
        named = variables["BITACORA_TOKEN"]
        return Token(named) if named else None
    path = variables.get("BITACORA_TOKEN_FILE")
    return Token.from_file(path) if path else None
