"""HTTP/1.1 between client and service, without input or output: the bytes of a request, and the answer in the bytes that come.

It reads what a service of this kind sends, and nothing else: whatever could be read in two ways ends the connection. httpx
does the same for any server, and takes five times as long for a request.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping

from bitacora.errors import ConnectionBroken
from bitacora.exchange import Answer, Request, strange
from bitacora.limits import MAX_ANSWER_BYTES, MAX_HEAD_BYTES, MAX_INTERIM_ANSWERS, MAX_KNOWN_PATHS
from bitacora.token import Token

_TARGET = re.compile(r"/[!-~]*")
_VALUE = re.compile(r"[ -~]*")
_STATUS = re.compile(rb"HTTP/1\.([01]) ([1-5][0-9][0-9])(?: [\t -~\x80-\xff]*)?")
_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_LENGTH = re.compile(rb"[0-9]{1,10}")
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(?:;.*)?")


class Outgoing:
    """A request as it is sent. Its ``repr``, which a report of an error may hold, shows no token."""

    __slots__ = ("data",)

    def __init__(self, data: bytes) -> None:
        self.data = data

    def __repr__(self) -> str:
        return f"Outgoing({len(self.data)} bytes)"


class Outbox:
    """Writes the requests to one service."""

    def __init__(self, host: str, token: Token | None) -> None:
        bearer = f"authorization: Bearer {token.reveal()}\r\n" if token else ""
        self._same = Outgoing(f"host: {host}\r\naccept-encoding: identity\r\n{bearer}".encode("ascii"))

    def write(self, request: Request) -> Outgoing:
        """Returns a request as it is sent."""
        lines = [_header(name, value) for name, value in request.headers.items()]
        if request.body or request.method == "POST":
            lines.append(b"content-length: %d\r\n" % len(request.body))
        lines += (b"\r\n", request.body)
        first = _first_line(request.method, request.path)
        return Outgoing(b"".join((first, self._same.data, *lines)))


@functools.lru_cache(MAX_KNOWN_PATHS)
def _first_line(method: str, path: str) -> bytes:
    if not _TARGET.fullmatch(path):
        raise ValueError("a resource with characters that a path has not; escape them")
    return f"{method} {path} HTTP/1.1\r\n".encode("ascii")


@functools.lru_cache(MAX_KNOWN_PATHS)
def _header(name: str, value: str) -> bytes:
    if not _VALUE.fullmatch(value):
        raise ValueError(f"{name}: a value with characters that a header has not")
    return f"{name}: {value}\r\n".encode("ascii")


class AnswerReader:
    """The answer to one request, as its bytes come. It is bounded in bytes."""

    __slots__ = ("_body", "_is_chunked", "_interim", "_left", "_status", "_unread", "answer", "headers", "is_last")

    def __init__(self) -> None:
        self._unread = bytearray()
        self._body: list[bytes] = []
        self._status: int | None = None
        self._left: int | None = None
        """Bytes of the body, or of its chunk, that are still to come; ``None`` is up to the end of the connection."""
        self._is_chunked = False
        self._interim = 0
        self.headers: Mapping[str, str] = {}
        self.is_last = False
        """``True`` if the connection is not used again."""
        self.answer: Answer | None = None
        """The answer, once it is whole."""

    def push(self, piece: bytes) -> Answer | None:
        """Takes a piece, and returns the answer if that completes it."""
        self._unread += piece
        while self._status is None:
            if not self._take_head():
                return None
        if self._is_chunked:
            self._take_chunks()
        elif self._left is None:
            if len(self._unread) > MAX_ANSWER_BYTES:
                raise strange()
        elif len(self._unread) >= self._left:
            self._end(bytes(self._unread[: self._left]), len(self._unread) > self._left)
        return self.answer

    def end(self) -> Answer:
        """Takes the end of the connection, and returns the answer if that is its end too."""
        if self._status is None or self._is_chunked or self._left is not None:
            raise ConnectionBroken("the connection ended within an answer")
        self._end(bytes(self._unread), True)
        assert self.answer is not None
        return self.answer

    def _end(self, body: bytes, is_last: bool) -> None:
        assert self._status is not None
        # Bytes behind the answer belong to no request: they must not become the next answer.
        self.is_last = self.is_last or is_last
        self.answer = Answer(self._status, self.headers, body)

    def _take_head(self) -> bool:
        end = self._unread.find(b"\r\n\r\n", 0, MAX_HEAD_BYTES)
        if end < 0:
            if len(self._unread) >= MAX_HEAD_BYTES:
                raise strange()
            return False
        first, *lines = bytes(self._unread[:end]).split(b"\r\n")
        del self._unread[: end + 4]
        matched = _STATUS.fullmatch(first)
        if matched is None:
            raise strange()
        status = int(matched[2])
        if status < 200:
            # An interim answer; nobody asked for another protocol.
            self._interim += 1
            if status == 101 or self._interim > MAX_INTERIM_ANSWERS:
                raise strange()
            return True
        self.headers = headers = _headers(lines)
        self.is_last = matched[1] == b"0" or headers.get("connection", "keep-alive").lower() != "keep-alive"
        self._frame(status, headers)
        self._status = status
        return True

    def _frame(self, status: int, headers: Mapping[str, str]) -> None:
        length = headers.get("content-length")
        coding = headers.get("transfer-encoding")
        if status in (204, 304):
            self._left = 0
        elif coding is not None:
            # With a length beside it, two readers may see two different ends.
            if coding.lower() != "chunked" or length is not None:
                raise strange()
            self._is_chunked = True
        elif length is not None:
            if not _LENGTH.fullmatch(length.encode("latin-1")) or int(length) > MAX_ANSWER_BYTES:
                raise strange()
            self._left = int(length)

    def _take_chunks(self) -> None:
        """Takes the whole chunks; an answer in chunks is rare, so what is taken is cut off the front each time."""
        while True:
            if self._left is None:
                end = self._unread.find(b"\r\n", 0, MAX_HEAD_BYTES)
                if end < 0:
                    if len(self._unread) >= MAX_HEAD_BYTES:
                        raise strange()
                    return
                matched = _CHUNK.fullmatch(bytes(self._unread[:end]))
                if matched is None:
                    raise strange()
                size = int(matched[1], 16)
                if sum(map(len, self._body)) + size > MAX_ANSWER_BYTES:
                    raise strange()
                if size == 0:
                    # The service sends no trailer.
                    if len(self._unread) >= end + 4:
                        if self._unread[end : end + 4] != b"\r\n\r\n":
                            raise strange()
                        self._end(b"".join(self._body), len(self._unread) > end + 4)
                    return
                del self._unread[: end + 2]
                self._left = size
            if len(self._unread) < self._left + 2:
                return
            if self._unread[self._left : self._left + 2] != b"\r\n":
                raise strange()
            self._body.append(bytes(self._unread[: self._left]))
            del self._unread[: self._left + 2]
            self._left = None


def _headers(lines: list[bytes]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(b":")
        if not colon or not _NAME.fullmatch(name) or b"\r" in value or b"\n" in value or b"\0" in value:
            raise strange()
        key = name.lower().decode("ascii")
        text = value.strip(b" \t").decode("latin-1")
        if key in headers and key in ("content-length", "transfer-encoding") and headers[key] != text:
            raise strange()
        headers[key] = text
    return headers
