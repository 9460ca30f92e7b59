"""The checkpoints of threads of work, for threads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bitacora_ledger.checkpoint import (
    CheckpointContext,
    CheckpointFilter,
    CheckpointPage,
    CheckpointRecorded,
    FoundCheckpoint,
    NewCheckpoint,
    PagesSeen,
    SavedCheckpoint,
    TaskWrites,
)
from bitacora_ledger.connection import Connection
from bitacora_ledger.content import Content, LargeContent, LostContent
from bitacora_ledger.ledger import Ledger
from bitacora_ledger.thread_acts import ThreadActs


class Checkpoints:
    """The checkpoints of a ledger. Reads see everything that is durable when they are asked."""

    def __init__(self, connection: Connection, ledger: Ledger) -> None:
        self._connection = connection
        self._acts = ThreadActs(ledger)

    def save(self, thread: str, new: NewCheckpoint) -> CheckpointRecorded:
        """Saves the state of a thread behind a step. Returned ⇒ durable.

        Of contents that together do not fit a request, the largest ones are sent ahead, in parts.
        """
        return self._connection.run(self._acts.save(thread, new))

    def write(
        self,
        thread: str,
        checkpoint: str,
        task: TaskWrites,
        *,
        namespace: str = "",
        about: CheckpointContext = CheckpointContext(),
    ) -> CheckpointRecorded:
        """Saves what a task wrote behind a checkpoint, which may still be on its way."""
        return self._connection.run(self._acts.write(thread, checkpoint, task, namespace, about))

    def copy(
        self, thread: str, to: str, *, namespace: str | None = None, checkpoint: str | None = None
    ) -> CheckpointRecorded:
        """Copies a thread, or what led to one of its checkpoints, to another one that holds nothing yet."""
        return self._connection.run(self._acts.copy(thread, to, namespace, checkpoint))

    def fork(
        self,
        thread: str,
        new_checkpoint: str,
        *,
        checkpoint: str | None = None,
        namespace: str = "",
        metadata: Mapping[str, Any] | None = None,
    ) -> CheckpointRecorded:
        """Saves a new checkpoint that has another one for its parent, the newest if none is named."""
        return self._connection.run(self._acts.fork(thread, new_checkpoint, checkpoint, namespace, metadata))

    def delete(
        self,
        thread: str,
        *,
        checkpoint: str | None = None,
        namespace: str | None = None,
        keep_newest: bool = False,
    ) -> CheckpointRecorded:
        """Deletes a thread, one checkpoint of it, or all but the newest of each subgraph. The log keeps them."""
        return self._connection.run(self._acts.delete(thread, checkpoint, namespace, keep_newest))

    def get(self, thread: str, *, checkpoint: str | None = None, namespace: str = "") -> FoundCheckpoint | None:
        """Returns a checkpoint, the newest if none is named; ``None`` where there is none."""
        return self._connection.run(self._acts.get(thread, checkpoint, namespace))

    def page(
        self, where: CheckpointFilter = CheckpointFilter(), *, after: str | None = None, limit: int | None = None
    ) -> CheckpointPage:
        """Lists checkpoints, one page, without the contents of their channels."""
        return self._connection.run(self._acts.page(where, after, limit))

    def read(self, large: LargeContent) -> Content | LostContent:
        """Reads a content that is larger than an answer, piece by piece."""
        return self._connection.run(self._acts.read(large))

    def list(self, where: CheckpointFilter = CheckpointFilter()) -> Iterator[SavedCheckpoint]:
        """Lists checkpoints, page by page up to the end."""
        after: str | None = None
        seen = PagesSeen()
        while True:
            page = self.page(where, after=after)
            for saved in page.checkpoints:
                yield saved
            after = seen.onward(page.next)
            if after is None:
                return
