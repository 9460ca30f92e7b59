"""Appends events with the official Python SDK of CloudEvents, in binary and in structured mode.

Usage: send.py URL, the address of `…/v1/ledgers/main/events`. Prints both as they are stored, a JSON line for each pair.
"""

import json
import sys
import urllib.request
from datetime import datetime, timezone

from cloudevents.core.bindings import http
from cloudevents.core.formats.json import JSONFormat
from cloudevents.core.v1.event import CloudEvent

url = sys.argv[1]
cases = [
    ("py-1", "application/json", {"path": "src/a.rs", "bytes": 812}),
    ("py-2", "application/json", {"name": "ü", "ratio": 0.5}),
    ("py-3", "text/plain", "one \"line\", 100% of it"),
    ("py-4", "application/octet-stream", b"\x00\x01\xfe\xff"),
]


def event(identity, kind, data):
    attributes = {
        "id": identity,
        "source": "/agents/7",
        "type": "x.file.written",
        "subject": "session/42 ü %",
        "time": datetime(2026, 11, 20, 10, 11, 12, tzinfo=timezone.utc),
        "datacontenttype": kind,
        "run": "r 1",
        "specversion": "1.0",
    }
    return CloudEvent(attributes=attributes, data=data)


def send(message):
    body = message.body if isinstance(message.body, bytes) else (message.body or "").encode()
    request = urllib.request.Request(url, data=body, headers=dict(message.headers), method="POST")
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


for identity, kind, data in cases:
    stored = []
    for mode, write in (("binary", http.to_binary), ("structured", http.to_structured)):
        appended = send(write(event(f"{identity}-{mode}", kind, data), JSONFormat()))
        with urllib.request.urlopen(f"{url}/{appended['results'][0]['position']}") as answer:
            stored.append(json.load(answer)["event"])
    print(json.dumps({"id": identity, "binary": stored[0], "structured": stored[1]}))
