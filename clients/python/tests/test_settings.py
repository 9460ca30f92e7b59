"""Addresses, tokens, and the environment."""

from __future__ import annotations

import os
import pickle
import uuid
from pathlib import Path

import pytest

from bitacora_ledger import ServiceUrl, ServiceUrlError, Token, TokenError, new_id
from bitacora_ledger.backoff import Backoff
from bitacora_ledger.settings import Settings

TOKEN = "bt_" + "B" * 43


def test_a_service_is_named_by_host_and_port_or_by_its_socket() -> None:
    assert str(ServiceUrl.parse("http://127.0.0.1:7717")) == "http://127.0.0.1:7717"
    assert str(ServiceUrl.parse("http://[::1]:7717/")) == "http://[::1]:7717"
    assert str(ServiceUrl.parse("https://ledger.example")) == "https://ledger.example:443"
    assert ServiceUrl.parse("unix:/run/bitacora").socket == "/run/bitacora"
    for text in (
        "", "unix:", "127.0.0.1:7717", "http://", "http://x/y", "http://x?y", "http://a@b", "ftp://x", "http://x:y",
        "http://x#y", "http://x y",
    ):  # fmt: skip
        with pytest.raises(ServiceUrlError):
            ServiceUrl.parse(text)


def test_a_token_is_shown_nowhere(tmp_path: Path) -> None:
    token = Token(f" {TOKEN}\n")
    assert token.reveal() == TOKEN and TOKEN not in f"{token!r} {token}"
    with pytest.raises(TypeError):
        pickle.dumps(token)
    for bad in ("", "bt_", "bt_short", TOKEN[3:], TOKEN + "a", "bt_" + "é" * 43):
        with pytest.raises(TokenError) as error:
            Token(bad)
        assert not bad or bad not in str(error.value) or bad == "bt_"
    for path in (tmp_path, tmp_path / "missing", Path("/dev/zero")):
        with pytest.raises(TokenError):
            Token.from_file(path)


def test_the_caller_is_heard_before_the_environment(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(TOKEN + "\n")
    variables = {"BITACORA_URL": "http://a:1", "BITACORA_LEDGER": "other", "BITACORA_TOKEN_FILE": os.fspath(file)}
    found = Settings.resolve(None, None, None, None, variables)
    assert (str(found.url), found.ledger) == ("http://a:1", "other") and found.token is not None
    found = Settings.resolve("http://b:2", "main", None, None, {**variables, "BITACORA_TOKEN": ""})
    assert (str(found.url), found.ledger, found.token) == ("http://b:2", "main", None)
    with pytest.raises(ValueError, match="ledger"):
        Settings.resolve(None, "../x", None, None, {})
    with pytest.raises(ValueError, match="one of them"):
        Settings.resolve(None, None, TOKEN, file, {})


def test_ids_are_uuids_of_version_7() -> None:
    made = [uuid.UUID(new_id()) for _ in range(100)]
    assert {one.version for one in made} == {7} and {one.variant for one in made} == {uuid.RFC_4122}
    assert len(set(made)) == 100


def test_pauses_grow_up_to_a_limit_and_end() -> None:
    backoff = Backoff(8)
    assert [backoff.pause() for _ in range(9)] == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0, None]
    assert Backoff(None).pause(2.0) == 2.0 and Backoff(None).pause(60.0) == 5.0
