"""A service whose answers are well formed, and about something else than what was asked."""

from __future__ import annotations

import asyncio
import gzip
import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from stub import answer, stub

from bitacora_ledger import (
    AnswerLate,
    AsyncClient,
    Call,
    CheckpointContext,
    CheckpointFilter,
    Checkpoints,
    Client,
    Content,
    EventFilter,
    LargeContent,
    NewCheckpoint,
    StrangeAnswer,
    TaskWrites,
)
from bitacora_ledger.langgraph.saver_acts import SaverActs
from bitacora_ledger.limits import CONTENT_PART_BYTES

TOKEN = "bt_" + "B" * 43

ACTS: dict[str, Callable[[Checkpoints], object]] = {
    "save": lambda threads: threads.save("t", NewCheckpoint("c1", 1, "loop")),
    "write": lambda threads: threads.write("t", "c1", TaskWrites("a", ())),
    "copy": lambda threads: threads.copy("t", "u"),
    "fork": lambda threads: threads.fork("t", "c2"),
    "delete": lambda threads: threads.delete("t"),
}


def act_of(request: bytes) -> str:
    """Returns the id of an act, as its request names it."""
    line, body = request.partition(b"\r\n")[0].decode(), request.partition(b"\r\n\r\n")[2]
    return str(json.loads(body)["id"]) if body else line.partition("id=")[2].partition("&")[0].partition(" ")[0]


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("change", [{}, {"id": None}, {"id": "other"}, {"position": 7}, {"repeated": "no"}])
def test_an_act_is_recorded_by_the_answer_that_names_it(act: str, change: dict[str, Any]) -> None:
    def said(n: int, request: bytes) -> bytes:
        return answer(200, {"id": act_of(request), "position": "7", "repeated": False} | change)

    with stub(said) as server, Client(server.url, token=TOKEN) as client:
        if change:
            with pytest.raises(StrangeAnswer):
                ACTS[act](client.checkpoints())
        else:
            ACTS[act](client.checkpoints())
        assert len(server.requests) == 1


def saved(**changes: Any) -> dict[str, Any]:
    return {
        "thread": "t", "namespace": "n", "checkpoint": "c1", "step": 1, "source": "loop", "position": "5", "time": "t",
        "channelVersions": {}, "values": {}, "writes": [], "metadata": {"run_id": "r1", "k": 1},
    } | changes  # fmt: skip


OTHERS: list[dict[str, Any]] = [{"thread": "u"}, {"namespace": ""}, {"checkpoint": "c2"}, {"metadata": {"run_id": "r2"}}]


@pytest.mark.parametrize("change", OTHERS[:3])
def test_another_checkpoint_is_not_taken_for_the_one_that_was_asked_for(change: dict[str, Any]) -> None:
    with stub(lambda n, request: answer(200, saved(**(change if n > 1 else {})))) as server:
        threads = Client(server.url, token=TOKEN).checkpoints()
        assert threads.get("t", checkpoint="c1", namespace="n") is not None
        with pytest.raises(StrangeAnswer):
            threads.get("t", checkpoint="c1", namespace="n")


@pytest.mark.parametrize("change", [*OTHERS[:2], OTHERS[3]])
def test_a_list_has_no_checkpoints_of_others(change: dict[str, Any]) -> None:
    """Those of a run are deleted with it."""
    where = CheckpointFilter(thread="t", namespace="n", metadata={"run_id": "r1", "k": 1.0})
    with stub(lambda n, request: answer(200, {"checkpoints": [saved(), saved(**(change if n > 1 else {}))]})) as server:
        threads = Client(server.url, token=TOKEN).checkpoints()
        assert len(threads.page(where).checkpoints) == 2
        with pytest.raises(StrangeAnswer):
            threads.page(where)


async def test_pages_that_lead_back_end() -> None:
    with stub(lambda n, request: answer(200, {"checkpoints": [], "next": "ab"[n % 2]})) as server:
        with pytest.raises(StrangeAnswer):
            list(Client(server.url, token=TOKEN).checkpoints().list())
        async with AsyncClient(server.url, token=TOKEN) as client:
            with pytest.raises(StrangeAnswer):
                _ = [one async for one in client.checkpoints().list()]
        assert len(server.requests) == 6


def test_parents_that_lead_back_end() -> None:
    """What a delta channel needs is looked for along the parents."""
    first = saved(metadata={"counters_since_delta_snapshot": {"a": 1}})

    def said(n: int, request: bytes) -> bytes:
        if n == 1:
            return answer(200, {"checkpoints": [first]})
        name = request.partition(b"checkpoint=")[2][:2].decode()
        return answer(200, saved(checkpoint=name, parent="c2" if name == "c1" else "c1"))

    with stub(said) as server, Client(server.url, token=TOKEN) as client:
        with pytest.raises(StrangeAnswer):
            client.run(SaverActs(client.ledger, CheckpointContext()).prune(["t"], "keep_latest"))
        assert len(server.requests) == 4


@pytest.mark.parametrize(
    "said", [{"pieces": ["d1"], "bytes": 1}, {"pieces": [], "bytes": CONTENT_PART_BYTES}, {"bytes": CONTENT_PART_BYTES}]
)
def test_content_that_goes_ahead_is_named_by_its_own_pieces(said: dict[str, Any]) -> None:
    with stub(lambda n, request: answer(200, said)) as server:
        threads = Client(server.url, token=TOKEN).checkpoints()
        new = NewCheckpoint("c1", 1, "loop", values={"a": Content(bytes(CONTENT_PART_BYTES))})
        with pytest.raises(StrangeAnswer):
            threads.save("t", new)
        assert len(server.requests) == 1


