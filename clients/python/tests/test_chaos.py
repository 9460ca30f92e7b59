"""A service that fails in every way it can, and many callers at once: nothing counts that was not done."""

from __future__ import annotations

import asyncio
import json
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from stub import Stub, answer, problem, stub

from bitacora_ledger import AsyncClient, Call, Client, ClientError, Event

TOKEN = "bt_" + "B" * 43
CALLERS = 32
ACTS = 12
"""Acts of one caller."""


class Chaos:
    """Allows the calls and records the events whose ids are even, and answers as it should one time of three."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._lock = threading.Lock()
        self.allowed: set[str] = set()
        self.recorded: set[str] = set()
        self.faults: set[str] = set()

    def script(self, number: int, request: bytes) -> bytes | Iterable[bytes] | None:
        body = json.loads(request.partition(b"\r\n\r\n")[2])
        with self._lock:
            fault = self._random.choice(["", "", "", "", *FAULTS])
            self.faults.add(fault)
        if fault in ("", "twice", "slow"):
            whole = self._right(body)
            return dripping(whole, 0.002) if fault == "slow" else whole * (2 if fault == "twice" else 1)
        wrong = self._made("call" in body, "of-another-" + str(number), True)
        return FAULTS[fault](wrong)

    def _right(self, body: dict[str, str]) -> bytes:
        is_call = "call" in body
        name = body["call"] if is_call else body["id"]
        is_yes = name.endswith(("0", "2", "4", "6", "8"))
        with self._lock:
            if is_yes:
                (self.allowed if is_call else self.recorded).add(name)
        return self._made(is_call, name, is_yes)

    def _made(self, is_call: bool, name: str, is_yes: bool) -> bytes:
        if is_call:
            verdict = "allow" if is_yes else "deny"
            members = {"call": name, "verdict": verdict, "reasonCode": "x", "reason": "y", "position": "7", "mode": "enforce"}
            return answer(200, members)
        if not is_yes:
            return problem("bad-event", 422, retryable=False)
        receipt = {"id": name, "position": "7", "streamVersion": "1", "commitment": "00", "status": "created"}
        head = {"position": "7", "hash": "00"}
        return answer(201, {"results": [receipt], "first": "7", "last": "7", "head": head, "derived": []})


def dripping(data: bytes, pause_s: float) -> Iterator[bytes]:
    for begin in range(0, len(data), 16):
        yield data[begin : begin + 16]
        time.sleep(pause_s)


def cut(data: bytes) -> Iterator[bytes]:
    yield data[:-9]
    raise OSError


def flood(data: bytes) -> Iterator[bytes]:
    yield data.replace(b"content-length: ", b"content-length: 10000000000\r\nx-was: ", 1)
    for _ in range(64):
        yield b" " * (1 << 20)


FAULTS: dict[str, Callable[[bytes], bytes | Iterable[bytes] | None]] = {
    "twice": lambda data: data,
    "slow": lambda data: data,
    "other": lambda data: data,
    "page": lambda data: data.replace(b"application/json", b"text/html"),
    "stall": lambda data: None,
    "drip": lambda data: dripping(data, 0.1),
    "end": lambda data: b"",
    "cut": cut,
    "flood": flood,
    "two ends": lambda data: data.replace(b"\r\n\r\n", b"\r\ntransfer-encoding: chunked\r\n\r\n", 1),
    "no end": lambda data: data.replace(b"content-length", b"x-length", 1),
}


def check(server: Stub, chaos: Chaos, allowed: set[str], recorded: set[str]) -> None:
    assert allowed <= chaos.allowed and recorded <= chaos.recorded
    assert len(allowed) > CALLERS // 2 and len(recorded) > CALLERS // 4 and chaos.faults == {"", *FAULTS}
    assert len(server.requests) > CALLERS * ACTS // 2


@pytest.mark.parametrize("seed", [1, 2])
def test_nothing_counts_for_threads_that_was_not_done(seed: int) -> None:
    chaos = Chaos(seed)

    def calls(caller: int, client: Client) -> tuple[list[str], list[str]]:
        allowed, recorded = [], []
        for number in range(ACTS):
            name = f"{caller}-{number}"
            try:
                if number % 3 == 2:
                    client.append(Event("x.a", "agent/1", "s", id=name))
                    recorded.append(name)
                elif client.decide(Call("add", id=name)).allowed:
                    allowed.append(name)
            except ClientError:
                pass
        return allowed, recorded

    with stub(chaos.script) as server, Client(server.url, token=TOKEN, retries=1, timeout_s=0.5) as client:
        with ThreadPoolExecutor(CALLERS) as pool:
            done = list(pool.map(lambda caller: calls(caller, client), range(CALLERS)))
        check(server, chaos, {n for a, _ in done for n in a}, {n for _, r in done for n in r})


@pytest.mark.parametrize("seed", [3, 4])
async def test_nothing_counts_for_tasks_that_was_not_done(seed: int) -> None:
    chaos = Chaos(seed)
    luck = random.Random(seed)
    allowed: set[str] = set()
    recorded: set[str] = set()

    async def act(name: str, client: AsyncClient, is_event: bool) -> None:
        try:
            if is_event:
                await client.append(Event("x.a", "agent/1", "s", id=name))
                recorded.add(name)
            elif (await client.decide(Call("add", id=name))).allowed:
                allowed.add(name)
        except ClientError:
            pass

    async def caller(number: int, client: AsyncClient) -> None:
        for turn in range(ACTS):
            task = asyncio.create_task(act(f"{number}-{turn}", client, turn % 3 == 2))
            if luck.random() < 0.25:
                await asyncio.sleep(luck.random() * 0.02)
                task.cancel()
            await asyncio.wait([task])

    with stub(chaos.script) as server:
        async with AsyncClient(server.url, token=TOKEN, retries=1, timeout_s=0.5) as client:
            await asyncio.gather(*(caller(number, client) for number in range(CALLERS)))
        check(server, chaos, allowed, recorded)
