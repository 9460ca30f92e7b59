"""Checkpoints as an executor saves them, and as the service answers them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from bitacora_ledger.content import Content, ContentState, read_content
from bitacora_ledger.exchange import strange
from bitacora_ledger.members import Members, MembersError

CheckpointSource = Literal["input", "loop", "update", "fork"]
ChannelVersion = int | str
"""A number, or a text of at most 128 bytes that sorts as one."""


@dataclass(frozen=True)
class CheckpointContext:
    """The agent, session and run that a saved item belongs to, and its data subject."""

    datasubject: str | None = None
    """Whose data the contents are: they are sealed under that person's key, and are lost when the key is."""
    agent: str | None = None
    session: str | None = None
    run: str | None = None

    def members(self) -> dict[str, Any]:
        """Returns what is set as members of a request."""
        values = {"datasubject": self.datasubject, "agent": self.agent, "session": self.session, "run": self.run}
        return {name: value for name, value in values.items() if value is not None}


@dataclass(frozen=True)
class TaskWrite:
    """One write of a task."""

    channel: str
    content: Content
    index: int | None = None
    """Its place among the task's; without it they are counted from 0."""


@dataclass(frozen=True)
class TaskWrites:
    """The writes of one task."""

    task: str
    writes: Sequence[TaskWrite]
    path: str | None = None
    """The task's path in the graph; writes are read in the order of it."""
    replace: bool = False
    """``True`` if they replace those at their indexes. Otherwise the first write at an index stays."""


@dataclass(frozen=True)
class NewCheckpoint:
    """The state of a thread behind one step."""

    checkpoint: str
    """Its id. Ids sort by the time at which they were made."""
    step: int
    """The step that it follows; -1 is the input before the first."""
    source: CheckpointSource
    namespace: str = ""
    """The subgraph; empty is the outermost one."""
    parent: str | None = None
    """The checkpoint before it."""
    metadata: Mapping[str, Any] | None = None
    """A JSON object that lists are filtered by."""
    document: Mapping[str, Any] | None = None
    """A JSON object with the rest of the state."""
    channel_versions: Mapping[str, ChannelVersion] = field(default_factory=dict)
    values: Mapping[str, Content] = field(default_factory=dict)
    """The contents of channels. A channel that is absent here has its content of the parent, at the same version."""
    writes: Sequence[TaskWrites] = ()
    """The writes of tasks behind the parent, from which this checkpoint came, where they were not saved before."""
    about: CheckpointContext = CheckpointContext()


@dataclass(frozen=True)
class CheckpointRecorded:
    """The place of an act on checkpoints."""

    position: int
    is_repeated: bool
    """``True`` if it was recorded before."""
    is_found: bool | None = None
    """Of a checkpoint with a parent, ``True`` if the parent is recorded; of writes, ``True`` if their checkpoint is."""

    @staticmethod
    def read(members: Members) -> CheckpointRecorded:
        """Returns the place of an answer."""
        return CheckpointRecorded(
            members.position("position"), members.flag("repeated"), members.optional_flag("found")
        )


@dataclass(frozen=True)
class SavedCheckpoint:
    """A checkpoint without the contents of its channels."""

    thread: str
    namespace: str
    checkpoint: str
    step: int
    source: str
    position: int
    """The position at which it was saved, or copied."""
    time: str
    """The time at which it was saved first."""
    parent: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    channel_versions: dict[str, ChannelVersion] = field(default_factory=dict)
    agent: str | None = None
    session: str | None = None
    run: str | None = None

    @staticmethod
    def read(members: Members) -> SavedCheckpoint:
        """Returns the checkpoint of an answer."""
        metadata = members.optional_within("metadata")
        return SavedCheckpoint(
            thread=members.text("thread"),
            namespace=members.text("namespace"),
            checkpoint=members.text("checkpoint"),
            step=members.whole("step"),
            source=members.text("source"),
            position=members.position("position"),
            time=members.text("time"),
            parent=members.optional_text("parent"),
            metadata=metadata.whole_object() if metadata else {},
            channel_versions=members.within("channelVersions").whole_object(),
            agent=members.optional_text("agent"),
            session=members.optional_text("session"),
            run=members.optional_text("run"),
        )


@dataclass(frozen=True)
class RecordedWrite:
    """A recorded write of a task."""

    task: str
    channel: str
    index: int
    path: str | None
    position: int
    content: ContentState

    @staticmethod
    def read(members: Members) -> RecordedWrite:
        """Returns the write of an answer."""
        return RecordedWrite(
            task=members.text("task"),
            channel=members.text("channel"),
            index=members.whole("index"),
            path=members.optional_text("path"),
            position=members.position("position"),
            content=read_content(members.within("value")),
        )


@dataclass(frozen=True)
class FoundCheckpoint:
    """A checkpoint with all that belongs to it."""

    saved: SavedCheckpoint
    document: dict[str, Any]
    values: dict[str, ContentState]
    writes: tuple[RecordedWrite, ...]
    """The writes of tasks behind it, by path, task and index."""

    @staticmethod
    def read(members: Members) -> FoundCheckpoint:
        """Returns the checkpoint of an answer."""
        document = members.optional_within("document")
        values = members.within("values").whole_object() if members.has("values") else {}
        return FoundCheckpoint(
            saved=SavedCheckpoint.read(members),
            document=document.whole_object() if document else {},
            values={name: read_content(Members(value)) for name, value in values.items()},
            writes=tuple(RecordedWrite.read(write) for write in members.optional_items("writes")),
        )


@dataclass(frozen=True)
class CheckpointPage:
    """A page of a list of checkpoints."""

    checkpoints: tuple[SavedCheckpoint, ...]
    next: str | None
    """The ``after`` of the next page; ``None`` at the end. A page may be short."""

    @staticmethod
    def read(members: Members) -> CheckpointPage:
        """Returns the page of an answer."""
        checkpoints = tuple(SavedCheckpoint.read(one) for one in members.items("checkpoints"))
        following = members.optional_text("next")
        if following is not None and not following:
            raise MembersError("next: found no name")
        return CheckpointPage(checkpoints, following)


@dataclass(frozen=True)
class CheckpointFilter:
    """The checkpoints that are listed."""

    thread: str | None = None
    """Only those of this thread, the greatest id first; without it of all, those saved last first."""
    namespace: str | None = None
    before: str | None = None
    """Only those whose id is smaller."""
    metadata: Mapping[str, Any] | None = None
    """Only those whose metadata has these members."""

    def matches(self, saved: SavedCheckpoint) -> bool:
        """Returns ``True`` if a checkpoint has what this names. Values that are no texts are the service's to compare."""
        texts = {name: value for name, value in (self.metadata or {}).items() if isinstance(value, str)}
        return (
            self.thread in (None, saved.thread)
            and self.namespace in (None, saved.namespace)
            and all(saved.metadata.get(name) == value for name, value in texts.items())
        )


class PagesSeen:
    """The pages of one list that were asked for. One that leads back to another would be read for ever."""

    def __init__(self) -> None:
        self._places: set[str] = set()

    def onward(self, place: str | None) -> str | None:
        """Returns the place of the next page, which has to be a new one."""
        if place is not None and place in self._places:
            raise strange()
        if place is not None:
            self._places.add(place)
        return place