def event(position: int, **changes: Any) -> dict[str, Any]:
    members = {
        "specversion": "1.0", "id": "e", "source": "s", "type": "x.a", "subject": "s1", "run": "r1", "tags": "one two",
        "data_base64": "AAH+/w==",
    } | changes  # fmt: skip
    return {
        "position": str(position), "streamVersion": "1", "recordedAt": "t", "commitment": "00", "event": members,
    }  # fmt: skip


def test_another_event_is_not_the_one_at_a_position() -> None:
    with stub(lambda n, request: answer(200, event(6))) as server:
        client = Client(server.url, token=TOKEN)
        assert client.event(6).position == 6
        assert client.checkpoints().read(LargeContent(None, 4, (6,))) == Content(b"\x00\x01\xfe\xff")
        with pytest.raises(StrangeAnswer):
            client.event(5)
        with pytest.raises(StrangeAnswer):
            client.checkpoints().read(LargeContent(None, 4, (5,)))


WHERE = EventFilter(types=["x.a", "x.b"], stream="s1", run="r1", tag="two")
ELSEWHERE: list[dict[str, Any]] = [{"type": "x.c"}, {"subject": "s2"}, {"run": "r2"}, {"run": None}, {"tags": "twofold"}]


def page(*events: dict[str, Any], **changes: Any) -> bytes:
    return answer(200, {"events": events, "head": {"position": "9", "hash": "00"}} | changes)


@pytest.mark.parametrize(
    "events",
    [*([event(6, **change)] for change in ELSEWHERE), [event(5)], [event(7), event(6)], [event(6), event(6)]],
)
def test_a_page_has_the_events_that_were_asked_for(events: list[dict[str, Any]]) -> None:
    erased = event(7, run=None) | {"erased": True}
    with stub(lambda n, request: page(event(6), erased) if n == 1 else page(*events)) as server:
        client = Client(server.url, token=TOKEN)
        assert [one.position for one in client.read(WHERE, after=5).events] == [6, 7]
        with pytest.raises(StrangeAnswer):
            client.read(WHERE, after=5)


@pytest.mark.parametrize("change", ELSEWHERE)
async def test_a_follower_gives_no_event_of_another_run(change: dict[str, Any]) -> None:
    lines = [json.dumps(event(6)), json.dumps(event(7, **change))]
    text = "".join(f"id: {number}\ndata: {line}\n\n" for number, line in enumerate(lines, 6)).encode()
    said = answer(200, text, "ledger-id: 5e", kind="text/event-stream")
    with stub(lambda n, request: said) as server:
        following = Client(server.url, token=TOKEN).follow(WHERE)
        assert next(following).position == 6
        with pytest.raises(StrangeAnswer):
            next(following)
        async with AsyncClient(server.url, token=TOKEN) as client:
            given = client.follow(WHERE)
            assert (await anext(given)).position == 6
            with pytest.raises(StrangeAnswer):
                await anext(given)


@pytest.mark.parametrize("is_async", [False, True])
def test_a_refusal_of_a_stream_that_drips_ends_in_time(is_async: bool) -> None:
    def said(n: int, request: bytes) -> Iterator[bytes]:
        yield b"HTTP/1.1 503 X\r\ncontent-type: application/problem+json\r\ncontent-length: 100\r\n\r\n"
        for _ in range(100):
            yield b" "
            time.sleep(0.05)

    async def follow(url: str) -> None:
        async with AsyncClient(url, token=TOKEN, timeout_s=0.5) as client:
            await anext(client.follow())

    with stub(said) as server:
        began = time.monotonic()
        with pytest.raises(AnswerLate):
            asyncio.run(follow(server.url)) if is_async else next(Client(server.url, token=TOKEN, timeout_s=0.5).follow())
        assert time.monotonic() - began < 2


ALLOW = {"call": "c1", "verdict": "allow", "reasonCode": "x", "reason": "y", "position": "7", "mode": "enforce"}


async def test_an_answer_is_not_decompressed() -> None:
    """Nobody asks for compression, so a small answer stays small."""
    packed = gzip.compress(json.dumps(ALLOW).encode() + b" " * (1 << 26))
    with stub(lambda n, request: answer(200, packed, "content-encoding: gzip")) as server:
        with pytest.raises(StrangeAnswer):
            Client(server.url, token=TOKEN).decide(Call("add", id="c1"))
        async with AsyncClient(server.url, token=TOKEN) as client:
            with pytest.raises(StrangeAnswer):
                await client.decide(Call("add", id="c1"))
        assert all(b"accept-encoding: identity" in request.lower() for request in server.requests)


async def test_no_cookie_is_kept() -> None:
    with stub(lambda n, request: answer(200, ALLOW, "set-cookie: session=1; path=/")) as server:
        client = Client(server.url, token=TOKEN)
        async with AsyncClient(server.url, token=TOKEN) as other:
            for _ in range(2):
                assert client.decide(Call("add", id="c1")).allowed
                assert (await other.decide(Call("add", id="c1"))).allowed
        assert len(server.requests) == 4 and not any(b"cookie" in request.lower() for request in server.requests)
