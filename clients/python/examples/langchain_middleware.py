"""A LangChain agent whose every tool call is asked for in the ledger. A review interrupts the agent.

It needs ``bitacora[langchain]``, and a service with the tool ``add`` registered and allowed. The model here is scripted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain.tools import tool
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command

from bitacora import Call, Client
from bitacora.langgraph import BitacoraSaver, tool_gate


class LedgerGate(AgentMiddleware[Any, Any]):
    """Asks the ledger before each tool call, and reports its outcome."""

    def __init__(self, client: Client, template: Call = Call("")) -> None:
        super().__init__()
        self._gate = tool_gate(client, template)

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]]
    ) -> ToolMessage | Command[Any]:
        return self._gate(request, handler)


class ScriptedModel(GenericFakeChatModel):
    """A model that says what it is told to."""

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:
        return self


@tool
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


def make_agent(client: Client, model: Any, tools: Sequence[Any]) -> Any:
    """Returns an agent that is gated, and that keeps its state in the ledger."""
    return create_agent(model, tools=list(tools), middleware=[LedgerGate(client)], checkpointer=BitacoraSaver(client))


def main() -> None:
    asked = AIMessage("", tool_calls=[{"name": "add", "args": {"a": 1, "b": 2}, "id": "call-1"}])
    model = ScriptedModel(messages=iter([asked, AIMessage("It is 3.")]))
    with Client() as client:
        agent = make_agent(client, model, [add])
        said = agent.invoke({"messages": [("user", "What is 1 + 2?")]}, {"configurable": {"thread_id": "example"}})
        print(said["messages"][-1].content)


if __name__ == "__main__":
    main()
