"""A service that stalls, floods, or answers what was not asked; forks, interrupts and cancellations."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
import ssl
import subprocess
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from stub import Stub, answer, problem, stub

from bitacora_ledger import (
    AnswerLate,
    AsyncCheckpoints,
    AsyncClient,
    Call,
    Client,
    ClientClosed,
    ClientError,
    ConnectFailed,
    ConnectionBroken,
    Decision,
    Event,
    LargeContent,
    NewCheckpoint,
    Outcome,
    ServiceUrl,
    StrangeAnswer,
    Token,
)
from bitacora_ledger import exchange as exchange_module
from bitacora_ledger.connection import AsyncConnection, Connection
from bitacora_ledger.exchange import Request

TOKEN = "bt_" + "B" * 43
Ask = Callable[..., Decision]


def allow(call: str = "c1") -> bytes:
    return answer(
        200,
        {"call": call, "verdict": "allow", "reasonCode": "x", "reason": "y", "position": "7", "mode": "enforce"},
    )


def ask(server: Stub, **settings: Any) -> Decision:
    with Client(server.url, token=TOKEN, **settings) as client:
        return client.decide(Call("add", id="c1"))


def ask_async(server: Stub, **settings: Any) -> Decision:
    async def run() -> Decision:
        async with AsyncClient(server.url, token=TOKEN, **settings) as client:
            return await client.decide(Call("add", id="c1"))

    return asyncio.run(run())


both = pytest.mark.parametrize("asked", [ask, ask_async])


def dripping(data: bytes) -> Iterator[bytes]:
    for byte in data:
        yield bytes([byte])
        time.sleep(0.1)


@both
@pytest.mark.parametrize("from_byte", [0, 5, -20])
def test_an_answer_that_drips_ends_in_time(asked: Ask, from_byte: int) -> None:
    def said(n: int, request: bytes) -> Iterator[bytes]:
        yield allow()[:from_byte]
        yield from dripping(allow()[from_byte:])

    with stub(said) as server:
        began = time.monotonic()
        with pytest.raises(AnswerLate):
            asked(server, retries=0, timeout_s=0.5)
        assert time.monotonic() - began < 1.5


@both
@pytest.mark.parametrize(
    "head",
    [
        "content-length: 1073741824\r\n\r\n",
        "transfer-encoding: chunked\r\n\r\n" + "40000000\r\n",
        "\r\n",
        "x: ",
    ],
)
def test_a_gigabyte_is_not_taken(asked: Ask, head: str) -> None:
    sent = 0

    def said(n: int, request: bytes) -> Iterator[bytes]:
        nonlocal sent
        yield b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n" + head.encode()
        for _ in range(1024):
            yield b" " * (1 << 20)
            sent += 1

    with stub(said) as server, pytest.raises(StrangeAnswer):
        asked(server, retries=0, timeout_s=20)
    assert sent < 64


@both
@pytest.mark.parametrize("kind", ["text/html", "text/plain; charset=application/json", "application/jsonp", ""])
def test_an_answer_of_another_kind_is_no_allow(asked: Ask, kind: str) -> None:
    said = allow().replace(b"application/json", kind.encode())
    with stub(lambda n, request: said) as server, pytest.raises(StrangeAnswer):
        asked(server, retries=0)
    with stub(lambda n, request: allow().replace(b"json\r\n", b"JSON; charset=utf-8\r\n")) as server:
        assert asked(server).allowed


@both
def test_an_answer_that_ends_early_is_asked_for_again(asked: Ask) -> None:
    def said(n: int, request: bytes) -> Iterator[bytes]:
        yield allow() if n > 1 else allow()[:-20]
        if n == 1:
            raise OSError

    with stub(said) as server:
        assert asked(server, retries=1).allowed
        assert len(server.requests) == 2 and server.requests[0] == server.requests[1]
    with stub(lambda n, request: said(1, request)) as server, pytest.raises(ConnectionBroken):
        asked(server, retries=0)


def test_a_retry_is_not_put_off_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    for asked in ("1000000000", "99999999", "-5", "1e9", "Fri, 31 Dec 9999 23:59:59 GMT"):
        busy = problem("busy", 503, retryable=True)
        busy = busy.replace(b"\r\n\r\n", f"\r\nretry-after: {asked}\r\n\r\n".encode(), 1)
        with stub(lambda n, request, busy=busy: busy if n == 1 else allow()) as server:  # type: ignore[misc]
            assert ask(server).allowed
    assert len(pauses) == 5 and max(pauses) <= 5.0


@both
def test_a_service_that_takes_requests_and_says_nothing_is_given_up(
    asked: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange_module, "RETRY_PATIENCE_S", 0.5)
    with stub(lambda n, request: None) as server:
        began = time.monotonic()
        with pytest.raises(AnswerLate):
            asked(server, timeout_s=0.2)
        assert time.monotonic() - began < 2 and len(server.requests) < 6


def twice(n: int, request: bytes) -> bytes:
    """Allows the call of a request, and the first one twice: the second answer comes before its request."""
    call = json.loads(request.partition(b"\r\n\r\n")[2])["call"]
    return allow(call) * (2 if n == 1 else 1)


def test_an_answer_before_its_request_is_not_taken() -> None:
    with stub(twice) as server, Client(server.url, token=TOKEN, retries=0) as client:
        for number in range(3):
            assert client.decide(Call("add", id=f"c{number}")).call == f"c{number}"


async def test_an_answer_before_its_request_is_not_taken_by_a_task() -> None:
    with stub(twice) as server:
        async with AsyncClient(server.url, token=TOKEN, retries=0) as client:
            assert (await client.decide(Call("add", id="c1"))).call == "c1"
            with pytest.raises(StrangeAnswer):
                await client.decide(Call("add", id="c2"))
            await asyncio.sleep(0.05)
            assert (await client.decide(Call("add", id="c3"))).call == "c3"


def recorded(request: bytes) -> dict[str, Any]:
    """Returns the answer to what a request wants recorded, as if the ledger had nothing but that."""
    path, body = request.split(b" ", 2)[1], request.partition(b"\r\n\r\n")[2]
    if path.endswith(b"/outcome"):
        return {"call": json.loads(body)["call"], "type": "tool.completed", "position": "7"}
    if path.endswith(b":save"):
        return {"id": json.loads(body)["id"], "position": "7", "repeated": False}
    receipt = {"id": json.loads(body)["id"], "position": "7", "streamVersion": "1", "commitment": "00", "status": "created"}
    return {"results": [receipt], "first": "7", "last": "7", "head": {"position": "7", "hash": "00"}, "derived": []}


@pytest.mark.parametrize("act", ["append", "outcome", "save"])
async def test_nothing_is_recorded_by_the_answer_to_another_request(act: str) -> None:
    first: list[bytes] = []

    def said(n: int, request: bytes) -> bytes:
        first.append(answer(200, recorded(request)))
        return first[0]

    async def record(client: AsyncClient, threads: AsyncCheckpoints, number: int) -> object:
        if act == "append":
            return await client.append(Event("x.a", "agent/1", "s"))
        if act == "outcome":
            return await client.outcome(Outcome(f"c{number}", "ok"))
        return await threads.save("t", NewCheckpoint(f"{number:04}", number, "loop"))

    with stub(said) as server:
        async with AsyncClient(server.url, token=TOKEN) as client:
            threads = client.checkpoints()
            await record(client, threads, 1)
            with pytest.raises(StrangeAnswer):
                await record(client, threads, 2)


@both
@pytest.mark.parametrize(
    "head",
    [
        "content-length: {}\r\ntransfer-encoding: chunked",
        "content-length: {}\r\ncontent-length: 9",
        "content-length: -1",
        "content-length: +{}",
        "transfer-encoding: gzip, chunked",
        "transfer-encoding: identity",
        "x: y",
        "content-length: {}\r\nno colon",
    ],
)
def test_an_answer_whose_end_is_not_plain_is_no_allow(asked: Ask, head: str) -> None:
    body = allow().partition(b"\r\n\r\n")[2]
    lines = head.format(len(body)).encode()
    if b"chunked" in lines:
        body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)

    def said(n: int, request: bytes) -> Iterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n" + lines + b"\r\n\r\n" + body
        raise OSError

    with stub(said) as server, pytest.raises(ClientError):
        asked(server, retries=0, timeout_s=1)


@both
@pytest.mark.parametrize("said", [b"HTTP/1.1 103 Early Hints\r\n\r\n", b"HTTP/1.1 100 Continue\r\n\r\n"])
def test_interim_answers_are_none(asked: Ask, said: bytes) -> None:
    def for_ever(n: int, request: bytes) -> Iterator[bytes]:
        while True:
            yield said
            time.sleep(0.01)

    with stub(for_ever) as server, pytest.raises(ClientError):
        asked(server, retries=0, timeout_s=0.5)


@both
@pytest.mark.parametrize("chunk", [b"-1", b"+5", b"7fffffffffffffff", b"0x5", b""])
def test_a_chunk_of_no_size_is_not_taken(asked: Ask, chunk: bytes) -> None:
    sent = 0

    def said(n: int, request: bytes) -> Iterator[bytes]:
        nonlocal sent
        yield b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n" + chunk + b"\r\n"
        for _ in range(1024):
            yield b" " * (1 << 20)
            sent += 1

    with stub(said) as server, pytest.raises(ClientError):
        asked(server, retries=0, timeout_s=20)
    assert sent < 64


async def test_the_answer_to_a_cancelled_request_is_not_the_next_ones() -> None:
    def said(n: int, request: bytes) -> Iterator[bytes]:
        if n == 1:
            time.sleep(0.3)
        yield allow(f"c{n}")

    with stub(said) as server:
        async with AsyncClient(server.url, token=TOKEN) as client:
            first = asyncio.create_task(client.decide(Call("add", id="c1")))
            await asyncio.sleep(0.1)
            first.cancel()
            with pytest.raises(asyncio.CancelledError):
                await first
            assert (await client.decide(Call("add", id="c2"))).call == "c2"


async def test_cancelled_requests_leave_room_for_others() -> None:
    def said(n: int, request: bytes) -> bytes | None:
        call = str(json.loads(request.partition(b"\r\n\r\n")[2])["call"])
        return None if call.startswith("stalled") else allow(call)

    with stub(said) as server:
        async with AsyncClient(server.url, token=TOKEN, retries=0, timeout_s=5) as client:
            for _ in range(3):
                tasks = [asyncio.create_task(client.decide(Call("add", id=f"stalled{n}"))) for n in range(100)]
                await asyncio.sleep(0.2)
                for task in tasks:
                    task.cancel()
                await asyncio.wait(tasks)
            decided = await asyncio.gather(*(client.decide(Call("add", id=f"c{n}")) for n in range(100)))
    assert [one.call for one in decided] == [f"c{n}" for n in range(100)]


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl")
@both
def test_a_certificate_that_nobody_vouches_for_ends_the_request(asked: Ask, tmp_path: Path) -> None:
    key, certificate = tmp_path / "key", tmp_path / "certificate"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate],
        check=True, capture_output=True,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with stub(lambda n, request: allow(), context) as server:
        with pytest.raises(ConnectFailed, match="certificate"):
            asked(server, retries=0)
        assert server.requests == []
        known = httpx.create_ssl_context()
        known.load_verify_locations(certificate)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(httpx, "create_ssl_context", lambda **_: known)
            patch.setattr(httpx._transports.default, "create_ssl_context", lambda **_: known)
            for _ in range(2):
                assert asked(server, retries=0).allowed


def test_one_client_serves_one_event_loop_after_the_other() -> None:
    with stub(lambda n, request: allow()) as server:
        client = AsyncClient(server.url, token=TOKEN)
        for _ in range(2):
            assert asyncio.run(client.decide(Call("add", id="c1"))).allowed


def test_idle_connections_are_used_again_and_closed_ones_are_not() -> None:
    with stub(lambda n, request: allow()) as server:
        client = Client(server.url, token=TOKEN, retries=0)
        for _ in range(3):
            client.decide(Call("add", id="c1"))
        assert server.connections == 1
        server.drop()
        time.sleep(0.05)
        assert client.decide(Call("add", id="c1")).allowed and server.connections == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_has_connections_of_its_own() -> None:
    with stub(lambda n, request: allow()) as server:
        client = Client(server.url, token=TOKEN, retries=0)
        appender = client.appender()
        client.decide(Call("add", id="c1"))
        child = os.fork()
        if child == 0:
            code = 1
            try:
                allowed = client.decide(Call("add", id="c1")).allowed
                try:
                    appender.append(Event("x.a", "agent/1", "s"))
                except ClientClosed:
                    code = 0 if allowed else 2
            finally:
                os._exit(code)
        deadline = time.monotonic() + 10
        while (ended := os.waitpid(child, os.WNOHANG))[0] == 0 and time.monotonic() < deadline:
            time.sleep(0.02)
        if ended[0] == 0:
            os.kill(child, 9)
            os.waitpid(child, 0)
        assert ended[0] == child and os.waitstatus_to_exitcode(ended[1]) == 0
        assert client.decide(Call("add", id="c1")).allowed and server.connections == 2


def test_an_approval_that_is_not_held_back_is_not_asked_for_without_a_pause() -> None:
    said = {"id": "a1", "status": "pending", "call": "c1", "tool": "t", "expires": "2030-01-01T00:00:00Z"}
    with stub(lambda n, request: answer(200, said)) as server:
        assert Client(server.url, token=TOKEN).wait_for_approval("a1", 1.3).is_pending
        assert len(server.requests) <= 3


@pytest.mark.parametrize("resource", ["runs x", "runs\r\nx: y", "runs\u00e9", "a\0"])
def test_a_resource_is_no_way_into_a_request(resource: str) -> None:
    with stub(lambda n, request: answer(200, {})) as server:
        with pytest.raises(ValueError, match="escape"):
            Client(server.url, token=TOKEN).get(resource)
        assert server.requests == []


@pytest.mark.parametrize("positions", [["1" * 5_000], ["-1"], ["x"], ["\u0661"], [7]])
def test_positions_that_are_none_are_strange(positions: list[Any]) -> None:
    said = {
        "thread": "t", "namespace": "", "checkpoint": "c", "step": 1, "source": "loop", "position": "5", "time": "t",
        "channelVersions": {}, "values": {"a": {"positions": positions, "bytes": 9}},
    }  # fmt: skip
    with stub(lambda n, request: answer(200, said)) as server:
        with pytest.raises(StrangeAnswer):
            Client(server.url, token=TOKEN).checkpoints().get("t")
    assert LargeContent(None, 1, (2,)).positions == (2,)


def test_a_checkpoint_is_read_with_one_request_as_of_the_head() -> None:
    """A position that the service may stop at would let it answer from an older state."""
    none = problem("no-such-checkpoint", 404, retryable=False)
    with stub(lambda n, request: none) as server:
        assert Client(server.url, token=TOKEN).checkpoints().get("t") is None
        assert len(server.requests) == 1 and b"ledger-min-position" not in server.requests[0]


@both
def test_a_request_that_is_refused_early_gets_its_answer(asked: Ask) -> None:
    with stub(lambda n, request: problem("forbidden", 403, retryable=False)) as server, pytest.raises(ClientError):
        asked(server, retries=0)


@both
def test_a_report_of_an_error_with_its_variables_shows_no_token(asked: Ask) -> None:
    for said in (b"nonsense\r\n\r\n", None):
        with stub(lambda n, request, said=said: said) as server, pytest.raises(ClientError) as failed:  # type: ignore[misc]
            asked(server, retries=0, timeout_s=0.2)
        text = "".join(traceback.TracebackException.from_exception(failed.value, capture_locals=True).format())
        assert "exchange" in text and TOKEN not in text.replace(f"TOKEN = {TOKEN!r}", "")


@pytest.mark.parametrize("is_async", [False, True])
def test_a_report_of_a_request_that_nobody_reads_shows_no_token(is_async: bool) -> None:
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        server.bind(("127.0.0.1", 0))
        server.listen()
        url = ServiceUrl.parse(f"http://127.0.0.1:{server.getsockname()[1]}")
        request = Request("POST", "/", b"x" * 8_000_000, patience_s=0.3)
        with pytest.raises(AnswerLate) as failed:
            if is_async:
                asyncio.run(AsyncConnection(url, Token(TOKEN)).exchange(request))
            else:
                Connection(url, Token(TOKEN)).exchange(request)
    shown = traceback.TracebackException.from_exception(failed.value, capture_locals=True)
    assert TOKEN not in "".join(shown.format()).replace(f"TOKEN = {TOKEN!r}", "")
