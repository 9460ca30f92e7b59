"""The operations on checkpoints of threads, as steps without input or output."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

from bitacora_ledger.checkpoint import (
    CheckpointContext,
    CheckpointFilter,
    CheckpointPage,
    CheckpointRecorded,
    FoundCheckpoint,
    NewCheckpoint,
    TaskWrites,
)
from bitacora_ledger.content import Content, LargeContent, LostContent, Splices, named, read_base64, sent_ahead
from bitacora_ledger.errors import ContentTooLarge, Refused
from bitacora_ledger.exchange import JSON, Answer, Request, Steps, json_bytes, query, repeated, segment, strange
from bitacora_ledger.identifier import new_id
from bitacora_ledger.ledger import Ledger
from bitacora_ledger.limits import CONTENT_PART_BYTES, MAX_CONTENT_BYTES, MAX_REQUEST_BYTES
from bitacora_ledger.members import MembersError

BYTES = "application/octet-stream"


class ThreadActs:
    """Makes the steps of the operations on checkpoints.

    Every request that records something has an id of its own and is repeated under it, so that it takes effect once.
    A read is one request: the service answers it as of its head, which covers everything that was recorded before.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._seen = 0
        """The last position that was recorded here."""
        self._lock = threading.Lock()

    def save(self, thread: str, new: NewCheckpoint) -> Steps[CheckpointRecorded]:
        """Saves the state of a thread behind a step."""
        body: dict[str, Any] = {
            "checkpoint": new.checkpoint,
            "namespace": new.namespace,
            "step": new.step,
            "source": new.source,
            "channelVersions": dict(new.channel_versions),
        }
        optional = {"parent": new.parent, "metadata": new.metadata, "document": new.document}
        body.update((name, value) for name, value in optional.items() if value is not None)
        contents = [*new.values.values(), *_contents(new.writes)]
        shape = {**body, "values": dict.fromkeys(new.values, None), "writes": _tasks(new.writes, [])}
        splices = Splices()
        values = yield from self._sent(contents, shape, new.about, splices)
        body["values"] = dict(zip(new.values, values, strict=False))
        if new.writes:
            body["writes"] = _tasks(new.writes, values[len(new.values) :])
        return (yield from self._act(thread, "save", new.about, body, splices))

    def write(
        self, thread: str, checkpoint: str, task: TaskWrites, namespace: str, about: CheckpointContext
    ) -> Steps[CheckpointRecorded]:
        """Saves what a task wrote behind a checkpoint."""
        body = {"checkpoint": checkpoint, "namespace": namespace}
        shape = {**body, **_task(task, [])}
        splices = Splices()
        values = yield from self._sent(_contents([task]), shape, about, splices)
        return (yield from self._act(thread, "writes", about, {**body, **_task(task, values)}, splices))

    def copy(self, thread: str, to: str, namespace: str | None, checkpoint: str | None) -> Steps[CheckpointRecorded]:
        """Copies a thread, or what led to one of its checkpoints, to one that holds nothing yet."""
        body = {"to": to, "namespace": namespace, "checkpoint": checkpoint}
        return (yield from self._act(thread, "copy", CheckpointContext(), _present(body), Splices()))

    def fork(
        self,
        thread: str,
        new_checkpoint: str,
        checkpoint: str | None,
        namespace: str,
        metadata: Mapping[str, Any] | None,
    ) -> Steps[CheckpointRecorded]:
        """Saves a new checkpoint that has another one for its parent and holds all that it holds."""
        body = {"as": new_checkpoint, "checkpoint": checkpoint, "namespace": namespace, "metadata": metadata}
        return (yield from self._act(thread, "fork", CheckpointContext(), _present(body), Splices()))

    def delete(
        self, thread: str, checkpoint: str | None, namespace: str | None, keep_newest: bool
    ) -> Steps[CheckpointRecorded]:
        """Deletes checkpoints: they are found no more."""
        keep = "newest" if keep_newest else None
        act = new_id()
        chosen = {"id": act, "keep": keep, "namespace": namespace, "checkpoint": checkpoint}
        path = self._ledger.path(f"checkpoints/{segment(thread)}{query(chosen)}")
        answer = yield from repeated(Request("DELETE", path, patience_s=self._ledger.patience_s), self._ledger.retries)
        return self._recorded(answer, act)

    def get(self, thread: str, checkpoint: str | None, namespace: str) -> Steps[FoundCheckpoint | None]:
        """Returns a checkpoint, the newest if none is named; ``None`` where there is none."""
        chosen = query({"namespace": namespace or None, "checkpoint": checkpoint})
        request = self._ledger.get(f"checkpoints/{segment(thread)}{chosen}")
        try:
            answer = yield from repeated(request, self._ledger.retries)
        except Refused as refused:
            if refused.code == "no-such-checkpoint":
                return None
            raise
        found = answer.read(FoundCheckpoint.read)
        saved = found.saved
        if (saved.thread, saved.namespace) != (thread, namespace) or checkpoint not in (None, saved.checkpoint):
            raise strange()
        return found

    def page(self, where: CheckpointFilter, after: str | None, limit: int | None) -> Steps[CheckpointPage]:
        """Lists checkpoints, one page."""
        chosen = query(
            {
                "thread": where.thread,
                "namespace": where.namespace,
                "before": where.before,
                "filter": json_bytes(where.metadata).decode() if where.metadata is not None else None,
                "after": after,
                "limit": limit,
            }
        )
        request = self._ledger.get(f"checkpoints{chosen}")
        answer = yield from repeated(request, self._ledger.retries)
        page = answer.read(CheckpointPage.read)
        if not all(where.matches(saved) for saved in page.checkpoints):
            raise strange()
        return page

    def read(self, large: LargeContent) -> Steps[Content | LostContent]:
        """Reads a content that is larger than an answer, piece by piece."""
        data = bytearray()
        for position in large.positions:
            event = yield from self._ledger.event(position)
            if event.is_erased:
                return LostContent.ERASED
            try:
                data += read_base64(str(event.event.get("data_base64", "")))
            except MembersError:
                raise strange() from None
            if len(data) > MAX_CONTENT_BYTES:
                raise strange()
        if len(data) != large.size:
            raise strange()
        return Content(bytes(data), large.encoding)

    def _sent(
        self, contents: Sequence[Content], shape: dict[str, Any], about: CheckpointContext, splices: Splices
    ) -> Steps[list[dict[str, Any]]]:
        """Returns contents as a request names them. Those sent ahead of it are durable before it is sent."""
        for content in contents:
            if len(content.data) > MAX_CONTENT_BYTES:
                raise ContentTooLarge(f"a content of {len(content.data)} bytes; at most {MAX_CONTENT_BYTES} are taken")
        if sum(len(content.data) for content in contents) < MAX_REQUEST_BYTES // 8:
            return [splices.within(content) for content in contents]
        room = MAX_REQUEST_BYTES - len(json_bytes(shape))
        values = []
        for content, is_ahead in zip(contents, sent_ahead(contents, room), strict=True):
            if is_ahead:
                values.append(named(content, (yield from self._send_ahead(content, about))))
            else:
                values.append(splices.within(content))
        return values

    def _send_ahead(self, content: Content, about: CheckpointContext) -> Steps[list[str]]:
        pieces: list[str] = []
        resource = f"contents{query({'datasubject': about.datasubject})}"
        for begin in range(0, len(content.data), CONTENT_PART_BYTES):
            part = content.data[begin : begin + CONTENT_PART_BYTES]
            request = self._ledger.post(resource, part, {"content-type": BYTES})
            answer = yield from repeated(request, self._ledger.retries)
            names, size = answer.read(lambda members: (members.texts("pieces"), members.whole("bytes")))
            if not names or size != len(part):
                raise strange()
            pieces.extend(names)
        return pieces

    def _act(
        self, thread: str, verb: str, about: CheckpointContext, body: dict[str, Any], splices: Splices
    ) -> Steps[CheckpointRecorded]:
        headers = {"content-type": JSON, **self._at_least()}
        act = new_id()
        body = {"id": act, **about.members(), **body}
        request = self._ledger.post(f"checkpoints/{segment(thread)}:{verb}", splices.json_bytes(body), headers)
        answer = yield from repeated(request, self._ledger.retries)
        return self._recorded(answer, act)

    def _recorded(self, answer: Answer, act: str) -> CheckpointRecorded:
        """Returns the place of the act with this id. The answer to another one must not count for it."""
        name, recorded = answer.read(lambda members: (members.text("id"), CheckpointRecorded.read(members)))
        if name != act:
            raise strange()
        with self._lock:
            self._seen = max(self._seen, recorded.position)
        return recorded

    def _at_least(self) -> dict[str, str]:
        return {"ledger-min-position": str(self._seen)} if self._seen else {}


def _contents(tasks: Sequence[TaskWrites]) -> list[Content]:
    return [write.content for task in tasks for write in task.writes]


def _tasks(tasks: Sequence[TaskWrites], values: list[dict[str, Any]]) -> list[dict[str, Any]]:
    made = []
    begin = 0
    for task in tasks:
        made.append(_task(task, values[begin : begin + len(task.writes)]))
        begin += len(task.writes)
    return made


def _task(task: TaskWrites, values: list[dict[str, Any]]) -> dict[str, Any]:
    """Returns the writes of a task with these contents; without any it is their shape, to be measured."""
    writes = []
    for number, write in enumerate(task.writes):
        value = values[number] if values else None
        writes.append(_present({"channel": write.channel, "index": write.index, "value": value}))
    return _present({"task": task.task, "path": task.path, "replace": task.replace or None, "writes": writes})


def _present(members: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}
