"""Generated exports, read by the service and by OpenTelemetry's own protobuf: both find the same in them.

Usage: differential.py [REQUESTS] [SEED]. Needs the environment of tests/otlp/run.
"""

import base64
import hashlib
import json
import math
import random
import struct
import sys
import urllib.error
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "harnesses"))

from google.protobuf.message import DecodeError  # noqa: E402
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (  # noqa: E402
    ExportLogsServiceRequest,
    ExportLogsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (  # noqa: E402
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from service import Bitacora  # noqa: E402

MAX_ATTRIBUTES, MAX_VALUES, MAX_DEPTH, MAX_TEXT, MAX_DATA = 512, 4096, 16, 16 * 1024, 256 * 1024
# Largest whole number that JSON keeps exactly.
MAX_NUMBER = 2**53
PROTOBUF = "application/x-protobuf"
NAMES = ["k", "ä", "k\0", "", "a.b", "k" * 300]


class Generator:
    """Requests with every field, also such as no exporter writes."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def text(self):
        return self.random.choice(["", "x", "ü\u2028\"\\", "\0\x01\x7f", "😀" * 9, "t" * 16_384, "t" * 16_385, "12", "true"])

    def any_value(self, value, depth=0):
        kinds = ["string", "bool", "int", "double", "bytes", "empty"] + ["list", "map"] * (depth < 18)
        match self.random.choice(kinds):
            case "string":
                value.string_value = self.text()
            case "bool":
                value.bool_value = self.random.random() < 0.5
            case "int":
                edges = [0, 1, -1, 2**53, -(2**53), 2**53 + 1, 2**63 - 1, -(2**63)]
                value.int_value = self.random.choice([*edges, self.random.randrange(-(2**63), 2**63)])
            case "double":
                edges = [0.0, -0.0, 0.1, 1e300, 5e-324, math.inf, -math.inf, math.nan, 2.0**53, 1e15]
                value.double_value = self.random.choice([*edges, self.random.uniform(-1e9, 1e9)])
            case "bytes":
                value.bytes_value = self.random.choice([b"", b"\0\xff", b"b" * 16_385, self.random.randbytes(9)])
            case "list":
                value.array_value.SetInParent()
                for _ in range(self.random.choice([0, 1, 1, 2])):
                    self.any_value(value.array_value.values.add(), depth + 1)
            case "map":
                value.kvlist_value.SetInParent()
                for _ in range(self.random.choice([0, 1, 1, 2])):
                    self.attribute(value.kvlist_value.values.add(), depth + 1)

    def attribute(self, attribute, depth=0):
        attribute.key = self.random.choice(NAMES) + str(self.random.randrange(3))
        if self.random.random() < 0.95:
            self.any_value(attribute.value, depth)

    def some_id(self, length):
        return self.random.choice([self.random.randbytes(length)] * 9 + [b"", bytes(length), b"\1" * (length - 1)])

    def scope(self, group, of):
        group.resource.attributes.add(key="service.name").value.string_value = "differential"
        scope = getattr(group, of).add()
        scope.scope.name = self.random.choice(["", "scope", "s" * 257])
        return scope

    def traces(self):
        request = ExportTraceServiceRequest()
        for _ in range(self.random.choice([0, 1, 2])):
            scope = self.scope(request.resource_spans.add(), "scope_spans")
            for _ in range(self.random.randrange(4)):
                span = scope.spans.add(
                    trace_id=self.some_id(16), span_id=self.some_id(8), parent_span_id=self.some_id(8),
                    name=self.random.choice(["execute_tool x", "gen_ai.x", "", "n" * 2_000]), kind=self.random.randrange(6),
                    start_time_unix_nano=1_795_000_000_000_000_000 + self.random.randrange(10**15),
                    end_time_unix_nano=self.random.choice([0, 1_796_000_000_000_000_000]), flags=self.random.choice([0, 1, 0x301]),
                    trace_state="a=b", dropped_attributes_count=3,
                )
                span.status.code = self.random.randrange(3)
                span.status.message = self.text()
                span.events.add(name="e", time_unix_nano=7)
                span.links.add(trace_id=b"1" * 16)
                span.attributes.add(key="gen_ai.operation.name").value.string_value = "execute_tool"
                many = self.random.random() < 0.02
                for _ in range(self.random.choice([511, 512]) if many else self.random.randrange(6)):
                    self.attribute(span.attributes.add())
        return request

    def logs(self):
        request = ExportLogsServiceRequest()
        for _ in range(self.random.choice([0, 1, 2])):
            scope = self.scope(request.resource_logs.add(), "scope_logs")
            for _ in range(self.random.randrange(4)):
                record = scope.log_records.add(
                    time_unix_nano=1_795_000_000_000_000_000 + self.random.randrange(10**15), severity_number=9,
                    observed_time_unix_nano=1_795_000_000_000_000_000, event_name="claude_code.x", severity_text="INFO",
                    trace_id=self.some_id(16), span_id=self.some_id(8), flags=self.random.choice([0, 1]),
                )
                self.any_value(record.body)
                record.attributes.add(key="n").value.int_value = self.random.randrange(2**40)
                for _ in range(self.random.randrange(6)):
                    self.attribute(record.attributes.add())
        return request

    def spoilt(self, body):
        """The bytes with one of them changed, some cut off, or a field added that nobody knows."""
        if not body:
            return body
        at = self.random.randrange(len(body))
        match self.random.randrange(4):
            case 0:
                return body[:at]
            case 1:
                return body[:at] + bytes([self.random.randrange(256)]) + body[at + 1 :]
            case 2:
                return body + self.random.choice([b"\xfa\x01\x02hi", b"\x98\x06\x07", b"\x9d\x06\1\2\3\4", b"\x99\x06" + b"8" * 8])
            case _:
                return body[:at] + body[at : at + 9] + body[at:]


VALUE = {number: None for number in range(1, 8)}
ATTRIBUTE = {1: None, 2: VALUE}
VALUE[5], VALUE[6] = {1: VALUE}, {1: ATTRIBUTE}
SPAN = {number: None for number in (1, 2, 4, 5, 7, 8, 16)} | {9: ATTRIBUTE, 15: {2: None, 3: None}}
LOG = {number: None for number in (1, 8, 9, 10, 11, 12)} | {5: VALUE, 6: ATTRIBUTE}
# The fields that the service reads. The values of a resource's attributes are read for two names alone.
READ = {
    signal: {1: {1: {1: {1: None}}, 2: {1: {1: None}, 2: record}}} for signal, record in {"traces": SPAN, "logs": LOG}.items()
}


def varint(data, at):
    number = shift = 0
    while True:
        number |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 0x80:
            return number, at


def read_alone(data, fields):
    """A message without the fields that the service does not read."""
    kept, at = b"", 0
    while at < len(data):
        begin = at
        tag, at = varint(data, at)
        number, kind = tag >> 3, tag & 7
        if kind == 2:
            length, at = varint(data, at)
            inner, at = data[at : at + length], at + length
            if fields.get(number):
                inner = read_alone(inner, fields[number])
                kept += bytes([*encoded(tag), *encoded(len(inner))]) + inner
                continue
        else:
            at = varint(data, at)[1] if kind == 0 else at + {1: 8, 5: 4}[kind]
        if number in fields:
            kept += data[begin:at]
    return kept


def encoded(number):
    while number > 0x7F:
        yield number & 0x7F | 0x80
        number >>= 7
    yield number


class Faulty(Exception):
    """A record that is rejected."""


class Expected:
    """What a record's values are as JSON, by what the protobuf of OpenTelemetry found in them."""

    def __init__(self):
        self.left = MAX_VALUES

    def take(self, depth):
        self.left -= 1
        if depth > MAX_DEPTH or self.left < 0:
            raise Faulty

    def value(self, value, depth=0):
        self.take(depth)
        match value.WhichOneof("value"):
            case "string_value":
                return self.text(value.string_value)
            case "bool_value":
                return value.bool_value
            case "int_value":
                return value.int_value if abs(value.int_value) <= MAX_NUMBER else str(value.int_value)
            case "double_value":
                return self.double(value.double_value)
            case "bytes_value":
                long = len(value.bytes_value) > MAX_TEXT
                return self.digest(value.bytes_value) if long else base64.b64encode(value.bytes_value).decode()
            case "array_value":
                return [self.value(one, depth + 1) for one in value.array_value.values]
            case "kvlist_value":
                return self.members(value.kvlist_value.values, depth + 1)

    def members(self, members, depth):
        found = {}
        for member in members:
            self.take(depth)
            value = self.value(member.value, depth) if member.HasField("value") else None
            found.setdefault(member.key.replace("\0", "\ufffd"), value)
        return found

    def attributes(self, attributes):
        if len(attributes) > MAX_ATTRIBUTES:
            raise Faulty
        found = {}
        for attribute in attributes:
            value = self.value(attribute.value) if attribute.HasField("value") else None
            found.setdefault(attribute.key.replace("\0", "\ufffd"), value)
        return found

    def text(self, text):
        data = text.encode()
        return self.digest(data) if len(data) > MAX_TEXT else text.replace("\0", "\ufffd")

    def digest(self, data):
        return {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}

    def double(self, number):
        if math.isnan(number):
            return "NaN"
        if math.isinf(number):
            return "Infinity" if number > 0 else "-Infinity"
        return number if abs(number) < MAX_NUMBER - 8 else ("huge", number)


def is_id(data, length):
    return len(data) == length and data != bytes(length)


def expected_records(request):
    """Each record of a request: its id, and its attributes and body; or a fault."""
    for group in request.resource_spans if isinstance(request, ExportTraceServiceRequest) else request.resource_logs:
        is_span = isinstance(request, ExportTraceServiceRequest)
        for scope in group.scope_spans if is_span else group.scope_logs:
            for record in scope.spans if is_span else scope.log_records:
                reader = Expected()
                try:
                    if not is_span:
                        body = reader.value(record.body) if record.HasField("body") else None
                    attributes = reader.attributes(record.attributes)
                except Faulty:
                    yield None
                    continue
                if is_span:
                    if not (is_id(record.trace_id, 16) and is_id(record.span_id, 8)):
                        yield None
                        continue
                    yield f"{record.trace_id.hex()}-{record.span_id.hex()}", attributes, record.status.message
                else:
                    yield "", attributes, body


def same(found, wanted):
    """Compares JSON with what was expected; doubles beyond exact ones are texts."""
    if isinstance(wanted, tuple):
        return isinstance(found, str) and float(found) == wanted[1]
    if isinstance(wanted, dict):
        return isinstance(found, dict) and found.keys() == wanted.keys() and all(same(found[k], wanted[k]) for k in wanted)
    if isinstance(wanted, list):
        return isinstance(found, list) and len(found) == len(wanted) and all(map(same, found, wanted))
    if isinstance(wanted, float) and isinstance(found, (int, float)):
        return struct.pack("d", found) == struct.pack("d", wanted) or found == wanted
    return type(found) is type(wanted) and found == wanted


class Differential:
    def __init__(self, bitacora):
        self.bitacora = bitacora
        self.token = (bitacora.folder / "keyring.admin-token").read_text().strip()
        self.counts = {"taken": 0, "refused": 0, "records": 0, "rejected": 0, "passed over": 0}

    def ask(self, path, body=None, content_type=None):
        headers = {"authorization": f"Bearer {self.token}"} | ({"content-type": content_type} if content_type else {})
        try:
            with urllib.request.urlopen(urllib.request.Request(self.bitacora.url + path, body, headers), timeout=60) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    def head(self):
        return int(json.loads(self.ask("/v1/ledgers/main/head")[1])["position"])

    def is_read(self, request, body):
        try:
            request.ParseFromString(body)
            return True
        except DecodeError:
            return False

    def telemetry(self, after):
        page = json.loads(self.ask(f"/v1/ledgers/main/events?after={after}&limit=1000")[1])
        return [event["event"] for event in page["events"] if event["event"]["type"].startswith("telemetry.")]

    def check(self, signal, body):
        request, response = {
            "traces": (ExportTraceServiceRequest(), ExportTraceServiceResponse()),
            "logs": (ExportLogsServiceRequest(), ExportLogsServiceResponse()),
        }[signal]
        is_read = self.is_read(request, body)
        before = self.head()
        status, answer = self.ask(f"/v1/{signal}", body, PROTOBUF)
        if status == 200 and not is_read:
            # The fault lies in a field that the service passes over.
            is_read = self.is_read(request, read_alone(body, READ[signal]))
            self.counts["passed over"] += is_read
        assert status == (200 if is_read else 400), (status, is_read, answer, body.hex()[:2000])
        if not is_read:
            assert self.telemetry(before) == [], body.hex()
            self.counts["refused"] += 1
            return
        self.counts["taken"] += 1
        response.ParseFromString(answer)
        rejected = getattr(response.partial_success, "rejected_spans" if signal == "traces" else "rejected_log_records")
        wanted = list(expected_records(request))
        self.counts["records"] += len(wanted)
        self.counts["rejected"] += rejected
        self.compare(signal, wanted, rejected, before, body)

    def compare(self, signal, wanted, rejected, before, body):
        events = self.telemetry(before)
        good = [record for record in wanted if record is not None]
        # Whatever takes more than the data of an event is rejected too.
        too_large = [record for record in good if len(json.dumps(record[1])) > MAX_DATA // 2]
        assert len(wanted) - len(good) <= rejected <= len(wanted) - len(good) + len(too_large), (rejected, wanted, body.hex())
        if too_large:
            return
        distinct = {record[0] for record in good} if signal == "traces" else None
        if signal == "traces":
            kept = [record for record in good if "gen_ai.operation.name" in record[1] or record[0]]
            assert {event["id"] for event in events} <= distinct, body.hex()
            by_id = {}
            for record in kept:
                by_id.setdefault(record[0], record)
            pairs = [(event, by_id[event["id"]]) for event in events]
        else:
            pairs = zip(events, good) if len(events) == len(good) else []
        for event, (_, attributes, text) in pairs:
            self.compare_one(event["data"], attributes, text, body)

    def compare_one(self, data, attributes, text, body):
        found = data.get("attributes", {})
        for name, value in found.items():
            assert name in attributes and same(value, attributes[name]), (name, value, attributes.get(name), body.hex())
        # The others became members of the data.
        for name in attributes.keys() - found.keys():
            assert name in {"gen_ai.operation.name"}, (name, attributes, data)
        if text not in (None, "") and "body" in data:
            wanted = Expected().text(text) if isinstance(text, str) else text
            assert same(data["body"], wanted), (data["body"], wanted, body.hex())


def compare_all(bitacora, requests, seed):
    """Sends so many generated requests; returns what became of them."""
    generator, differential = Generator(seed), Differential(bitacora)
    for _ in range(requests):
        signal = generator.random.choice(["traces", "logs"])
        body = getattr(generator, signal)().SerializeToString()
        for _ in range(generator.random.choice([0, 1, 1, 2])):
            body = generator.spoilt(body)
        differential.check(signal, body)
    return differential.counts


def main():
    requests, seed = (int(given) for given in [*sys.argv[1:], *["2000", "1"][len(sys.argv) - 1 :]])
    bitacora = Bitacora()
    try:
        print(f"{requests} requests of seed {seed}: {compare_all(bitacora, requests, seed)}")
    finally:
        bitacora.close()


if __name__ == "__main__":
    main()
