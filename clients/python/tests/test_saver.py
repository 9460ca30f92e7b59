"""The checkpoint savers of LangGraph: its own conformance suite, and graphs that are stopped and resumed."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, Checkpoint
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.conformance.capabilities import ALL_CAPABILITIES
from langgraph.checkpoint.conformance.test_utils import generate_checkpoint, generate_config, generate_metadata
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt
from service import Service

from bitacora_ledger import AsyncClient, Client, EventFilter
from bitacora_ledger.langgraph import AsyncBitacoraSaver, BitacoraSaver


def thread(name: str) -> RunnableConfig:
    return {"configurable": {"thread_id": name}}


@pytest.mark.parametrize("kind", ["async", "sync"])
async def test_the_conformance_suite_passes_whole(service: Service, token: str, kind: str) -> None:
    @checkpointer_test(name=f"Bitacora {kind}")
    async def saver() -> AsyncGenerator[BaseCheckpointSaver[Any], None]:
        if kind == "async":
            async with AsyncClient(service.url, token=token) as client:
                yield AsyncBitacoraSaver(client)
        else:
            with Client(service.url, token=token) as plain:
                yield BitacoraSaver(plain)

    report = await validate(saver)
    failures = [failure for result in report.results.values() for failure in result.failures]
    assert failures == []
    assert {name for name, result in report.results.items() if result.passed} == {c.value for c in ALL_CAPABILITIES}
    assert report.conformance_level() == "FULL"


class State(TypedDict):
    notes: Annotated[list[str], lambda old, new: old + new]
    large: bytes


def graph(saver: BaseCheckpointSaver[Any], ran: list[str]) -> Any:
    def plan(state: State) -> dict[str, Any]:
        ran.append("plan")
        return {"notes": ["planned"], "large": b"\0" * 2_000 + os.urandom(1_000)}

    def ask(state: State) -> dict[str, Any]:
        answer = interrupt({"question": "go on?"})
        ran.append("ask")
        return {"notes": [f"answered {answer}"]}

    built: Any = StateGraph(State)
    built.add_node("plan", plan)
    built.add_node("ask", ask)
    built.add_edge(START, "plan")
    built.add_edge("plan", "ask")
    built.add_edge("ask", END)
    return built.compile(checkpointer=saver)


def test_a_graph_goes_on_in_another_process_after_a_crash(own_service: Service) -> None:
    ran: list[str] = []
    token = own_service.agent("graphs")
    with Client(own_service.url, token=token) as client:
        first = graph(BitacoraSaver(client), ran).invoke({"notes": ["begun"]}, thread("t1"))
    assert first["__interrupt__"][0].value == {"question": "go on?"}
    own_service.kill()
    own_service.start()
    with Client(own_service.url, token=token) as client:
        app = graph(BitacoraSaver(client), ran)
        last = app.invoke(Command(resume="yes"), thread("t1"))
        assert last["notes"] == ["begun", "planned", "answered yes"] and last["large"] == first["large"]
        assert ran == ["plan", "ask"]
        history = list(app.get_state_history(thread("t1")))
        assert [state.metadata["step"] for state in history] == [2, 1, 0, -1]
        again = app.invoke(None, history[1].config)
        assert again["__interrupt__"], "an older checkpoint is gone on from"


async def test_the_asynchronous_methods_of_a_graph(async_client: AsyncClient) -> None:
    app = graph(AsyncBitacoraSaver(async_client), [])
    await app.ainvoke({"notes": ["begun"]}, thread("t-async"))
    last = await app.ainvoke(Command(resume=1), thread("t-async"))
    assert last["notes"] == ["begun", "planned", "answered 1"]


def test_only_changed_channels_are_sent(client: Client) -> None:
    app = graph(BitacoraSaver(client), [])
    app.invoke({"notes": ["begun"]}, thread("t-sent"))
    before = client.head()
    app.invoke(Command(resume="yes"), thread("t-sent"))
    where = EventFilter(types=["checkpoint.saved"])
    sent = [event.data for event in client.read(where, after=before).events if event.data["thread"] == "t-sent"]
    channels = [{blob["channel"] for blob in data.get("blobs", [])} for data in sent]
    assert any("notes" in names for names in channels) and not any("large" in names for names in channels)


def test_a_value_larger_than_a_request_comes_back(client: Client) -> None:
    saver = BitacoraSaver(client)
    value = os.urandom(9 * 1024 * 1024)
    checkpoint = generate_checkpoint(channel_values={"a": value, "b": 1}, channel_versions={"a": 1, "b": 1})
    stored = saver.put(generate_config("t-large"), checkpoint, generate_metadata(), {"a": 1, "b": 1})
    saver.put_writes(stored, [("a", value)], "task")
    found = saver.get_tuple(stored)
    assert found is not None and found.checkpoint["channel_values"] == {"a": value, "b": 1}
    assert found.pending_writes == [("task", "a", value)]


def chain(saver: BitacoraSaver, name: str, metadata: list[dict[str, Any]], values: list[dict[str, Any]]) -> list[str]:
    config = generate_config(name)
    for step, (extra, channels) in enumerate(zip(metadata, values, strict=True)):
        versions: dict[str, str | int | float] = {"a": step + 1, "b": 1}
        checkpoint: Checkpoint = generate_checkpoint(channel_values=channels, channel_versions=versions)
        config = saver.put(config, checkpoint, generate_metadata(step=step, **extra), {"a": step + 1})
    saved = list(saver.list(generate_config(name)))
    return [one.checkpoint["id"] for one in reversed(saved)]


def test_an_inherited_value_outlives_the_runs_that_made_it(client: Client) -> None:
    saver = BitacoraSaver(client)
    values = [{"a": 1, "b": "kept"}, {"a": 2, "b": "kept"}]
    chain(saver, "t-runs", [{"run_id": "r1"}, {"run_id": "r2"}], values)
    saver.delete_for_runs(["r1"])
    assert [one.metadata["run_id"] for one in saver.list(thread("t-runs"))] == ["r2"]
    found = saver.get_tuple(thread("t-runs"))
    assert found is not None and found.checkpoint["channel_values"] == {"a": 2, "b": "kept"}


def test_pruning_keeps_what_a_delta_channel_is_rebuilt_from(client: Client) -> None:
    saver = BitacoraSaver(client)
    counted = [{"counters_since_delta_snapshot": {"a": [n, n]}} for n in range(4)]
    values: list[dict[str, Any]] = [{"a": "old"}, {"a": "snapshot"}, {}, {}]
    ids = chain(saver, "t-delta", counted, values)
    saver.prune(["t-delta"])
    kept = [one.checkpoint["id"] for one in saver.list(thread("t-delta"))]
    assert kept == ids[:0:-1], "the newest, and those back to the last snapshot"
    newest = generate_config("t-delta")
    history = saver.get_delta_channel_history(config=newest, channels=["a"])
    assert history["a"].get("seed") == "snapshot"
    with pytest.raises(ValueError, match="strategy"):
        saver.prune(["t-delta"], strategy="keep_everything")


def test_versions_and_values_that_are_no_json_come_back(client: Client) -> None:
    saver = BitacoraSaver(client)
    checkpoint = generate_checkpoint(channel_values={"a": {1, 2}}, channel_versions={"a": 1.5})
    checkpoint["versions_seen"] = {"node": {"a": 1.5}}
    checkpoint["pending_sends"] = [{3}]  # type: ignore[typeddict-unknown-key]
    stored = saver.put(generate_config("t-json"), checkpoint, generate_metadata(), {"a": 1.5})
    found = saver.get_tuple(stored)
    assert found is not None and found.checkpoint == {**checkpoint, "pending_sends": [{3}]}
