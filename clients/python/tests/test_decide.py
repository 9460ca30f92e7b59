"""Deciding and guarding: only an allow lets a call begin."""

from __future__ import annotations

import asyncio
import threading

import pytest
from service import Service

from bitacora_ledger import (
    AsyncClient,
    Call,
    Client,
    ConnectFailed,
    Denied,
    EventFilter,
    Outcome,
    Refused,
    ReviewPending,
    async_guarded_call,
    guarded,
    guarded_call,
)


def outcomes(client: Client, call: str) -> list[tuple[str, object]]:
    events = client.read(EventFilter(call=call)).events
    return [(e.type, e.data.get("status")) for e in events if e.type in ("tool.completed", "tool.failed")]


def answer(service: Service, approval: str, verb: str) -> None:
    service.command("approvals", verb, approval, "--note", "a test")


def test_allow_deny_and_unknown_tools(client: Client) -> None:
    call = Call("add", {"a": 1, "b": 2})
    decision = client.decide(call)
    assert decision.allowed and decision.mode == "enforce" and decision.rule == "yes"
    assert client.decide(call).position == decision.position, "a repeated request gets the first answer"
    recorded = client.outcome(Outcome.of(call, "ok", duration_ms=3))
    assert recorded.type == "tool.completed"
    assert client.outcome(Outcome.of(call, "ok", duration_ms=3)).position == recorded.position
    denied = client.decide(Call("drop"))
    assert not denied.allowed and denied.reason_code == "policy-deny"
    assert client.decide(Call("nobody.registered")).verdict == "deny"


def test_review_waits_and_the_same_call_is_allowed_once_approved(client: Client, service: Service) -> None:
    with pytest.raises(ReviewPending) as pending:
        client.permit(Call("deploy", {"to": "a"}), patience_s=0)
    assert client.approval(pending.value.approval).is_pending
    with pytest.raises(ReviewPending):
        client.permit(pending.value.call, patience_s=1)
    answer(service, pending.value.approval, "approve")
    permitted = client.permit(pending.value.call)
    assert permitted.decision.allowed and permitted.decision.reason_code == "approved"


def test_a_guarded_function_waits_for_a_person(client: Client, service: Service) -> None:
    ran = []

    @guarded(client, "deploy", patience_s=20)
    def deploy(to: str, count: int = 1) -> str:
        ran.append((to, count))
        return f"deployed to {to}"

    def approve(verb: str, to: str) -> None:
        while True:
            for one in client.get("approvals")["approvals"]:
                if one.get("args") == {"to": to, "count": 1}:
                    return answer(service, one["id"], verb)

    approver = threading.Thread(target=approve, args=("approve", "b"))
    approver.start()
    assert deploy("b") == "deployed to b" and ran == [("b", 1)]
    approver.join()
    rejecter = threading.Thread(target=approve, args=("reject", "c"))
    rejecter.start()
    with pytest.raises(Denied):
        deploy("c")
    rejecter.join()
    assert ran == [("b", 1)]


@pytest.mark.parametrize(
    ("error", "status"), [(ValueError("x"), "error"), (TimeoutError(), "timeout"), (KeyboardInterrupt(), "interrupted")]
)
def test_a_guarded_call_reports_how_it_ended(client: Client, error: BaseException, status: str) -> None:
    call = Call("add", {"of": status})
    with pytest.raises(type(error)), guarded_call(client, call):
        raise error
    events = [e for e in client.read(EventFilter(call=call.id)).events if e.type == "tool.failed"]
    assert [e.data["status"] for e in events] == [status]
    with guarded_call(client, fine := Call("add", {"of": "ok"})):
        pass
    assert [kind for kind, _ in outcomes(client, fine.id)] == ["tool.completed"]


def test_a_denied_function_does_not_run(client: Client) -> None:
    @guarded(client)
    def drop(table: str) -> None:
        raise AssertionError("it ran")

    with pytest.raises(Denied) as denied:
        drop("users")
    assert denied.value.decision.reason_code == "policy-deny"


def test_what_cannot_be_guarded_is_refused(client: Client) -> None:
    async def coroutine() -> None: ...

    def generator():  # type: ignore[no-untyped-def]
        yield

    for function in (coroutine, generator):
        with pytest.raises(TypeError):
            guarded(client)(function)


async def test_a_cancelled_call_is_reported_as_interrupted(async_client: AsyncClient, client: Client) -> None:
    begun = asyncio.Event()
    call = Call("add", {"of": "cancellation"})

    async def work() -> None:
        async with async_guarded_call(async_client, call):
            begun.set()
            await asyncio.sleep(60)

    task = asyncio.create_task(work())
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    events = client.read(EventFilter(call=call.id)).events
    assert [e.data["status"] for e in events if e.type == "tool.failed"] == ["interrupted"]


async def test_a_cancelled_request_leaves_the_client_usable(async_client: AsyncClient) -> None:
    with pytest.raises(ReviewPending) as pending:
        await async_client.permit(Call("deploy", {"to": "cancelled"}), 0)
    task = asyncio.create_task(async_client.wait_for_approval(pending.value.approval, 60))
    await asyncio.sleep(0.2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await async_client.decide(Call("add"))).allowed


async def test_a_guarded_coroutine_runs_once_allowed(async_client: AsyncClient) -> None:
    @guarded(async_client, Call("add", session="s7"))
    async def plus(a: int, b: int) -> int:
        return a + b

    assert await plus(1, b=2) == 3
    page = await async_client.read(EventFilter(session="s7"))
    assert page.events[0].data["args"] == {"a": 1, "b": 2}


def test_observe_allows_and_says_what_it_would_be(own_service: Service) -> None:
    own_service.command("mode", "observe")
    with Client(own_service.url, token=own_service.agent("watched")) as client:
        decision = client.decide(Call("drop"))
        assert decision.allowed and decision.mode == "observe" and decision.would_be == "deny"


def test_without_a_service_nothing_runs(own_service: Service) -> None:
    client = Client(own_service.url, token=own_service.admin, retries=0)
    own_service.kill()
    with pytest.raises(ConnectFailed), guarded_call(client, Call("add")):
        raise AssertionError("it ran")


def test_a_wrong_token_denies_and_is_not_shown(service: Service) -> None:
    wrong = "bt_" + "A" * 43
    with Client(service.url, token=wrong) as client:
        with pytest.raises(Refused) as refused:
            client.decide(Call("add"))
        assert refused.value.code == "unauthorized" and not refused.value.retryable
        assert wrong not in repr(client) + repr(vars(client)) + str(refused.value)


def test_a_unix_socket_serves_the_same(service: Service, token: str) -> None:
    with Client(service.socket, token=token) as client:
        assert client.decide(Call("add")).allowed
