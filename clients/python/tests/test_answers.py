"""A service that answers nonsense, hangs, or points elsewhere."""

from __future__ import annotations

import logging
import time
from typing import Any

import pytest
from stub import answer, problem, stub

from bitacora_ledger import (
    AnswerLate,
    AsyncClient,
    Call,
    Client,
    ClientError,
    ConnectionBroken,
    Denied,
    Event,
    FollowError,
    Refused,
    StrangeAnswer,
    guarded_call,
)
from bitacora_ledger import http_pool as http_pool_module

TOKEN = "bt_" + "B" * 43
CALL = Call("add", id="c1")


def decision(**changes: Any) -> dict[str, Any]:
    return {
        "call": "c1", "verdict": "allow", "reasonCode": "x", "reason": "y", "position": "7", "mode": "enforce",
    } | changes  # fmt: skip


@pytest.mark.parametrize("verdict", ["Allow", "allowed", "ALLOW", "allow ", "permit", ""])
def test_an_unknown_verdict_is_a_no(verdict: str) -> None:
    with stub(lambda n, request: answer(200, decision(verdict=verdict))) as server:
        client = Client(server.url, token=TOKEN)
        assert not client.decide(CALL).allowed
        with pytest.raises(Denied), guarded_call(client, CALL):
            raise AssertionError("it ran")


@pytest.mark.parametrize(
    "said",
    [
        answer(200, b"<html>allow</html>"),
        answer(200, b'"allow"'),
        answer(200, decision(call="c2")),
        answer(201, decision()),
        answer(200, decision(verdict=True)),
        answer(200, decision(position="-7")),
        answer(200, decision(position=7)),
        answer(200, b"[" * 100_000),
        answer(404, b"not here"),
        answer(500, decision()),
    ],
)
def test_an_answer_that_is_none_is_no_allow(said: bytes) -> None:
    with stub(lambda n, request: said) as server, pytest.raises(StrangeAnswer):
        Client(server.url, token=TOKEN).decide(CALL)


async def test_neither_client_follows_a_redirect() -> None:
    with stub(lambda n, request: answer(200, decision())) as other:
        for status in (301, 302, 307, 308):
            moved = answer(status, b"", f"location: {other.url}/v1/ledgers/main/decide")
            with stub(lambda n, request, said=moved: said) as server:  # type: ignore[misc]
                with pytest.raises(StrangeAnswer):
                    Client(server.url, token=TOKEN).decide(CALL)
                async with AsyncClient(server.url, token=TOKEN) as client:
                    with pytest.raises(StrangeAnswer):
                        await client.decide(CALL)
        assert other.requests == []


def test_no_proxy_of_the_environment_gets_the_token(monkeypatch: pytest.MonkeyPatch) -> None:
    with (
        stub(lambda n, request: answer(200, decision())) as proxy,
        stub(lambda n, request: answer(200, decision())) as server,
    ):
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        monkeypatch.setenv("ALL_PROXY", proxy.url)
        assert Client(server.url, token=TOKEN).decide(CALL).allowed
        assert proxy.requests == [] and f"Bearer {TOKEN}".encode() in server.requests[0]


def test_a_service_that_hangs_ends_in_an_error() -> None:
    with stub(lambda n, request: None) as server:
        client = Client(server.url, token=TOKEN, retries=1, timeout_s=0.2)
        began = time.monotonic()
        with pytest.raises(AnswerLate) as late, guarded_call(client, CALL):
            raise AssertionError("it ran")
        assert time.monotonic() - began < 5 and late.value.side_effects == "unknown"
        assert len(server.requests) == 2 and server.requests[0] == server.requests[1]


def test_an_answer_without_an_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_pool_module, "MAX_ANSWER_BYTES", 1_000)
    with stub(lambda n, request: answer(200, b" " * 2_000)) as server, pytest.raises(StrangeAnswer):
        Client(server.url, token=TOKEN).decide(CALL)


def test_a_lost_answer_is_asked_for_again_under_the_same_id() -> None:
    said = {
        "results": [{"id": "e", "position": "5", "streamVersion": "1", "commitment": "00", "status": "duplicate"}],
        "first": "5", "last": "5", "head": {"position": "5", "hash": "00"}, "derived": [],
    }  # fmt: skip
    answers = [b"", problem("unknown", 503, retryable=True, side_effects="unknown"), answer(200, said)]
    with stub(lambda n, request: answers[n - 1]) as server:
        assert Client(server.url, token=TOKEN).append(Event("x.a", "agent/1", "s", id="e")).first == 5
        bodies = [request.partition(b"\r\n\r\n")[2] for request in server.requests]
        assert len(bodies) == 3 and len(set(bodies)) == 1


def test_retries_end() -> None:
    with stub(lambda n, request: b"") as server:
        with pytest.raises(ConnectionBroken):
            Client(server.url, token=TOKEN, retries=2).decide(CALL)
        assert len(server.requests) == 3
    with stub(lambda n, request: problem("forbidden", 403, retryable=False)) as server:
        with pytest.raises(Refused):
            Client(server.url, token=TOKEN).decide(CALL)
        assert len(server.requests) == 1


def test_a_receipt_too_few_is_no_receipt() -> None:
    said = {"results": [], "first": "5", "last": "5", "head": {"position": "5"}, "derived": []}
    with stub(lambda n, request: answer(201, said)) as server:
        client = Client(server.url, token=TOKEN)
        with pytest.raises(StrangeAnswer), client.appender() as appender:
            appender.append(Event("x.a", "agent/1", "s"))


def test_a_follower_refuses_an_event_twice() -> None:
    line = '{"position":"5","streamVersion":"1","recordedAt":"t","commitment":"00","event":{}}'
    text = f"id: 5\ndata: {line}\n\nid: 5\ndata: {line}\n\n".encode()
    said = answer(200, text, "ledger-id: 5e", kind="text/event-stream")
    with stub(lambda n, request: said) as server:
        following = Client(server.url, token=TOKEN).follow()
        assert next(following).position == 5
        with pytest.raises(FollowError):
            next(following)


def test_a_follower_without_a_service_does_not_wait_for_ever() -> None:
    with stub(lambda n, request: b"") as server, pytest.raises(ClientError):
        next(Client(server.url, token=TOKEN).follow())


def test_nothing_logs_the_token(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with stub(lambda n, request: answer(200, decision())) as server:
        with guarded_call(Client(server.url, token=TOKEN, retries=0), CALL):
            pass
    assert "not recorded" in caplog.text, "the stub's answer to the outcome is none"
    assert TOKEN not in caplog.text and "Bearer" not in caplog.text
