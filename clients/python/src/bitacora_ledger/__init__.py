"""The client of Bitacora, a ledger and a gate for AI agents."""

from bitacora_ledger.appended import Appended, Receipt
from bitacora_ledger.appender import Appender
from bitacora_ledger.approval import Approval
from bitacora_ledger.async_appender import AsyncAppender
from bitacora_ledger.async_checkpoints import AsyncCheckpoints
from bitacora_ledger.async_client import AsyncClient
from bitacora_ledger.async_follower import AsyncFollower
from bitacora_ledger.call import Call
from bitacora_ledger.checkpoint import (
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
from bitacora_ledger.checkpoints import Checkpoints
from bitacora_ledger.client import Client
from bitacora_ledger.content import Content, LargeContent, LostContent
from bitacora_ledger.cursor import Cursor, CursorPlace
from bitacora_ledger.decision import Decision, Obligations
from bitacora_ledger.errors import (
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
from bitacora_ledger.event import ABSENT, Event
from bitacora_ledger.follower import Follower
from bitacora_ledger.guard import async_guarded_call, guarded, guarded_call
from bitacora_ledger.identifier import new_id
from bitacora_ledger.outcome import Outcome, OutcomeRecorded
from bitacora_ledger.permit import Permit
from bitacora_ledger.problem import Fault, Problem
from bitacora_ledger.service_url import ServiceUrl, ServiceUrlError
from bitacora_ledger.stored_event import EventFilter, Page, StoredEvent
from bitacora_ledger.token import Token, TokenError

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
