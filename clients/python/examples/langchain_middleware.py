"""A LangChain agent whose every tool call is asked for in the ledger. A review interrupts the agent.

It needs the extra ``langchain``, a service with the starter's tools and policy, and an agent's token in ``coder.token``.
The model here is scripted. Once a reviewed call is approved, the next start goes on there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain.tools import tool
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableConfig
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command

from bitacora_ledger import Call, Client
from bitacora_ledger.langgraph import BitacoraSaver, tool_gate

COMMANDS = ("ls", "git push --force", "rm notes.txt")
THREAD: RunnableConfig = {"configurable": {"thread_id": "langchain-example"}}


class LedgerGate(AgentMiddleware[Any, Any]):
    """Asks the ledger before each tool call, and reports its outcome."""

    def __init__(self, client: Client, template: Call = Call("")) -> None:
        super().__init__()
        self._gate = tool_gate(client, template)

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]]
    ) -> ToolMessage | Command[Any]:
        return self._gate(request, handler)


class ScriptedModel(BaseChatModel):
    """A model that asks for these calls, one after the other."""

    calls: list[dict[str, Any]]

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        done = sum(isinstance(message, ToolMessage) for message in messages)
        asked = [{"id": f"call-{done}", **call} for call in self.calls[done : done + 1]]
        said = AIMessage("" if asked else "done", tool_calls=asked)
        return ChatResult(generations=[ChatGeneration(message=said)])

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        return self


@tool("Bash")
def bash(command: str) -> str:
    """Runs a command."""
    return f"ran {command}"


def make_agent(client: Client, model: Any, tools: Sequence[Any], template: Call = Call("")) -> Any:
    """Returns an agent that is gated, and that keeps its state in the ledger."""
    gate = LedgerGate(client, template)
    return create_agent(model, tools=list(tools), middleware=[gate], checkpointer=BitacoraSaver(client))


def main() -> None:
    model = ScriptedModel(calls=[{"name": "Bash", "args": {"command": command}} for command in COMMANDS])
    with Client(token_file="coder.token") as client:
        agent = make_agent(client, model, [bash], Call("", cwd=os.getcwd()))
        waits = agent.get_state(THREAD).interrupts
        said = agent.invoke(Command(resume=True) if waits else {"messages": [("user", "go")]}, THREAD)
    for message in said["messages"][1:]:
        if message.text:
            print(f"{message.type}: {message.text}")
    for one in said.get("__interrupt__", ()):
        print(f"waits for a person: bitacora approvals approve {one.value['approval']}")


if __name__ == "__main__":
    main()
