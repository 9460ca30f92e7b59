"""Checkpoints of LangGraph as those of the ledger, and back."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any, cast, get_args

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_serializable_checkpoint_metadata,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

from bitacora_ledger.checkpoint import (
    CheckpointContext,
    CheckpointSource,
    FoundCheckpoint,
    NewCheckpoint,
    TaskWrite,
    TaskWrites,
)
from bitacora_ledger.content import Content
from bitacora_ledger.exchange import json_bytes

_OWN = ("id", "channel_values", "channel_versions")
_SERIALISED = "serialised"
_VERSIONS = "channel_versions"
_SOURCES = get_args(CheckpointSource)


def place(config: RunnableConfig) -> tuple[str, str, str | None]:
    """Returns the thread, subgraph and checkpoint that a configuration names."""
    named = config["configurable"]
    return str(named["thread_id"]), named.get("checkpoint_ns") or "", named.get("checkpoint_id")


def config_of(thread: str, namespace: str, checkpoint: str) -> RunnableConfig:
    """Returns the configuration that names a checkpoint."""
    return {"configurable": {"thread_id": thread, "checkpoint_ns": namespace, "checkpoint_id": checkpoint}}


def encode(
    serde: SerializerProtocol,
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    new_versions: ChannelVersions,
    about: CheckpointContext,
) -> NewCheckpoint:
    """Returns a checkpoint to be saved, with the channels that changed."""
    _, namespace, parent = place(config)
    kept: dict[str, Any] = dict(get_serializable_checkpoint_metadata(config, metadata))
    source = kept.get("source")
    step = kept.get("step")
    values = checkpoint["channel_values"]
    # Without a parent there is nothing to be the same as.
    changed = new_versions if parent is not None else values
    return NewCheckpoint(
        checkpoint=checkpoint["id"],
        step=max(step, -1) if isinstance(step, int) else -1,
        source=cast("CheckpointSource", source) if source in _SOURCES else "update",
        namespace=namespace,
        parent=parent,
        metadata=kept,
        document=_document(serde, checkpoint),
        channel_versions={
            name: str(version) if isinstance(version, float) else version
            for name, version in checkpoint["channel_versions"].items()
        },
        values={name: _content(serde, values[name]) for name in changed if name in values},
        about=about,
    )


def encode_writes(serde: SerializerProtocol, writes: Sequence[tuple[str, Any]], task: str, path: str) -> TaskWrites:
    """Returns the writes of a task. Errors and interrupts have places of their own, and replace earlier ones."""
    made = [
        TaskWrite(channel, _content(serde, value), WRITES_IDX_MAP.get(channel, number))
        for number, (channel, value) in enumerate(writes)
    ]
    return TaskWrites(task, made, path or None, all(channel in WRITES_IDX_MAP for channel, _ in writes))


def decode(
    serde: SerializerProtocol,
    found: FoundCheckpoint,
    values: Mapping[str, Content],
    writes: Sequence[tuple[str, str, Content]],
) -> CheckpointTuple:
    """Returns a found checkpoint as LangGraph reads it."""
    saved = found.saved
    rest = dict(found.document)
    if (serialised := rest.pop(_SERIALISED, None)) is not None:
        rest |= serde.loads_typed((serialised["encoding"], base64.b64decode(serialised["base64"])))
    versions = rest.pop(_VERSIONS, None) or saved.channel_versions
    checkpoint = {
        **rest,
        "id": saved.checkpoint,
        "channel_values": {name: _value(serde, content) for name, content in values.items()},
        "channel_versions": versions,
    }
    checkpoint.setdefault("versions_seen", {})
    parent = config_of(saved.thread, saved.namespace, saved.parent) if saved.parent else None
    return CheckpointTuple(
        config_of(saved.thread, saved.namespace, saved.checkpoint),
        cast("Checkpoint", checkpoint),
        cast("CheckpointMetadata", saved.metadata),
        parent,
        [(task, channel, _value(serde, content)) for task, channel, content in writes],
    )


def _document(serde: SerializerProtocol, checkpoint: Checkpoint) -> dict[str, Any]:
    rest = {name: value for name, value in checkpoint.items() if name not in _OWN}
    versions = checkpoint["channel_versions"]
    if any(isinstance(version, float) for version in versions.values()):
        rest[_VERSIONS] = dict(versions)
    if rest.get("pending_sends") == []:
        del rest["pending_sends"]
    try:
        json_bytes(rest)
    except (TypeError, ValueError):
        encoding, data = serde.dumps_typed(rest)
        return {_SERIALISED: {"encoding": encoding, "base64": base64.b64encode(data).decode("ascii")}}
    return rest


def _content(serde: SerializerProtocol, value: Any) -> Content:
    encoding, data = serde.dumps_typed(value)
    return Content(data, encoding)


def _value(serde: SerializerProtocol, content: Content) -> Any:
    return serde.loads_typed((content.encoding or "", content.data))
