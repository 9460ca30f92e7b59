"""The client of Bitacora, a ledger and a gate for AI agents."""

from bitacora.appended import Appended, Receipt
from bitacora.appender import Appender
from bitacora.approval import Approval
from bitacora.async_appender import AsyncAppender
from bitacora.async_checkpoints import AsyncCheckpoints
from bitacora.async_client import AsyncClient
from bitacora.async_follower import AsyncFollower
from bitacora.call import Call
from bitacora.checkpoint import (
    CheckpointContext,
    CheckpointFilter,
    CheckpointPage,
    CheckpointRecorded,
    FoundCheckpoint,
    NewCheckpoint,
    RecordedWrite,
    SavedCheckpoint,
    TaskWrite,
    TaskWrites,
)
from bitacora.checkpoints import Checkpoints
from bitacora.client import Client
from bitacora.content import Content, LargeContent, LostContent
from bitacora.cursor import Cursor, CursorPlace
from bitacora.decision import Decision, Obligations
from bitacora.errors import (
    AnswerLate,
    ArgumentsChanged,
    BitacoraError,
    ClientClosed,
    ClientError,
    ConnectFailed,
    ConnectionBroken,
    ContentTooLarge,
    CursorError,
    Denied,
    FollowError,
    NotAllowed,
    Refused,
    ReviewPending,
    StrangeAnswer,
)
from bitacora.event import ABSENT, Event
from bitacora.follower import Follower
from bitacora.guard import async_guarded_call, guarded, guarded_call
from bitacora.identifier import new_id
from bitacora.outcome import Outcome, OutcomeRecorded
from bitacora.permit import Permit
from bitacora.problem import Fault, Problem
from bitacora.service_url import ServiceUrl, ServiceUrlError
from bitacora.stored_event import EventFilter, Page, StoredEvent
from bitacora.token import Token, TokenError

__version__ = "0.1.0"

__all__ = [
    "ABSENT",
    "AnswerLate",
    "Appended",
    "Appender",
    "Approval",
    "ArgumentsChanged",
    "AsyncAppender",
    "AsyncCheckpoints",
    "AsyncClient",
    "AsyncFollower",
    "BitacoraError",
    "Call",
    "CheckpointContext",
    "CheckpointFilter",
    "CheckpointPage",
    "CheckpointRecorded",
    "Checkpoints",
    "Client",
    "ClientClosed",
    "ClientError",
    "ConnectFailed",
    "ConnectionBroken",
    "Content",
    "ContentTooLarge",
    "Cursor",
    "CursorError",
    "CursorPlace",
    "Decision",
    "Denied",
    "Event",
    "EventFilter",
    "Fault",
    "FollowError",
    "Follower",
    "FoundCheckpoint",
    "LargeContent",
    "LostContent",
    "NewCheckpoint",
    "NotAllowed",
    "Obligations",
    "Outcome",
    "OutcomeRecorded",
    "Page",
    "Permit",
    "Problem",
    "Receipt",
    "RecordedWrite",
    "Refused",
    "ReviewPending",
    "SavedCheckpoint",
    "ServiceUrl",
    "ServiceUrlError",
    "StoredEvent",
    "StrangeAnswer",
    "TaskWrite",
    "TaskWrites",
    "Token",
    "TokenError",
    "__version__",
    "async_guarded_call",
    "guarded",
    "guarded_call",
    "new_id",
]
