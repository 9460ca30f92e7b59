"""Requests, answers, and the steps of an operation, without any input or output.

An operation is a generator of steps: it yields requests and pauses, and gets answers. One description of each operation
serves both clients; :mod:`bitacora_ledger.connection` takes its steps.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import quote

from bitacora_ledger.backoff import Backoff
from bitacora_ledger.errors import ClientError, Refused, StrangeAnswer
from bitacora_ledger.limits import ANSWER_PATIENCE_S, RETRY_PATIENCE_S
from bitacora_ledger.members import Members, MembersError
from bitacora_ledger.problem import Problem

T = TypeVar("T")

JSON = "application/json"
_FRAMING = ("content-length", "transfer-encoding")
_COMPACT = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


@dataclass(frozen=True)
class Request:
    """A request to the service."""

    method: str
    path: str
    """The path below the service's address, with its query."""
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    patience_s: float = ANSWER_PATIENCE_S
    """The timeout for its answer."""


@dataclass(frozen=True)
class Pause:
    """A pause before the next request."""

    seconds: float


@dataclass(frozen=True)
class Answer:
    """A whole answer of the service."""

    status: int
    headers: Mapping[str, str]
    """By lower-case names."""
    body: bytes

    def json(self) -> Any:
        """Returns the JSON of its body, if the answer says that it is JSON."""
        kind = self.headers.get("content-type", "").partition(";")[0]
        if kind.strip().lower() != JSON:
            raise strange()
        try:
            # Given bytes, the decoder guesses their encoding and lets surrogates pass, at three times the time.
            return json.loads(self.body.decode())
        except (ValueError, RecursionError):
            raise strange() from None

    def read(self, reader: Callable[[Members], T]) -> T:
        """Returns what a reader makes of its members."""
        try:
            return reader(Members(self.json()))
        except MembersError:
            raise strange() from None


Step = Request | Pause
Steps = Generator[Step, Any, T]
"""An operation: it takes an :class:`Answer` for each request, and returns its result."""


def strange() -> StrangeAnswer:
    """Returns the error for an answer that was not understood."""
    return StrangeAnswer("an answer that is not what a bitacora service says; check the address")


def checked_headers(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Returns headers by lower-case names. An answer whose end two readers could see at two places is strange."""
    headers: dict[str, str] = {}
    for name, value in pairs:
        key = name.lower()
        if key in headers and key in _FRAMING:
            raise strange()
        headers[key] = value
    if all(name in headers for name in _FRAMING):
        raise strange()
    if headers.get("transfer-encoding", "chunked").strip().lower() != "chunked":
        raise strange()
    length = headers.get("content-length", "0").strip()
    if not (length.isascii() and length.isdecimal()):
        raise strange()
    return headers


def is_ended(status: int, headers: Mapping[str, str]) -> bool:
    """Returns ``True`` if an answer says where it ends. One that lasts up to the end of its connection may be cut anywhere."""
    return status in (204, 304) or any(name in headers for name in _FRAMING)


def accepted(answer: Answer) -> Answer:
    """Returns the answer if it is one of success; anything else raises."""
    if 200 <= answer.status < 300:
        return answer
    raise refusal(answer)


def refusal(answer: Answer) -> ClientError:
    """Returns the error of an answer that is no success."""
    try:
        problem = Problem.read(json.loads(answer.body.decode()), answer.status)
    except (ValueError, RecursionError):
        problem = None
    if problem is None:
        return strange()
    asked = answer.headers.get("retry-after", "")
    return Refused(problem, float(asked) if asked.isascii() and asked.isdecimal() and len(asked) < 9 else None)


def once(request: Request) -> Steps[Answer]:
    """Sends a request that is not repeated."""
    answer: Answer = yield request
    return accepted(answer)


def repeated(request: Request, retries: int | None) -> Steps[Answer]:
    """Sends a request that is safe to repeat, unchanged, until its outcome is known or the retries are used up.

    No retry begins later than ``RETRY_PATIENCE_S`` after the first failure, so that a service that takes requests and says
    nothing is given up.
    """
    backoff = Backoff(retries)
    deadline: float | None = None
    while True:
        try:
            answer: Answer = yield request
            return accepted(answer)
        except ClientError as error:
            now = time.monotonic()
            deadline = deadline or now + RETRY_PATIENCE_S
            pause = backoff.pause(error.retry_after_s) if error.retryable and now < deadline else None
            if pause is None:
                raise
        yield Pause(pause)


def json_bytes(value: Any) -> bytes:
    """Returns a value as compact JSON. NaN and infinities, which are no JSON, are refused."""
    return _COMPACT.encode(value).encode("utf-8")


def segment(text: str) -> str:
    """Returns a text as one segment of a path."""
    return quote(text, safe="")


def query(parameters: Mapping[str, str | int | Sequence[str] | None]) -> str:
    """Returns a query with its question mark. Absent values are left out; each of several values is repeated."""
    pairs: list[str] = []
    for name, value in parameters.items():
        values = [] if value is None else [value] if isinstance(value, (str, int)) else value
        pairs.extend(f"{name}={quote(str(one), safe='')}" for one in values)
    return "?" + "&".join(pairs) if pairs else ""
