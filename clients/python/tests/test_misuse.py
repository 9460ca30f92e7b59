"""A caller in a hurry: functions that have not run, arguments that change, Ctrl-C, an appender that nobody closes."""

from __future__ import annotations

import asyncio
import functools
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from conftest import running
from service import Service

from bitacora_ledger import (
    ArgumentsChanged,
    AsyncClient,
    Call,
    Client,
    Event,
    EventFilter,
    Outcome,
    guarded,
)


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    """A service of these tests alone: calls that fail on purpose open the breaker of their tool."""
    yield from running()


@pytest.fixture(scope="module")
def token(service: Service) -> str:
    return service.agent("coder")


async def coroutine(a: int) -> int:
    raise AssertionError("it ran")


def generator(a: int) -> Any:
    raise AssertionError("it ran")
    yield


async def async_generator(a: int) -> Any:
    raise AssertionError("it ran")
    yield


class Callee:
    async def __call__(self, a: int) -> int:
        raise AssertionError("it ran")


def outcomes(client: Client, after: int) -> list[str]:
    where = EventFilter(types=["tool.completed", "tool.failed", "tool.blocked"])
    return [event.type for event in client.read(where, after=after).events]


@pytest.mark.parametrize("made", [coroutine, generator, async_generator])
def test_a_result_that_has_not_run_is_no_success(service: Service, made: Callable[[int], Any]) -> None:
    # An agent of its own: calls that failed before make later ones wait for a person.
    with Client(service.url, token=service.agent(f"hurried-{made.__name__}")) as client:
        before = client.head()

        @guarded(client, "add")
        def hidden(a: int) -> Any:
            return made(a)

        with pytest.raises(TypeError, match="after the call has ended"):
            hidden(1)
        assert outcomes(client, before) == ["tool.failed"]


