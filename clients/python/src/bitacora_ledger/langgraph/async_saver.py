"""A checkpoint saver for the asynchronous methods of graphs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

from bitacora_ledger.async_client import AsyncClient
from bitacora_ledger.checkpoint import CheckpointContext, PagesSeen
from bitacora_ledger.langgraph.saver_acts import KEEP_LATEST, SaverActs


class AsyncBitacoraSaver(BaseCheckpointSaver[int]):
    """Keeps the checkpoints of a graph's threads in the ledger.

    A saved checkpoint is durable. Only the channels that changed are sent, and the ledger keeps each content once.
    A graph with this saver is called by its asynchronous methods.
    """

    def __init__(
        self,
        client: AsyncClient,
        *,
        serde: SerializerProtocol | None = None,
        about: CheckpointContext = CheckpointContext(),
    ) -> None:
        super().__init__(serde=serde)
        self._client = client
        self._acts = SaverActs(client.ledger, about)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Returns the checkpoint that the configuration names, the newest of the thread if it names none."""
        return await self._client.run(self._acts.get_tuple(self.serde, config))

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Lists checkpoints, the newest first."""
        seen = PagesSeen()
        after: str | None = None
        left = limit
        while left is None or left > 0:
            places, onward = await self._client.run(self._acts.page(config, filter, before, after))
            for place in places[:left]:
                found = await self._client.run(self._acts.get_tuple(self.serde, place))
                if found is not None:
                    yield found
                    left = None if left is None else left - 1
            after = seen.onward(onward)
            if after is None:
                return

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Saves a checkpoint. Returned ⇒ durable."""
        return await self._client.run(self._acts.put(self.serde, config, checkpoint, metadata, new_versions))

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Saves what a task wrote behind a checkpoint. Returned ⇒ durable."""
        await self._client.run(self._acts.put_writes(self.serde, config, writes, task_id, task_path))

    async def adelete_thread(self, thread_id: str) -> None:
        """Deletes all checkpoints and writes of a thread."""
        await self._client.run(self._acts.delete_thread(thread_id))

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Deletes the checkpoints that runs made, and their writes."""
        await self._client.run(self._acts.delete_for_runs(run_ids))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copies all checkpoints and writes of a thread to one that holds nothing yet."""
        await self._client.run(self._acts.copy_thread(source_thread_id, target_thread_id))

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = KEEP_LATEST) -> None:
        """Deletes threads (``delete``), or all but the newest checkpoint of each subgraph (``keep_latest``).

        The checkpoints that a delta channel of the newest is rebuilt from stay.
        """
        await self._client.run(self._acts.prune(thread_ids, strategy))
