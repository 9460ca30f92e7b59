"""Guards around calls of tools: the decision before, the outcome after."""

from __future__ import annotations

import asyncio
import functools
import inspect
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from typing import Any, ParamSpec, TypeVar, cast

from bitacora_ledger.async_client import AsyncClient
from bitacora_ledger.call import Call
from bitacora_ledger.client import Client
from bitacora_ledger.errors import ArgumentsChanged, BitacoraError
from bitacora_ledger.exchange import json_bytes
from bitacora_ledger.identifier import new_id
from bitacora_ledger.limits import REPORT_PATIENCE_S, REVIEW_PATIENCE_S
from bitacora_ledger.outcome import Outcome, OutcomeStatus
from bitacora_ledger.permit import Permit

P = ParamSpec("P")
R = TypeVar("R")

_log = logging.getLogger("bitacora_ledger")


@contextmanager
def guarded_call(client: Client, call: Call, *, patience_s: float = REVIEW_PATIENCE_S) -> Iterator[Permit]:
    """Lets its block run once the call is allowed, and reports how the block ended.

    Raises :class:`bitacora_ledger.Denied`, :class:`bitacora_ledger.ReviewPending`, or the error that kept the ledger from
    being asked; the block does not run then.
    """
    permitted = client.permit(call, patience_s)
    began = time.monotonic()
    try:
        yield permitted
    except BaseException as error:
        report(client, _outcome(permitted.call, began, error))
        raise
    report(client, _outcome(permitted.call, began, None))


@asynccontextmanager
async def async_guarded_call(
    client: AsyncClient, call: Call, *, patience_s: float = REVIEW_PATIENCE_S
) -> AsyncIterator[Permit]:
    """Does the same for tasks. The end of a cancelled block is reported as ``interrupted``."""
    permitted = await client.permit(call, patience_s)
    began = time.monotonic()
    try:
        yield permitted
    except BaseException as error:
        await report_async(client, _outcome(permitted.call, began, error))
        raise
    await report_async(client, _outcome(permitted.call, began, None))


def guarded(
    client: Client | AsyncClient, tool: str | Call | None = None, *, patience_s: float = REVIEW_PATIENCE_S
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Guards every call of a function: a plain one with a :class:`Client`, a coroutine with an :class:`AsyncClient`.

    The tool is named, else it is the function's name; a :class:`Call` is the template of each call, with a new id. The
    arguments of the function, by their names, are the arguments of the call: they have to be JSON. If they are changed while
    a person is waited for, the function does not run. A result that has not run yet, such as a generator, is refused.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        name = tool or getattr(function, "__name__", None)
        if name is None:
            raise TypeError("the function has no name; name the tool")
        template = name if isinstance(name, Call) else Call(name)
        signature = inspect.signature(function)

        def call_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            return replace(template, id=new_id(), args=dict(bound.arguments))

        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError("a generator runs after its call has returned; guard its steps with guarded_call")
        if inspect.iscoroutinefunction(function):
            if not isinstance(client, AsyncClient):
                raise TypeError("a coroutine is guarded by an AsyncClient")
            there = client

            @functools.wraps(function)
            async def run_async(*args: P.args, **kwargs: P.kwargs) -> Any:
                call = call_of(args, kwargs)
                decided = json_bytes(call.args)
                async with async_guarded_call(there, call, patience_s=patience_s):
                    _check_unchanged(call, decided)
                    return _check_has_run(await function(*args, **kwargs))

            return cast("Callable[P, R]", run_async)
        if not isinstance(client, Client):
            raise TypeError("a plain function is guarded by a Client")
        here = client

        @functools.wraps(function)
        def run(*args: P.args, **kwargs: P.kwargs) -> R:
            call = call_of(args, kwargs)
            decided = json_bytes(call.args)
            with guarded_call(here, call, patience_s=patience_s):
                _check_unchanged(call, decided)
                return _check_has_run(function(*args, **kwargs))

        return run

    return decorate


def _check_unchanged(call: Call, decided: bytes) -> None:
    # They are the caller's own objects, and a person may take minutes.
    if json_bytes(call.args) != decided:
        raise ArgumentsChanged(f"the arguments of call {call.id} were changed while it was decided about")


def _check_has_run(result: R) -> R:
    if inspect.isawaitable(result) or inspect.isgenerator(result) or inspect.isasyncgen(result):
        if inspect.iscoroutine(result) or inspect.isgenerator(result):
            result.close()
        raise TypeError(
            f"found a {type(result).__name__}, which runs after the call has ended; guard its steps with guarded_call, "
            "and a coroutine with an AsyncClient"
        )
    return result


def _outcome(call: Call, began: float, error: BaseException | None) -> Outcome:
    duration_ms = int((time.monotonic() - began) * 1000)
    return Outcome.of(call, outcome_status(error), type(error).__name__ if error else None, duration_ms)


def outcome_status(error: BaseException | None) -> OutcomeStatus:
    """Returns the status of a call that ended with this error, or without one."""
    if error is None:
        return "ok"
    if isinstance(error, ArgumentsChanged):
        return "blocked"
    if isinstance(error, (TimeoutError, asyncio.TimeoutError)):
        return "timeout"
    return "error" if isinstance(error, Exception) else "interrupted"


def report(client: Client, outcome: Outcome) -> None:
    """Reports a call's end. Where that fails the log says so: the call has run, and its result is the caller's."""
    try:
        client.outcome(outcome)
    except BitacoraError as error:
        _unreported(outcome, error)


async def report_async(client: AsyncClient, outcome: Outcome) -> None:
    """Does the same for tasks; the end of a cancelled call is waited for shortly."""
    try:
        if outcome.status == "interrupted":
            # A second cancellation ends the wait, not the report.
            await asyncio.wait_for(asyncio.shield(client.outcome(outcome)), REPORT_PATIENCE_S)
        else:
            await client.outcome(outcome)
    except (BitacoraError, asyncio.TimeoutError) as error:
        _unreported(outcome, error)


def _unreported(outcome: Outcome, error: Exception) -> None:
    # The ledger counts a call without an outcome as timed out.
    _log.warning("the outcome of call %s (%s) was not recorded: %s", outcome.call, outcome.status, error)
