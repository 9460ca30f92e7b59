"""Following: every event once, in order, across restarts of the service and of the follower."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest
from service import Service

from bitacora_ledger import AsyncClient, Client, Cursor, CursorError, CursorPlace, Event, EventFilter, Refused
from bitacora_ledger.event_stream import EventStream, Message

WHERE = EventFilter(types=["x.counted"])


def counted(number: int) -> Event:
    return Event("x.counted", "agent/test", "counts", {"number": number})


def test_events_come_once_and_in_order_across_kills(own_service: Service, tmp_path: Path) -> None:
    writer = Client(own_service.url, token=own_service.admin)
    seen: list[int] = []
    most = 300

    def follow() -> None:
        following = Client(own_service.url, token=own_service.admin).follow(WHERE, cursor=tmp_path / "cursor")
        for event in following:
            seen.append(event.data["number"])
            following.handled()
            if len(seen) == most:
                return

    reader = threading.Thread(target=follow, daemon=True)
    reader.start()
    for number in range(most):
        if number in (100, 200):
            own_service.kill()
            own_service.start()
        writer.append(counted(number))
    reader.join(30)
    assert seen == list(range(most))
    writer.append(counted(most))
    again = Client(own_service.url, token=own_service.admin).follow(WHERE, cursor=tmp_path / "cursor")
    assert next(again).data["number"] == most, "a new follower goes on at the cursor"


def test_what_was_not_handled_comes_again(client: Client, tmp_path: Path) -> None:
    client.append(*(Event("x.noted", "agent/1", "again", {"n": n}) for n in range(4)))
    where = EventFilter(stream="again")
    following = client.follow(where, cursor=tmp_path / "cursor")
    assert next(following).data["n"] == 0
    following.handled()
    assert next(following).data["n"] == 1
    later = client.follow(where, cursor=tmp_path / "cursor", until_caught_up=True)
    assert [event.data["n"] for event in later] == [1, 2, 3]


async def test_a_task_follows_and_may_be_cancelled(async_client: AsyncClient) -> None:
    await async_client.append(Event("x.noted", "agent/1", "tasks", {"n": 1}))
    seen = []

    async def follow() -> None:
        async for event in async_client.follow(EventFilter(stream="tasks")):
            seen.append(event.data["n"])

    task = asyncio.create_task(follow())
    while not seen:
        await asyncio.sleep(0.01)
    await async_client.append(Event("x.noted", "agent/1", "tasks", {"n": 2}))
    while len(seen) < 2:
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert seen == [1, 2]


def test_a_cursor_is_kept_and_one_of_another_ledger_or_of_none_is_refused(client: Client, tmp_path: Path) -> None:
    path = tmp_path / "cursor"
    cursor = Cursor(path)
    assert cursor.load() is None
    precious = tmp_path / "precious"
    precious.write_text("precious")
    (tmp_path / "cursor.new").symlink_to(precious)
    cursor.save(CursorPlace("5e", 7))
    assert cursor.load() == CursorPlace("5e", 7) and precious.read_text() == "precious"
    with pytest.raises(CursorError):
        cursor.check("5f")
    for text in ("", "{}", '{"ledger":"5e","after":"-1"}', '{"ledger":"5e","after":7}', "x" * 5_000):
        path.write_text(text)
        with pytest.raises(CursorError):
            cursor.load()
    with pytest.raises(CursorError):
        Cursor("/dev/zero").load()


def test_another_ledgers_cursor_is_refused(client: Client, tmp_path: Path) -> None:
    Cursor(tmp_path / "cursor").save(CursorPlace("5e" * 16, 1))
    with pytest.raises(Refused, match="other-ledger"):
        next(client.follow(cursor=tmp_path / "cursor"))


def test_messages_come_out_whole_however_they_came_in() -> None:
    text = b'retry: 1000\n\nid: 7\ndata: {"a":"b: c"}\n\n:\n\nid: 8\n\nevent: caught-up\nid: 9\n\nid: 1'
    for size in (1, 2, 5, 1_000):
        stream = EventStream()
        taken = [m for i in range(0, len(text), size) for m in stream.push(text[i : i + size])]
        assert taken == [
            Message(),
            Message(b"", b"7", b'{"a":"b: c"}'),
            Message(),
            Message(b"", b"8"),
            Message(b"caught-up", b"9"),
        ]


def test_every_filter_finds_its_events_of_a_real_service(own_service: Service) -> None:
    """What the service takes for a match is one here too, also once the contents were erased."""
    client = Client(own_service.url, token=own_service.agent("coder"))
    named = Event(
        "x.filtered", "agent/coder", "filters", {"n": 1},
        tags=("one", "two"), session="s 1", run="r/1", call="c-1", agent="coder", datasubject="ana",
    )  # fmt: skip
    place = client.append(named).first
    actor = client.event(place).event["actor"]
    filters = [
        EventFilter(types=["x.other", "x.filtered"]), EventFilter(stream="filters"), EventFilter(actor=actor),
        EventFilter(agent="coder"), EventFilter(session="s 1"), EventFilter(run="r/1"), EventFilter(call="c-1"),
        EventFilter(tag="two"),
    ]  # fmt: skip
    for erased in (False, True):
        if erased:
            own_service.stop()
            for key in (own_service.folder / "data/ledgers/main/subjects").rglob("*"):
                if key.is_file():
                    key.unlink()
            own_service.start()
        for where in filters:
            found = [event for event in client.read(where, after=place - 1).events if event.position == place]
            assert [event.is_erased for event in found] == [erased], where
            assert next(client.follow(where, after=place - 1)).position == place
