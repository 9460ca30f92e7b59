"""The examples, with scripted models and a real service."""

from __future__ import annotations

from typing import Any

import pytest
from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage, function_tool
from langchain.agents import create_agent
from langchain.tools import tool
from langchain_core.messages import ToolMessage
from langchain_middleware import LedgerGate, ScriptedModel, make_agent
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
from openai_agents_guardrail import LedgerGuardrails
from service import Service

from bitacora_ledger import AsyncClient, Client, EventFilter

RAN: list[str] = []


@tool
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@tool
def deploy(to: str) -> str:
    """Deploys."""
    RAN.append(f"deploy {to}")
    return "deployed"


@tool
def drop(table: str) -> str:
    """Drops."""
    RAN.append(f"drop {table}")
    return "dropped"


def scripted(name: str, args: dict[str, Any]) -> ScriptedModel:
    return ScriptedModel(calls=[{"name": name, "args": args}])


def run(agent: Any, given: Any, name: str) -> tuple[Any, list[ToolMessage]]:
    said = agent.invoke(given, {"configurable": {"thread_id": name}})
    return said, [message for message in said["messages"] if isinstance(message, ToolMessage)]


ASK = {"messages": [("user", "go")]}


def test_a_langchain_agent_is_gated(client: Client) -> None:
    RAN.clear()
    before = client.head()
    _, results = run(make_agent(client, scripted("add", {"a": 1, "b": 2}), [add]), ASK, "g-allow")
    assert results[0].content == "3" and results[0].status == "success"
    assert len(client.read(EventFilter(types=["tool.completed"]), after=before).events) == 1
    _, results = run(make_agent(client, scripted("drop", {"table": "t"}), [drop]), ASK, "g-deny")
    assert results[0].status == "error" and "nothing is dropped" in str(results[0].content) and RAN == []


@pytest.mark.parametrize("verb", ["approve", "reject"])
def test_a_review_interrupts_and_the_same_call_is_asked_for_again(client: Client, service: Service, verb: str) -> None:
    RAN.clear()
    name = f"g-{verb}"
    agent = make_agent(client, scripted("deploy", {"to": name}), [deploy])
    said, _ = run(agent, ASK, name)
    asked = said["__interrupt__"][0].value
    assert asked["tool"] == "deploy" and asked["args"] == {"to": name} and RAN == []
    said, _ = run(agent, Command(resume="go on"), name)
    assert said["__interrupt__"][0].value["approval"] == asked["approval"] and RAN == [], "nobody answered yet"
    service.command("approvals", verb, asked["approval"], "--note", "a test")
    _, results = run(agent, Command(resume="go on"), name)
    if verb == "approve":
        assert RAN == [f"deploy {name}"] and results[0].content == "deployed"
    else:
        assert RAN == [] and results[0].status == "error"


def test_without_a_service_a_langchain_agent_runs_no_tool(own_service: Service) -> None:
    RAN.clear()
    client = Client(own_service.url, token=own_service.admin, retries=0)
    own_service.kill()
    agent: Any = create_agent(
        scripted("deploy", {"to": "x"}), tools=[deploy], middleware=[LedgerGate(client)], checkpointer=InMemorySaver()
    )
    _, results = run(agent, ASK, "g-gone")
    assert results[0].status == "error" and RAN == []


class Scripted(Model):
    """A model of the Agents SDK that calls one tool, then ends."""

    def __init__(self, name: str, arguments: str) -> None:
        call = ResponseFunctionToolCall(
            arguments=arguments, call_id=f"c-{name}", name=name, type="function_call", id="f1"
        )
        text = ResponseOutputText(annotations=[], text="done", type="output_text")
        message = ResponseOutputMessage(id="m1", content=[text], role="assistant", status="completed", type="message")
        self._outputs: list[Any] = [[call], [message]]

    async def get_response(self, *args: Any, **kwargs: Any) -> ModelResponse:
        return ModelResponse(output=self._outputs.pop(0), usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError


async def test_an_agent_of_the_agents_sdk_is_gated(async_client: AsyncClient) -> None:
    gate = LedgerGuardrails(async_client, patience_s=0)
    ran: list[str] = []

    def made(name: str) -> Any:
        async def work(a: int) -> str:
            ran.append(name)
            if a > 1:
                raise ValueError("too large")
            return f"{name} {a}"

        return function_tool(
            work, name_override=name, tool_input_guardrails=[gate.before], tool_output_guardrails=[gate.after],
            failure_error_function=gate.failed,
        )  # fmt: skip

    async def outputs(name: str, arguments: str) -> list[str]:
        agent = Agent(name="a", model=Scripted(name, arguments), tools=[made(name)])
        result = await Runner.run(agent, "go", run_config=RunConfig(tracing_disabled=True))
        return [str(item.output) for item in result.new_items if item.type == "tool_call_output_item"]

    before = await async_client.head()
    assert await outputs("add", '{"a": 1}') == ["add 1"]
    assert await outputs("add", '{"a": 2}') == ["the tool failed: ValueError"]
    assert "nothing is dropped" in (await outputs("drop", '{"a": 1}'))[0]
    assert "person looks at it" in (await outputs("deploy", '{"a": 1}'))[0]
    assert ran == ["add", "add"]
    page = await async_client.read(EventFilter(types=["tool.completed", "tool.failed"]), after=before)
    assert [event.type for event in page.events] == ["tool.completed", "tool.failed"]
