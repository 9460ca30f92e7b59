"""Appending: durable, in order, once, whatever fails in between."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future

import pytest
from service import Service

from bitacora_ledger import AsyncClient, Client, Event, EventFilter, Receipt, Refused


def noted(number: int, stream: str) -> Event:
    return Event("x.noted", "agent/test", stream, {"number": number})


def numbers(client: Client, stream: str) -> list[int]:
    return [e.data["number"] for page in client.pages(EventFilter(stream=stream)) for e in page.events]


def test_an_event_is_appended_once_and_read_back(client: Client) -> None:
    event = Event("x.noted", "agent/1", "notes/1", {"text": "ñ", "n": None}, tags=("a", "b"), session="s1")
    first = client.append(event)
    again = client.append(event)
    assert not first.receipts[0].is_duplicate and again.receipts[0].is_duplicate
    assert first.receipts[0].position == again.receipts[0].position
    stored = client.event(first.first)
    assert stored.data == {"text": "ñ", "n": None} and stored.event["tags"] == "a b"
    assert stored.event["session"] == "s1" and client.head() >= stored.position


def test_bytes_and_mappings_and_no_data_are_taken(client: Client) -> None:
    appended = client.append(
        Event("x.noted", "agent/1", "notes/kinds", b"\0\xff"),
        {"source": "agent/1", "type": "x.noted", "subject": "notes/kinds", "data": None},
        Event("x.noted", "agent/1", "notes/kinds"),
    )
    events = client.read(EventFilter(stream="notes/kinds")).events
    assert [event.position for event in events] == [receipt.position for receipt in appended.receipts]
    assert events[0].event["data_base64"] == "AP8="
    assert "data" in events[1].event and "data" not in events[2].event


def test_an_expected_version_is_kept_to(client: Client) -> None:
    client.append(noted(1, "notes/version"), expected_version=0)
    client.append(noted(2, "notes/version"), expected_version=1)
    with pytest.raises(Refused) as refused:
        client.append(noted(3, "notes/version"), expected_version=1)
    assert refused.value.code == "condition-failed" and refused.value.side_effects == "none"
    assert not refused.value.retryable and refused.value.problem.actual is not None
    assert numbers(client, "notes/version") == [1, 2]


def test_a_refusal_names_its_faults(client: Client) -> None:
    with pytest.raises(Refused) as refused:
        client.append(noted(1, "s"), Event("", "agent/1", "s"))
    assert refused.value.problem.faults[0].pointer == "/type"


def test_threads_get_their_own_receipts_and_a_bad_event_fails_alone(client: Client) -> None:
    with client.appender() as appender:
        queued: list[Future[Receipt]] = [appender.queue(noted(n, "notes/many")) for n in range(500)]
        bad = appender.queue(Event("", "agent/1", "notes/many"))
        queued += [appender.queue(noted(n, "notes/many")) for n in range(500, 800)]
        receipts = [future.result() for future in queued]
        with pytest.raises(Refused):
            bad.result()
    assert [client.event(receipts[n].position).data["number"] for n in (0, 499, 500, 799)] == [0, 499, 500, 799]
    assert numbers(client, "notes/many") == list(range(800))


async def test_tasks_get_their_own_receipts(async_client: AsyncClient) -> None:
    async with async_client.appender(queue_events=10) as appender:
        receipts = await asyncio.gather(*(appender.append(noted(n, f"notes/task{n % 3}")) for n in range(200)))
        bad = await appender.queue(Event("", "agent/1", "notes/task0"))
        with pytest.raises(Refused):
            await bad
    assert len({receipt.position for receipt in receipts}) == 200
    page = await async_client.read(EventFilter(types=["x.noted"], stream="notes/task1"))
    assert sorted(event.data["number"] for event in page.events) == [n for n in range(200) if n % 3 == 1]


def test_every_event_is_there_once_after_kills_in_mid_append(own_service: Service) -> None:
    with Client(own_service.url, token=own_service.admin) as client, client.appender() as appender:
        done = threading.Event()

        def kill() -> None:
            for _ in range(2):
                if done.wait(0.3):
                    return
                own_service.kill()
                own_service.start()

        killer = threading.Thread(target=kill)
        killer.start()
        receipts = [appender.append(noted(number, "notes/kills")) for number in range(60)]
        queued = [appender.queue(noted(number, "notes/kills")) for number in range(60, 2_000)]
        receipts += [future.result() for future in queued]
        killer.join()
        done.set()
        assert numbers(client, "notes/kills") == list(range(2_000))
        assert [receipt.position for receipt in receipts] == sorted({receipt.position for receipt in receipts})
