"""A gate around the tools of a graph: a review becomes an ``interrupt``.

The functions made here are for ``wrap_tool_call`` and ``awrap_tool_call`` of a ``ToolNode`` or of a LangChain middleware.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from langchain_core.messages import ToolMessage
from langgraph.errors import GraphBubbleUp
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command, interrupt

from bitacora_ledger.async_client import AsyncClient
from bitacora_ledger.call import Call
from bitacora_ledger.client import Client
from bitacora_ledger.errors import BitacoraError, ClientError, Denied, ReviewPending
from bitacora_ledger.guard import outcome_status, report, report_async
from bitacora_ledger.limits import MAX_REASKS
from bitacora_ledger.outcome import Outcome
from bitacora_ledger.permit import Permit

ToolResult = ToolMessage | Command[Any]
_CALLS = uuid.UUID("7b3f0f6e-5d0c-4b0e-9a39-4f4ac6b3d2a1")


def tool_gate(
    client: Client, template: Call = Call("")
) -> Callable[[ToolCallRequest, Callable[[ToolCallRequest], ToolResult]], ToolResult]:
    """Returns a wrapper of tool calls: asks before each, reports its outcome after.

    A reviewed call interrupts the graph with the approval's id. Resume it once the approval was answered: the same call
    is asked for again with it. A denied call, or one that nobody could be asked about, does not run; the model reads why.
    The ``template`` has what all calls have in common, such as ``session`` or ``cwd``.
    """

    def wrap(request: ToolCallRequest, run: Callable[[ToolCallRequest], ToolResult]) -> ToolResult:
        call = _call(request, template)
        try:
            for _ in range(MAX_REASKS):
                try:
                    permitted = client.permit(call, 0.0)
                    break
                except ReviewPending as pending:
                    call = _review(pending)
            else:
                permitted = client.permit(call, 0.0)
        except BitacoraError as error:
            return _refused(request, error)
        began = time.monotonic()
        try:
            result = run(request)
        except GraphBubbleUp:
            # The tool itself interrupts the graph, and goes on when that is resumed.
            raise
        except BaseException as error:
            report(client, _outcome(permitted, began, error, None))
            raise
        report(client, _outcome(permitted, began, None, result))
        return result

    return wrap


def async_tool_gate(
    client: AsyncClient, template: Call = Call("")
) -> Callable[[ToolCallRequest, Callable[[ToolCallRequest], Awaitable[ToolResult]]], Awaitable[ToolResult]]:
    """Returns the same for the asynchronous methods of a graph."""

    async def wrap(request: ToolCallRequest, run: Callable[[ToolCallRequest], Awaitable[ToolResult]]) -> ToolResult:
        call = _call(request, template)
        try:
            for _ in range(MAX_REASKS):
                try:
                    permitted = await client.permit(call, 0.0)
                    break
                except ReviewPending as pending:
                    call = _review(pending)
            else:
                permitted = await client.permit(call, 0.0)
        except BitacoraError as error:
            return _refused(request, error)
        began = time.monotonic()
        try:
            result = await run(request)
        except GraphBubbleUp:
            raise
        except BaseException as error:
            await report_async(client, _outcome(permitted, began, error, None))
            raise
        await report_async(client, _outcome(permitted, began, None, result))
        return result

    return wrap


def _call(request: ToolCallRequest, template: Call) -> Call:
    """Returns the call of a request. Its id is the same when the graph is resumed at this task."""
    config: dict[str, Any] = getattr(request.runtime, "config", None) or {}
    named = config.get("configurable", {})
    parts = (named.get("thread_id", ""), named.get("checkpoint_ns", ""), request.tool_call["id"])
    # Without a thread nothing is resumed: the call is a new one.
    call_id = uuid.uuid5(_CALLS, "\0".join(map(str, parts))) if named.get("thread_id") else uuid.uuid4()
    return replace(template, tool=request.tool_call["name"], args=request.tool_call["args"], id=str(call_id))


def _review(pending: ReviewPending) -> Call:
    """Interrupts the graph; returns, once it is resumed, the call to be asked for again."""
    call = pending.call
    interrupt(
        {
            "approval": pending.approval,
            "tool": call.tool,
            "args": call.args,
            "reason": pending.decision.reason,
            "expires": pending.decision.approval_expires,
        }
    )
    return call


def _refused(request: ToolCallRequest, error: BitacoraError) -> ToolMessage:
    said = error.decision.reason if isinstance(error, Denied) else f"not allowed: {error}"
    if isinstance(error, ClientError):
        said = f"not allowed: the ledger could not be asked ({type(error).__name__})"
    return ToolMessage(said, name=request.tool_call["name"], tool_call_id=request.tool_call["id"] or "", status="error")


def _outcome(permitted: Permit, began: float, error: BaseException | None, result: ToolResult | None) -> Outcome:
    duration_ms = int((time.monotonic() - began) * 1000)
    if isinstance(result, ToolMessage) and result.status == "error":
        return Outcome.of(permitted.call, "error", "tool_error", duration_ms)
    return Outcome.of(permitted.call, outcome_status(error), type(error).__name__ if error else None, duration_ms)
