"""A LangGraph graph that asks the ledger before each tool call, and keeps its state there.

It needs the extra ``langgraph``, a service with the starter's tools and policy, and an agent's token in ``coder.token``.
The model here is scripted. A reviewed call interrupts the graph; once it is approved, the next start goes on there.
"""

from __future__ import annotations

import os
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import Command

from bitacora_ledger import Call, Client
from bitacora_ledger.langgraph import BitacoraSaver, tool_gate

COMMANDS = ("ls", "git push --force", "rm notes.txt")
THREAD: RunnableConfig = {"configurable": {"thread_id": "langgraph-example"}}


@tool("Bash")
def bash(command: str) -> str:
    """Runs a command."""
    return f"ran {command}"


def model(state: MessagesState) -> dict[str, Any]:
    """Asks for one command after the other."""
    done = sum(isinstance(message, ToolMessage) for message in state["messages"])
    if done == len(COMMANDS):
        return {"messages": [AIMessage("done")]}
    asked = {"name": "Bash", "args": {"command": COMMANDS[done]}, "id": f"call-{done}"}
    return {"messages": [AIMessage("", tool_calls=[asked])]}


def make_graph(client: Client) -> Any:
    """Returns the graph: a gate around its tools, a saver below its state."""
    graph = StateGraph(MessagesState)
    graph.add_node("model", model)
    graph.add_node("tools", ToolNode([bash], wrap_tool_call=tool_gate(client, Call("", cwd=os.getcwd()))))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "model")
    return graph.compile(checkpointer=BitacoraSaver(client))


def main() -> None:
    with Client(token_file="coder.token") as client:
        graph = make_graph(client)
        waits = graph.get_state(THREAD).interrupts
        said = graph.invoke(Command(resume=True) if waits else {"messages": [HumanMessage("go")]}, THREAD)
    for message in said["messages"][1:]:
        if message.text:
            print(f"{message.type}: {message.text}")
    for one in said.get("__interrupt__", ()):
        print(f"waits for a person: bitacora approvals approve {one.value['approval']}")


if __name__ == "__main__":
    main()
