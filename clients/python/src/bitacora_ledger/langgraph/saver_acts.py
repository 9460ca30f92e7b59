"""The operations of a checkpoint saver, as steps without input or output."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import ChannelVersions, Checkpoint, CheckpointMetadata, CheckpointTuple
from langgraph.checkpoint.serde.base import SerializerProtocol

from bitacora_ledger.checkpoint import CheckpointContext, CheckpointFilter, FoundCheckpoint, PagesSeen, SavedCheckpoint
from bitacora_ledger.content import Content, ContentState, LargeContent, LostContent
from bitacora_ledger.errors import BitacoraError, Refused
from bitacora_ledger.exchange import Steps, strange
from bitacora_ledger.langgraph.codec import config_of, decode, encode, encode_writes, place
from bitacora_ledger.ledger import Ledger
from bitacora_ledger.limits import PAGE_EVENTS
from bitacora_ledger.thread_acts import ThreadActs

KEEP_LATEST = "keep_latest"
DELETE = "delete"
_DELTA_COUNTERS = "counters_since_delta_snapshot"


class SaverActs:
    """Makes the steps of a saver's operations on one ledger."""

    def __init__(self, ledger: Ledger, about: CheckpointContext) -> None:
        self._threads = ThreadActs(ledger)
        self._about = about

    def put(
        self,
        serde: SerializerProtocol,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> Steps[RunnableConfig]:
        """Saves a checkpoint, with the channels that changed."""
        thread, namespace, _ = place(config)
        new = encode(serde, config, checkpoint, metadata, new_versions, self._about)
        yield from self._threads.save(thread, new)
        return config_of(thread, namespace, checkpoint["id"])

    def put_writes(
        self,
        serde: SerializerProtocol,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task: str,
        path: str,
    ) -> Steps[None]:
        """Saves what a task wrote behind a checkpoint."""
        thread, namespace, checkpoint = place(config)
        if checkpoint is None:
            raise ValueError("writes belong to a checkpoint: the configuration names none")
        if writes:
            yield from self._threads.write(
                thread, checkpoint, encode_writes(serde, writes, task, path), namespace, self._about
            )

    def get_tuple(self, serde: SerializerProtocol, config: RunnableConfig) -> Steps[CheckpointTuple | None]:
        """Returns the checkpoint that a configuration names, or the newest."""
        thread, namespace, checkpoint = place(config)
        found = yield from self._threads.get(thread, checkpoint, namespace)
        return None if found is None else (yield from self._decoded(serde, found))

    def page(
        self,
        config: RunnableConfig | None,
        metadata: dict[str, Any] | None,
        before: RunnableConfig | None,
        after: str | None,
    ) -> Steps[tuple[list[RunnableConfig], str | None]]:
        """Returns the configurations of the next checkpoints, and where the page after them begins."""
        named = config["configurable"] if config else {}
        where = CheckpointFilter(
            thread=str(named["thread_id"]) if "thread_id" in named else None,
            namespace=named.get("checkpoint_ns"),
            before=place(before)[2] if before else None,
            metadata=metadata or None,
        )
        page = yield from self._threads.page(where, after, None)
        checkpoint = named.get("checkpoint_id")
        chosen = [one for one in page.checkpoints if checkpoint in (None, one.checkpoint)]
        return [config_of(one.thread, one.namespace, one.checkpoint) for one in chosen], page.next

    def delete_thread(self, thread: str) -> Steps[None]:
        """Deletes all checkpoints and writes of a thread, if it has any."""
        yield from self._delete(thread)

    def delete_for_runs(self, runs: Sequence[str]) -> Steps[None]:
        """Deletes the checkpoints that runs made, and their writes."""
        for run in runs:
            for one in (yield from self._all(CheckpointFilter(metadata={"run_id": str(run)}))):
                yield from self._delete(one.thread, one.checkpoint, one.namespace)

    def copy_thread(self, source: str, target: str) -> Steps[None]:
        """Copies all checkpoints and writes of a thread to one that holds nothing yet."""
        yield from self._threads.copy(source, target, None, None)

    def prune(self, threads: Sequence[str], strategy: str) -> Steps[None]:
        """Deletes threads, or all of them but the newest checkpoint of each subgraph and what that needs."""
        if strategy not in (KEEP_LATEST, DELETE):
            raise ValueError(f"found strategy {strategy!r}, expected {KEEP_LATEST!r} or {DELETE!r}")
        for thread in threads:
            if strategy == DELETE:
                yield from self._delete(thread)
            else:
                yield from self._keep_latest(thread)

    def _keep_latest(self, thread: str) -> Steps[None]:
        saved = yield from self._all(CheckpointFilter(thread=thread))
        newest: dict[str, SavedCheckpoint] = {}
        for one in saved:
            newest.setdefault(one.namespace, one)
        if not any(one.metadata.get(_DELTA_COUNTERS) for one in newest.values()):
            if len(saved) > len(newest):
                yield from self._delete(thread, keep_newest=True)
            return
        # A delta channel is rebuilt from the writes behind its last snapshot: those checkpoints stay too.
        kept = set()
        for one in newest.values():
            kept |= yield from self._needed(one)
        for one in saved:
            if (one.namespace, one.checkpoint) not in kept:
                yield from self._delete(thread, one.checkpoint, one.namespace)

    def _needed(self, newest: SavedCheckpoint) -> Steps[set[tuple[str, str]]]:
        missing = set(newest.metadata.get(_DELTA_COUNTERS) or {})
        needed = set()
        checkpoint: str | None = newest.checkpoint
        while checkpoint is not None:
            found = yield from self._threads.get(newest.thread, checkpoint, newest.namespace)
            if found is None:
                break
            # A line of parents that leads back has no end.
            if (newest.namespace, checkpoint) in needed:
                raise strange()
            needed.add((newest.namespace, checkpoint))
            missing -= set(found.values)
            checkpoint = found.saved.parent if missing else None
        return needed

    def _all(self, where: CheckpointFilter) -> Steps[list[SavedCheckpoint]]:
        found: list[SavedCheckpoint] = []
        seen = PagesSeen()
        after: str | None = None
        while True:
            page = yield from self._threads.page(where, after, PAGE_EVENTS)
            found.extend(page.checkpoints)
            after = seen.onward(page.next)
            if after is None:
                return found

    def _delete(
        self, thread: str, checkpoint: str | None = None, namespace: str | None = None, keep_newest: bool = False
    ) -> Steps[None]:
        try:
            yield from self._threads.delete(thread, checkpoint, namespace, keep_newest)
        except Refused as refused:
            if refused.code != "no-such-checkpoint":
                raise

    def _decoded(self, serde: SerializerProtocol, found: FoundCheckpoint) -> Steps[CheckpointTuple]:
        values = {}
        for name, state in found.values.items():
            content = yield from self._whole(name, state)
            if content is not None:
                values[name] = content
        writes = []
        for write in found.writes:
            content = yield from self._whole(write.channel, write.content)
            if content is not None:
                writes.append((write.task, write.channel, content))
        return decode(serde, found, values, writes)

    def _whole(self, channel: str, state: ContentState) -> Steps[Content | None]:
        """Returns a content; ``None`` if it was erased with its data subject: the channel is empty then."""
        if isinstance(state, LargeContent):
            state = yield from self._threads.read(state)
        if isinstance(state, Content):
            return state
        if state is LostContent.ERASED:
            return None
        raise BitacoraError(f"channel {channel}: its content is named, but was never recorded")
