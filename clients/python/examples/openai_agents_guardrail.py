"""An agent of the OpenAI Agents SDK whose tool calls are asked for in the ledger by tool guardrails.

It needs ``bitacora[openai-agents]``. The input guardrail asks; the output guardrail, or the handler of a failure, reports.
"""

from __future__ import annotations

import json
import time
from typing import Any

from agents import (
    RunContextWrapper,
    ToolGuardrailFunctionOutput,
    ToolInputGuardrail,
    ToolInputGuardrailData,
    ToolOutputGuardrail,
    ToolOutputGuardrailData,
)
from agents.tool_context import ToolContext

from bitacora import AsyncClient, BitacoraError, Call, NotAllowed, Outcome, Permit
from bitacora.guard import report_async


class LedgerGuardrails:
    """The guardrails of tools: ``function_tool(tool_input_guardrails=[gate.before], tool_output_guardrails=[gate.after],
    failure_error_function=gate.failed)``."""

    def __init__(self, client: AsyncClient, patience_s: float = 300.0) -> None:
        self._client = client
        self._patience_s = patience_s
        self._running: dict[str, tuple[Permit, float]] = {}
        self.before: ToolInputGuardrail[Any] = ToolInputGuardrail(self._before, name="bitacora")
        self.after: ToolOutputGuardrail[Any] = ToolOutputGuardrail(self._after, name="bitacora")

    async def _before(self, data: ToolInputGuardrailData) -> ToolGuardrailFunctionOutput:
        """Lets a call run once it is allowed; the model reads why another does not."""
        context = data.context
        try:
            call = Call(context.tool_name, json.loads(context.tool_arguments or "{}"))
            permitted = await self._client.permit(call, self._patience_s)
        except NotAllowed as refused:
            return ToolGuardrailFunctionOutput.reject_content(refused.decision.reason)
        except (BitacoraError, ValueError) as error:
            return ToolGuardrailFunctionOutput.reject_content(f"not allowed: {type(error).__name__}")
        self._running[context.tool_call_id] = permitted, time.monotonic()
        return ToolGuardrailFunctionOutput.allow()

    async def _after(self, data: ToolOutputGuardrailData) -> ToolGuardrailFunctionOutput:
        await self._report(data.context.tool_call_id, None)
        return ToolGuardrailFunctionOutput.allow()

    async def failed(self, context: RunContextWrapper[Any], error: Exception) -> str:
        """Reports a failed call, and tells the model."""
        if isinstance(context, ToolContext):
            await self._report(context.tool_call_id, error)
        return f"the tool failed: {type(error).__name__}"

    async def _report(self, tool_call_id: str, error: Exception | None) -> None:
        running = self._running.pop(tool_call_id, None)
        if running is None:
            return
        permitted, began = running
        duration_ms = int((time.monotonic() - began) * 1000)
        kind = type(error).__name__ if error else None
        outcome = Outcome.of(permitted.call, "error" if error else "ok", kind, duration_ms)
        await report_async(self._client, outcome)
