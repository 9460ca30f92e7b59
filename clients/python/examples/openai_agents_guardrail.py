"""An agent of the OpenAI Agents SDK whose tool calls are asked for in the ledger by tool guardrails.

The input guardrail asks; the output guardrail, or the handler of a failure, reports. It needs the extra ``openai-agents``, a
service with the starter's tools and policy, and an agent's token in ``coder.token``. The model of :func:`main` is scripted.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from dataclasses import replace
from typing import Any

from agents import (
    Agent,
    Model,
    ModelResponse,
    RunConfig,
    RunContextWrapper,
    Runner,
    ToolGuardrailFunctionOutput,
    ToolInputGuardrail,
    ToolInputGuardrailData,
    ToolOutputGuardrail,
    ToolOutputGuardrailData,
    Usage,
    function_tool,
)
from agents.tool_context import ToolContext
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from bitacora_ledger import AsyncClient, BitacoraError, Call, NotAllowed, Outcome, Permit, new_id
from bitacora_ledger.guard import report_async

COMMANDS = ("ls", "git push --force", "rm notes.txt")


class LedgerGuardrails:
    """The guardrails of tools: ``function_tool(tool_input_guardrails=[gate.before], tool_output_guardrails=[gate.after],
    failure_error_function=gate.failed)``."""

    def __init__(self, client: AsyncClient, patience_s: float = 300.0, template: Call = Call("")) -> None:
        self._client = client
        self._patience_s = patience_s
        self._template = template
        self._running: dict[str, tuple[Permit, float]] = {}
        self.before: ToolInputGuardrail[Any] = ToolInputGuardrail(self._before, name="bitacora")
        self.after: ToolOutputGuardrail[Any] = ToolOutputGuardrail(self._after, name="bitacora")

    async def _before(self, data: ToolInputGuardrailData) -> ToolGuardrailFunctionOutput:
        """Lets a call run once it is allowed; the model reads why another does not."""
        context = data.context
        try:
            args = json.loads(context.tool_arguments or "{}")
            call = replace(self._template, tool=context.tool_name, args=args, id=new_id())
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


class ScriptedModel(Model):
    """A model that asks for one command after the other."""

    def __init__(self) -> None:
        self._left = list(COMMANDS)

    async def get_response(self, *args: Any, **kwargs: Any) -> ModelResponse:
        if self._left:
            command = self._left.pop(0)
            asked: Any = ResponseFunctionToolCall(
                name="Bash", arguments=json.dumps({"command": command}), call_id=f"c-{command}", type="function_call"
            )
        else:
            text = ResponseOutputText(annotations=[], text="done", type="output_text")
            asked = ResponseOutputMessage(
                id="m1", content=[text], role="assistant", status="completed", type="message"
            )
        return ModelResponse(output=[asked], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError


async def main() -> None:
    async with AsyncClient(token_file="coder.token") as client:
        gate = LedgerGuardrails(client, patience_s=0, template=Call("", cwd=os.getcwd()))

        @function_tool(
            name_override="Bash",
            tool_input_guardrails=[gate.before],
            tool_output_guardrails=[gate.after],
            failure_error_function=gate.failed,
        )
        def bash(command: str) -> str:
            """Runs a command."""
            return f"ran {command}"

        agent = Agent(name="coder", model=ScriptedModel(), tools=[bash])
        result = await Runner.run(agent, "go", run_config=RunConfig(tracing_disabled=True))
    for item in result.new_items:
        if item.type == "tool_call_output_item":
            print(item.output)


if __name__ == "__main__":
    asyncio.run(main())
