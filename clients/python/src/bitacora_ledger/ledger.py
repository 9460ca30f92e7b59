"""The operations on one ledger, as steps without input or output."""

from __future__ import annotations

import itertools
import math
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bitacora_ledger.appended import Appended
from bitacora_ledger.approval import Approval
from bitacora_ledger.call import Call
from bitacora_ledger.decision import Decision
from bitacora_ledger.event import Event, EventLine, event_line
from bitacora_ledger.exchange import JSON, Pause, Request, Steps, json_bytes, once, query, repeated, segment, strange
from bitacora_ledger.limits import ANSWER_PATIENCE_S, APPROVAL_PAUSE_S, MAX_RETRIES, MAX_WAIT_S, WAIT_MARGIN_S
from bitacora_ledger.outcome import Outcome, OutcomeRecorded
from bitacora_ledger.stored_event import EventFilter, Page, StoredEvent

NDJSON = "application/x-ndjson"
_RESOURCE = re.compile(r"[!-~]*")
NEW_STREAM = 0
"""The expected version of a stream that has no event yet."""


@dataclass(frozen=True)
class Ledger:
    """One ledger of a service: makes the steps of its operations."""

    name: str
    retries: int = MAX_RETRIES
    patience_s: float = ANSWER_PATIENCE_S

    def path(self, resource: str) -> str:
        """Returns the path of a resource of the ledger."""
        return f"/v1/ledgers/{self.name}/{resource}"

    def post(self, resource: str, body: bytes, headers: Mapping[str, str]) -> Request:
        """Returns a request that posts a body."""
        return Request("POST", self.path(resource), body, headers, self.patience_s)

    def get(self, resource: str, headers: Mapping[str, str] | None = None, wait_s: float = 0.0) -> Request:
        """Returns a request for a resource, whose answer may be held back that long."""
        patience = self.patience_s if not wait_s else wait_s + WAIT_MARGIN_S
        return Request("GET", self.path(resource), headers=headers or {}, patience_s=patience)

    def append(self, events: Iterable[Event | Mapping[str, Any]], expected_version: int | None) -> Steps[Appended]:
        """Appends events, as one atomic request."""
        return (yield from self.append_lines([event_line(event) for event in events], expected_version))

    def append_lines(self, lines: Sequence[EventLine], expected_version: int | None = None) -> Steps[Appended]:
        """Appends events that are lines of NDJSON already."""
        headers = {"content-type": NDJSON}
        if expected_version == NEW_STREAM:
            headers["if-none-match"] = "*"
        elif expected_version is not None:
            headers["if-match"] = f'"v{expected_version}"'
        answer = yield from repeated(self.post("events", b"".join(line.data for line in lines), headers), self.retries)
        appended = answer.read(Appended.read)
        # An answer that came for another request must not count for these events.
        if [receipt.id for receipt in appended.receipts] != [line.id for line in lines]:
            raise strange()
        return appended

    def decide(self, call: Call) -> Steps[Decision]:
        """Asks whether a call may begin. A repeated request gets the first answer."""
        request = self.post("decide", json_bytes(call.members()), {"content-type": JSON})
        answer = yield from repeated(request, self.retries)
        decision = answer.read(Decision.read)
        # A cache between client and service may return the answer to another call, or another status than it was given.
        if answer.status != 200 or decision.call != call.id:
            raise strange()
        return decision

    def outcome(self, outcome: Outcome) -> Steps[OutcomeRecorded]:
        """Reports how a call ended."""
        request = self.post("outcome", json_bytes(outcome.members()), {"content-type": JSON})
        answer = yield from repeated(request, self.retries)
        recorded = answer.read(OutcomeRecorded.read)
        if recorded.call != outcome.call:
            raise strange()
        return recorded

    def approval(self, approval: str) -> Steps[Approval]:
        """Returns an approval as it stands."""
        return (yield from self._approval(approval, 0))

    def wait_for_approval(self, approval: str, patience_s: float) -> Steps[Approval]:
        """Waits for the answer to an approval. It may be pending still when the time is over."""
        deadline = time.monotonic() + patience_s
        while True:
            began = time.monotonic()
            left = deadline - began
            found = yield from self._approval(approval, min(MAX_WAIT_S, math.ceil(max(left, 0.0))))
            now = time.monotonic()
            if not found.is_pending or now >= deadline:
                return found
            early = began + APPROVAL_PAUSE_S - now
            if early > 0:
                yield Pause(min(early, deadline - now))

    def _approval(self, approval: str, wait_s: int) -> Steps[Approval]:
        wait = query({"wait": f"{wait_s}s" if wait_s else None})
        request = self.get(f"approvals/{segment(approval)}{wait}", wait_s=wait_s)
        answer = yield from repeated(request, self.retries)
        found = answer.read(Approval.read)
        if found.id != approval:
            raise strange()
        return found

    def page(self, where: EventFilter, after: int, limit: int, wait_s: int) -> Steps[Page]:
        """Reads a page of events past a position."""
        wait = f"{min(wait_s, MAX_WAIT_S)}s" if wait_s else None
        parameters = query({**where.parameters(), "after": after, "limit": limit, "wait": wait})
        answer = yield from repeated(self.get(f"events{parameters}", wait_s=wait_s), self.retries)
        page = answer.read(Page.read)
        places = [after, *(event.position for event in page.events)]
        is_in_order = all(earlier < later for earlier, later in itertools.pairwise(places))
        if not is_in_order or not all(where.matches(event) for event in page.events):
            raise strange()
        if page.next is not None and page.next <= after:
            raise strange()
        return page

    def event(self, position: int) -> Steps[StoredEvent]:
        """Reads the event at a position."""
        answer = yield from repeated(self.get(f"events/{position}"), self.retries)
        event = answer.read(StoredEvent.read)
        if event.position != position:
            raise strange()
        return event

    def head(self) -> Steps[int]:
        """Returns the last durable position."""
        answer = yield from repeated(self.get("head"), self.retries)
        return answer.read(lambda members: members.position("position"))

    def resource(self, resource: str) -> Steps[Any]:
        """Gets any other resource under the ledger, without a retry."""
        if not _RESOURCE.fullmatch(resource):
            raise ValueError("a resource with characters that an address has not; escape them")
        answer = yield from once(self.get(resource))
        return answer.json()
