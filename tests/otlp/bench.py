"""Spans a second over HTTP, beside a plain append of as many events, in turns. Usage: bench.py [SPANS] [BATCH] [CALLERS].

Needs BITACORA_PROGRAM, BITACORA_HARNESSES and OpenTelemetry's Python packages, as tests/otlp/run makes them.
"""

import http.client
import json
import os
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "harnesses"))

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest  # noqa: E402

from service import Bitacora  # noqa: E402

ROUNDS = 3
SPANS, BATCH, CALLERS = (int(given) for given in [*sys.argv[1:], *["200000", "500", "8"][len(sys.argv) - 1:]])


def spans(first, count):
    """A request of spans of tools, with the attributes that an instrumentation writes."""
    request = ExportTraceServiceRequest()
    group = request.resource_spans.add()
    group.resource.attributes.add(key="service.name").value.string_value = "bench"
    scope = group.scope_spans.add()
    scope.scope.name = "bench.agents"
    for number in range(first, first + count):
        span = scope.spans.add(
            trace_id=(number // 20 + 1).to_bytes(16, "big"), span_id=(number + 1).to_bytes(8, "big"),
            name="execute_tool get_weather", kind=1, start_time_unix_nano=1_795_000_000_000_000_000 + number * 1000,
            end_time_unix_nano=1_795_000_000_012_000_000 + number * 1000,
        )
        texts = {
            "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "get_weather",
            "gen_ai.tool.call.id": f"call_{number}", "gen_ai.conversation.id": f"conv-{number // 1000}",
            "gen_ai.tool.type": "function", "gen_ai.tool.call.arguments": json.dumps({"city": "Bilbao", "day": number}),
        }
        for key, text in texts.items():
            span.attributes.add(key=key).value.string_value = text
    return request.SerializeToString()


def events(first, count):
    """As many events with the same contents, as a client of the ledger appends them."""
    lines = []
    for number in range(first, first + count):
        data = {
            "assurance": "self_reported", "signal": "span", "name": "execute_tool get_weather", "tool": "get_weather",
            "call": f"call_{number}", "duration_ms": 12, "ended": "2026-11-18T11:06:40.012000Z", "service": "bench",
            "scope": "bench.agents", "attributes": {
                "gen_ai.operation.name": "execute_tool", "gen_ai.tool.type": "function",
                "gen_ai.tool.call.arguments": json.dumps({"city": "Bilbao", "day": number}),
            },
        }
        lines.append(json.dumps({
            "specversion": "1.0", "id": f"{number // 20 + 1:032x}-{number + 1:016x}", "source": "/bench",
            "type": "telemetry.tool", "subject": f"telemetry/conv-{number // 1000}", "session": f"conv-{number // 1000}",
            "run": f"{number // 20 + 1:032x}", "call": f"call_{number}", "time": "2026-11-18T11:06:40.000000Z",
            "traceparent": f"00-{number // 20 + 1:032x}-{number + 1:016x}-00", "data": data,
        }, separators=(",", ":")))
    return "\n".join(lines).encode()


def send_all(bitacora, target, content_type, bodies):
    """Sends bodies on several connections, each the next one after its answer, and returns the seconds."""
    token = (bitacora.folder / "keyring.admin-token").read_text().strip()
    headers = {"authorization": f"Bearer {token}", "content-type": content_type}
    waiting, faults = list(reversed(bodies)), []

    def caller():
        connection = http.client.HTTPConnection("127.0.0.1", bitacora.port, timeout=60)
        while True:
            try:
                body = waiting.pop()
            except IndexError:
                return
            connection.request("POST", target, body, headers)
            answer = connection.getresponse()
            told = answer.read()
            if answer.status not in (200, 201) or (answer.status == 200 and told):
                faults.append((answer.status, told[:300]))
                return

    threads = [threading.Thread(target=caller) for _ in range(CALLERS)]
    begun = time.monotonic()
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    taken = time.monotonic() - begun
    if faults:
        raise SystemExit(f"refused: {faults[0]}")
    return taken


def main():
    firsts = range(0, SPANS, BATCH)
    exports = [spans(first, BATCH) for first in firsts]
    appends = [events(first, BATCH) for first in firsts]
    print(f"{SPANS} spans, {BATCH} a request, {CALLERS} callers, {os.cpu_count()} cores", flush=True)
    rates = {}
    for _ in range(ROUNDS):
        for name, target, content_type, bodies in [
            ("append", "/v1/ledgers/main/events", "application/x-ndjson", appends),
            ("export", "/v1/traces", "application/x-protobuf", exports),
        ]:
            bitacora = Bitacora()
            try:
                taken = send_all(bitacora, target, content_type, bodies)
            finally:
                bitacora.close()
            rates.setdefault(name, []).append(SPANS / taken)
            print(f"{name}  {SPANS / taken:>9,.0f} a second", flush=True)
    best = {name: max(found) for name, found in rates.items()}
    print(f"best: {best['export']:,.0f} spans a second, {best['export'] / best['append']:.2f} of a plain append")


if __name__ == "__main__":
    main()
