"""The reader of answers, beside h11: in every cut of the same bytes, and for bytes that could be read in two ways."""

from __future__ import annotations

import h11
import pytest

from bitacora import BitacoraError, StrangeAnswer
from bitacora.http1 import AnswerReader

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-A: b\r\n\r\n5\r\nhello\r\n1;a=b\r\n!\r\n0\r\n\r\n"
ANSWERS = [
    b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}",
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Length:  3 \r\nRetry-After: 1\r\n\r\nabc",
    b"HTTP/1.1 200 \r\ncontent-length: 0\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 201 C\r\ncontent-length: 1\r\n\r\n1",
    b"HTTP/1.1 204 No Content\r\n\r\n",
    b"HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n\r\n",
    CHUNKED,
]


def read(pieces: list[bytes]) -> tuple[int, dict[str, str], bytes, bool]:
    reader = AnswerReader()
    found = [answer for piece in pieces if (answer := reader.push(piece)) is not None]
    assert len(found) == 1
    return found[0].status, dict(found[0].headers), found[0].body, reader.is_last


def read_by_h11(data: bytes) -> tuple[int, dict[str, str], bytes, bool]:
    connection = h11.Connection(h11.CLIENT)
    connection.send(h11.Request(method="GET", target="/", headers=[("host", "x")]))
    connection.send(h11.EndOfMessage())
    connection.receive_data(data)
    status, headers, body = 0, {}, b""
    while not isinstance(event := connection.next_event(), h11.EndOfMessage):
        if isinstance(event, h11.Response):
            status = event.status_code
            headers = {name.decode(): value.decode() for name, value in event.headers}
        elif isinstance(event, h11.Data):
            body += bytes(event.data)
    return status, headers, body, connection.their_state is not h11.DONE


@pytest.mark.parametrize("data", ANSWERS)
def test_every_cut_of_an_answer_is_read_as_h11_reads_it(data: bytes) -> None:
    expected = read_by_h11(data)
    for at in range(len(data)):
        assert read([data[:at], data[at:]]) == expected
    assert read([bytes([byte]) for byte in data]) == expected


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/2 200 OK\r\n\r\n",
        b"HTTP/1.1 2000 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\nx: y\r\n\r\n",
        b" HTTP/1.1 200 OK\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n" * 9,
        b"HTTP/1.1 200 OK\r\nx y\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nx : y\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nx: y\r\n z\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nx: y\nz: a\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: -2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 2, 2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 0x2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ncontent-length: 2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n-1\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\nab\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\nx: y\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" + b"1" * 70_000,
        b"HTTP/1.1 200 OK\r\nx: " + b"y" * 70_000,
    ],
)
def test_what_could_be_read_in_two_ways_is_strange(data: bytes) -> None:
    with pytest.raises(StrangeAnswer):
        AnswerReader().push(data)


@pytest.mark.parametrize("end", [b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{", CHUNKED[:-1], b"HTTP/1.1 200", b""])
def test_an_answer_without_its_end_is_none(end: bytes) -> None:
    reader = AnswerReader()
    assert reader.push(end) is None
    with pytest.raises(BitacoraError):
        reader.end()


def test_only_a_whole_answer_keeps_its_connection() -> None:
    for data, is_last in (
        (ANSWERS[0], False),
        (ANSWERS[0].replace(b"content", b"connection: close\r\ncontent"), True),
        (ANSWERS[0].replace(b"1.1", b"1.0"), True),
        (ANSWERS[0] + b"x", True),
        (CHUNKED + b"x", True),
    ):
        assert read([data])[3] is is_last
    reader = AnswerReader()
    assert reader.push(b"HTTP/1.1 200 OK\r\n\r\n{}") is None
    assert reader.end().body == b"{}" and reader.is_last
