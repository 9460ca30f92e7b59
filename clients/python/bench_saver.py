"""Times the checkpoint saver beside LangGraph's SQLite saver: in turns, in the same process, on the same disk.

``BITACORA_PROGRAM=… python bench_saver.py [FOLDER] [TURNS]`` prints medians in microseconds, and medians of the ratios of each
turn. `unix` is our saver over a Unix socket, `httpx` ours over a transport of httpx. `bare` is the least that a request to the
service takes: bytes made before, over a socket.
"""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.conformance.test_utils import generate_checkpoint, generate_config, generate_metadata
from langgraph.checkpoint.sqlite import SqliteSaver

sys.path.insert(0, str(Path(__file__).parent / "tests"))

from service import Service

from bitacora_ledger import Client
from bitacora_ledger.langgraph import BitacoraSaver

WARM_UP = 10
SIZES = {"small state (0.2 KB)": 1, "agent's state (25 KB)": 100, "large state (250 KB)": 1_000}
"""Messages of a state; each has about a quarter of a kilobyte."""


def state(messages: int, step: int) -> tuple[dict[str, Any], dict[str, str | int | float]]:
    """Returns the channels of a state: one that grew by a message, and three that are as they were."""
    said = [{"role": "user", "content": f"message {number} " + "x" * 200} for number in range(messages)]
    values = {"messages": said, "step": step, "plan": ["read", "test", "write"], "files": {"a.py": "print(1)"}}
    return values, {"messages": step, "step": step, "plan": 1, "files": 1}


class Turn:
    """One saver, and the place of its thread."""

    def __init__(self, saver: BaseCheckpointSaver[Any], thread: str) -> None:
        self._saver = saver
        self._thread = thread
        self._config = generate_config(thread)

    def put(self, messages: int, step: int) -> None:
        values, versions = state(messages, step)
        checkpoint = generate_checkpoint(channel_values=values, channel_versions=versions)
        new: dict[str, str | int | float] = {name: one for name, one in versions.items() if one == step}
        self._config = self._saver.put(self._config, checkpoint, generate_metadata(step=step), new)

    def newest(self) -> None:
        assert self._saver.get_tuple(generate_config(self._thread)) is not None


def timed(times: dict[str, list[float]], name: str, work: Callable[[], object]) -> None:
    began = time.perf_counter()
    work()
    times.setdefault(name, []).append((time.perf_counter() - began) * 1e6)


def bare(service: Service, token: str, thread: str) -> tuple[Callable[[], object], Callable[[], object]]:
    """Returns a save of a small checkpoint and a look at the newest, over a bare connection."""
    connection = socket.create_connection(("127.0.0.1", service.port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    path = f"/v1/ledgers/main/checkpoints/{thread}"
    number = 0

    def ask(method: str, where: str, body: bytes) -> None:
        head = f"{method} {where} HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer {token}\r\n"
        head += f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        connection.sendall(head.encode() + body)
        assert connection.recv(65_536).startswith(b"HTTP/1.1 200 ")

    def save() -> None:
        nonlocal number
        number += 1
        new = {"checkpoint": f"{number:08}", "step": number, "source": "loop", "channelVersions": {"a": number}}
        ask("POST", f"{path}:save", json.dumps({**new, "values": {"a": {"json": number}}}).encode())

    return save, lambda: ask("GET", path, b"")


def measure(folder: Path, turns: int) -> None:
    service = Service(folder)
    try:
        token = service.agent("bench")
        for name, messages in SIZES.items():
            times: dict[str, list[float]] = {}
            with (
                Client(service.url, token=token) as client,
                Client(service.socket, token=token) as near,
                Client(service.url, token=token, transport=httpx.HTTPTransport()) as slow,
                sqlite3.connect(folder / f"{messages}.sqlite", check_same_thread=False) as database,
            ):
                savers: dict[str, BaseCheckpointSaver[Any]] = {
                    "ours": BitacoraSaver(client),
                    "unix": BitacoraSaver(near),
                    "httpx": BitacoraSaver(slow),
                    "sqlite": SqliteSaver(database),
                }
                turns_of = {kind: Turn(saver, f"bench-{messages}-{kind}") for kind, saver in savers.items()}
                save, get = bare(service, token, f"bare-{messages}")
                for step in range(1, turns + WARM_UP + 1):
                    into = times if step > WARM_UP else {}
                    for kind in list(turns_of)[:: 1 if step % 2 else -1]:
                        turn = turns_of[kind]
                        timed(into, f"put {kind}", lambda turn=turn, step=step: turn.put(messages, step))  # type: ignore[misc]
                        timed(into, f"newest {kind}", turn.newest)
                    timed(into, "put bare", save)
                    timed(into, "newest bare", get)
            report(name, times)
    finally:
        service.stop()


def report(name: str, times: dict[str, list[float]]) -> None:
    print(name)
    for what in ("put", "newest"):
        theirs = times[f"{what} sqlite"]
        shown = [f"sqlite {statistics.median(theirs):5.0f} µs"]
        for kind in ("ours", "unix", "httpx", "bare"):
            values = times[f"{what} {kind}"]
            ratio = statistics.median(a / b for a, b in zip(values, theirs, strict=True))
            shown.append(f"{kind} {statistics.median(values):5.0f} µs ({ratio:4.1f})")
        print(f"  {what:6}  {'   '.join(shown)}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if len(sys.argv) > 1 else os.curdir) as scratch:
        measure(Path(scratch).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else 200)
