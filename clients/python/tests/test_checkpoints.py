"""Checkpoints of threads of work, without a framework."""

from __future__ import annotations

import json
import os

import pytest
from service import Service
from stub import answer, stub

from bitacora_ledger import (
    AsyncClient,
    CheckpointFilter,
    Client,
    Content,
    ContentTooLarge,
    LargeContent,
    NewCheckpoint,
    Refused,
    TaskWrite,
    TaskWrites,
)
from bitacora_ledger import thread_acts as thread_acts_module
from bitacora_ledger.content import Splices, sent_ahead, within
from bitacora_ledger.exchange import json_bytes


def step(number: int, parent: str | None, **values: Content) -> NewCheckpoint:
    versions = {"plan": 1, "messages": number + 1}
    return NewCheckpoint(
        f"{number:04}", number, "loop", parent=parent, channel_versions=versions, values=values,
        metadata={"number": number}, document={"v": 4},
    )  # fmt: skip


def test_a_thread_is_saved_copied_forked_and_deleted(client: Client) -> None:
    threads = client.checkpoints()
    plan = Content.of_json(["read", "test"])
    first = threads.save("c/1", step(0, None, plan=plan, messages=Content(b"\0\xff", "bytes")))
    assert threads.get("c/1") is not None and first.position > 0
    task = TaskWrites("t1", [TaskWrite("messages", Content(b"one fails"))], path="a")
    second = step(1, "0000", messages=Content(b"two"))
    assert threads.write("c/1", "0000", task).is_found
    assert threads.save("c/1", second).is_found and threads.save("c/1", second).is_repeated
    newest = threads.get("c/1")
    assert newest is not None and newest.saved.parent == "0000" and newest.document == {"v": 4}
    assert newest.values["messages"] == Content(b"two") and newest.values["plan"] == Content.of_json(["read", "test"])
    older = threads.get("c/1", checkpoint="0000")
    assert older is not None and [w.content for w in older.writes] == [Content(b"one fails")]
    threads.copy("c/1", "c/2")
    with pytest.raises(Refused) as taken:
        threads.copy("c/1", "c/2")
    assert taken.value.code == "thread-taken"
    threads.fork("c/1", "0002", checkpoint="0000", metadata={"source": "fork"})
    found = [one.checkpoint for one in threads.list(CheckpointFilter(thread="c/1"))]
    assert found == ["0002", "0001", "0000"]
    assert [one.thread for one in threads.list(CheckpointFilter(metadata={"number": 1}))] == ["c/2", "c/1"]
    threads.delete("c/1", keep_newest=True)
    assert [one.checkpoint for one in threads.list(CheckpointFilter(thread="c/1"))] == ["0002"]
    threads.delete("c/1")
    assert threads.get("c/1") is None and threads.get("c/2") is not None


async def test_tasks_save_and_get(async_client: AsyncClient) -> None:
    threads = async_client.checkpoints()
    await threads.save("a/1", step(0, None, plan=Content(b"x")))
    found = await threads.get("a/1")
    assert found is not None and found.values == {"plan": Content(b"x")}
    assert [one.checkpoint async for one in threads.list(CheckpointFilter(thread="a/1"))] == ["0000"]


def test_large_contents_go_ahead_in_parts(client: Client) -> None:
    threads = client.checkpoints()
    data = os.urandom(5 * 1024 * 1024)
    threads.save("l/1", step(0, None, plan=Content(data, "bytes"), messages=Content(b"small")))
    found = threads.get("l/1")
    assert found is not None and found.values["messages"] == Content(b"small")
    large = found.values["plan"]
    assert isinstance(large, LargeContent) and large.size == len(data) and len(large.positions) > 1
    assert threads.read(large) == Content(data, "bytes")


def test_a_content_past_the_limit_is_not_sent(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thread_acts_module, "MAX_CONTENT_BYTES", 100)
    with pytest.raises(ContentTooLarge):
        client.checkpoints().save("l/2", step(0, None, plan=Content(b"x" * 101)))


def test_another_agents_thread_is_refused(client: Client, service: Service) -> None:
    client.checkpoints().save("mine", step(0, None, plan=Content(b"x")))
    with Client(service.url, token=service.agent("stranger")) as other, pytest.raises(Refused) as refused:
        other.checkpoints().save("mine", step(1, "0000", plan=Content(b"y")))
    assert refused.value.code == "thread-of-another"


def test_the_largest_go_ahead_and_what_is_left_fits() -> None:
    contents = [Content(bytes(size), "b") for size in (3_000, 10, 90_000, 0, 3_000)]
    assert sent_ahead(contents, 1 << 20) == [False] * 5
    assert sent_ahead(contents, 10_000) == [False, False, True, False, False]
    assert sent_ahead(contents, 0) == [True] * 5
    for room in (10_000, 5_000, 300):
        flags = sent_ahead(contents, room)
        assert sum(len(json_bytes(within(c))) for c, ahead in zip(contents, flags, strict=True) if not ahead) <= room


def test_contents_are_spliced_in_their_order() -> None:
    contents = [Content(bytes([number]) * size) for number, size in enumerate((5_000, 10, 6_000, 4_096))]
    splices = Splices()
    body = [splices.within(content) for content in contents]
    assert splices.json_bytes(body) == json_bytes([within(content) for content in contents])


def test_a_copy_is_repeated_under_its_id() -> None:
    def said(n: int, request: bytes) -> bytes:
        act = json.loads(request.partition(b"\r\n\r\n")[2])["id"]
        return b"" if n == 1 else answer(200, {"id": act, "position": "9", "repeated": False})

    with stub(said) as server:
        assert Client(server.url).checkpoints().copy("a", "b").position == 9
        first, second = (json.loads(request.partition(b"\r\n\r\n")[2]) for request in server.requests)
    assert first == second and len(first["id"]) > 30