class Changing(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """A transport behind which the caller's own list grows, once the decision about it is there."""

    def __init__(self, grows: list[int]) -> None:
        self._grows = grows
        self._threads = httpx.HTTPTransport()
        self._tasks = httpx.AsyncHTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        answered = self._threads.handle_request(request)
        self._grows.append(1)
        return answered

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        answered = await self._tasks.handle_async_request(request)
        self._grows.append(1)
        return answered


async def test_arguments_that_change_before_the_function_runs_keep_it_from_running(
    service: Service, token: str, client: Client
) -> None:
    numbers: list[int] = []
    changing = Changing(numbers)

    @guarded(Client(service.url, token=token, transport=changing), Call("add", session="changed"))
    def add(numbers: list[int]) -> None:
        raise AssertionError("it ran")

    @guarded(AsyncClient(service.url, token=token, transport=changing), Call("add", session="changed"))
    async def add_async(numbers: list[int]) -> None:
        raise AssertionError("it ran")

    with pytest.raises(ArgumentsChanged):
        add(numbers)
    with pytest.raises(ArgumentsChanged):
        await add_async(numbers)
    ends = [e.type for e in client.read(EventFilter(session="changed")).events if e.type != "tool.requested"]
    assert [kind for kind in ends if kind.startswith("tool.")] == ["tool.blocked", "tool.blocked"]


def test_what_cannot_be_guarded_is_refused_before_any_call(client: Client, async_client: AsyncClient) -> None:
    before = client.head()
    for made in (generator, async_generator, functools.partial(generator, 1)):
        for one in (client, async_client):
            with pytest.raises(TypeError):
                guarded(one, "add")(made)
    mixed: list[tuple[Any, Any]] = [(client, coroutine), (async_client, print), (client, functools.partial(coroutine, 1))]
    for other, wrong in mixed:
        with pytest.raises(TypeError, match="is guarded by"):
            guarded(other, "add")(wrong)
    with pytest.raises(TypeError, match="name the tool"):
        guarded(client)(functools.partial(print))
    with pytest.raises(TypeError):
        guarded(client, "add")(Callee())(1)  # type: ignore[unused-coroutine]
    assert outcomes(client, before) == ["tool.failed"]


@pytest.mark.parametrize("args", [{1, 2}, float("nan"), "\ud800", b"x"])
def test_arguments_that_are_no_json_are_asked_for_nowhere(client: Client, args: Any) -> None:
    before = client.head()

    @guarded(client)
    def add(a: Any) -> None:
        raise AssertionError("it ran")

    with pytest.raises((TypeError, ValueError)):
        add(args)
    assert client.head() == before


def pending(service: Service, word: str) -> str:
    for one in json.loads(service.command("--json", "approvals"))["approvals"]:
        if word in json.dumps(one.get("args")):
            return str(one["id"])
    return ""


def begin(service: Service, token: str, program: str) -> subprocess.Popen[str]:
    (service.folder / "coder.token").write_text(token)
    head = f"from bitacora_ledger import *\nclient = Client({service.url!r}, token_file='coder.token')\n"
    return subprocess.Popen(
        [sys.executable, "-c", head + program], cwd=service.folder, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, preexec_fn=hear_interrupts,
    )  # fmt: skip


def hear_interrupts() -> None:
    # A shell's background job ignores the signal, and so would the program that this suite starts there.
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_an_interrupt_ends_the_wait_for_a_person(service: Service, token: str) -> None:
    program = """
@guarded(client, "deploy")
def deploy(to):
    print("it ran")
try:
    deploy("interrupted")
except KeyboardInterrupt:
    print("interrupted", client.head() > 0)
"""
    begun = begin(service, token, program)
    while not pending(service, "interrupted"):
        time.sleep(0.05)
    time.sleep(0.2)
    began = time.monotonic()
    begun.send_signal(signal.SIGINT)
    said, errors = begun.communicate(timeout=20)
    assert said == "interrupted True\n", errors
    assert time.monotonic() - began < 3


def test_an_appender_that_nobody_closes_is_sent_at_the_end(service: Service, token: str, client: Client) -> None:
    before = client.head()
    program = """
appender = client.appender()
for n in range(2500):
    appender.queue(Event("x.hurried", "agent/coder", "hurry", {"n": n}))
"""
    _, errors = begin(service, token, program).communicate(timeout=30)
    assert errors == ""
    found = [
        event.data["n"] for page in client.pages(EventFilter(types=["x.hurried"]), after=before) for event in page.events
    ]
    assert found == list(range(2_500))


async def test_cancelled_tasks_do_not_disturb_a_batch(async_client: AsyncClient) -> None:
    before = await async_client.head()
    async with async_client.appender() as appender:
        tasks = [
            asyncio.create_task(appender.append(Event("x.batched", "agent/coder", "batch", {"n": n}))) for n in range(90)
        ]
        await asyncio.sleep(0)
        for task in tasks[::3]:
            task.cancel()
        await asyncio.sleep(0.001)
        for task in tasks[1::3]:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
    receipts = [one for one in results if not isinstance(one, BaseException)]
    assert all(isinstance(one, asyncio.CancelledError) for one in results if isinstance(one, BaseException))
    assert len(receipts) >= 30
    found = [event.position async for page in async_client.pages(EventFilter(types=["x.batched"]), after=before)
             for event in page.events]  # fmt: skip
    assert {one.position for one in receipts} <= set(found) and len(found) == len(set(found)) <= 90


async def test_a_cancelled_append_may_be_sent_again(async_client: AsyncClient) -> None:
    before = await async_client.head()
    for delay in (0, 0.0005, 0.001, 0.002, 0.004):
        event = Event("x.cancelled", "agent/coder", "cancelled")
        task = asyncio.create_task(async_client.append(event))
        await asyncio.sleep(delay)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await async_client.append(event)
    assert len((await async_client.read(EventFilter(types=["x.cancelled"]), after=before)).events) == 5


def test_clients_whose_clocks_differ_by_years(service: Service, token: str, monkeypatch: pytest.MonkeyPatch) -> None:
    years = 10 * 365 * 86_400 * 1_000_000_000
    now = time.time_ns
    positions: list[int] = []
    with Client(service.url, token=token) as one, Client(service.url, token=token) as other:
        for n in range(6):
            # Each client makes its ids by its own clock; waits use a clock that nobody sets.
            monkeypatch.setattr(time, "time_ns", lambda n=n: now() + (years if n % 2 else -6 * years))
            client = other if n % 2 else one
            positions.append(client.append(Event("x.skewed", "agent/coder", "skew", {"n": n})).last)
            permitted = client.permit(Call("add", {"a": n}), patience_s=0)
            assert permitted.decision.allowed
            assert client.outcome(Outcome.of(permitted.call, "ok")).type == "tool.completed"
        found = [event.data["n"] for event in one.read(EventFilter(types=["x.skewed"]), after=positions[0] - 1).events]
    assert positions == sorted(positions) and found == list(range(6))


def test_a_token_file_that_holds_none_is_named(tmp_path: Path) -> None:
    (tmp_path / "coder.token").write_text("asked ledger main")
    with pytest.raises(ValueError, match=r"coder\.token: not a token"):
        Client("http://127.0.0.1:1", token_file=tmp_path / "coder.token")
