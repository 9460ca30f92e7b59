"""Events of many threads in few requests: while one request is on its way, the next one is filled."""

from __future__ import annotations

import atexit
import logging
import os
import threading
from collections import deque
from collections.abc import Mapping
from concurrent.futures import Future
from types import TracebackType
from typing import Any

from bitacora_ledger.appended import Receipt
from bitacora_ledger.batch import QueuedEvent, check_line, halves, take_batch
from bitacora_ledger.connection import Connection
from bitacora_ledger.errors import ClientClosed, ClientError
from bitacora_ledger.event import Event, event_line
from bitacora_ledger.ledger import Ledger
from bitacora_ledger.limits import EXIT_PATIENCE_S

_log = logging.getLogger("bitacora_ledger")

_Queued = QueuedEvent["Future[Receipt]"]


class Appender:
    """Appends the events of many threads, in the order in which they were given, one request after the other.

    The queue is bounded: callers that are too fast wait. Closing it sends everything that waits. The end of the program
    closes it too, and waits ten seconds at most. A forked process needs an appender of its own.
    """

    def __init__(self, connection: Connection, ledger: Ledger, queue_events: int) -> None:
        self._connection = connection
        self._ledger = ledger
        self._most = max(queue_events, 1)
        self._waiting: deque[_Queued] = deque()
        self._changed = threading.Condition()
        self._is_closed = False
        self._process = os.getpid()
        self._thread = threading.Thread(target=self._send_all, name="bitacora-appender", daemon=True)
        self._thread.start()
        atexit.register(self._leave)

    def append(self, event: Event | Mapping[str, Any]) -> Receipt:
        """Appends an event. Returned ⇒ it is durable. A refused event fails alone."""
        return self.queue(event).result()

    def queue(self, event: Event | Mapping[str, Any]) -> Future[Receipt]:
        """Puts an event behind those that wait, once there is room. The future yields its receipt or its error."""
        queued: _Queued = QueuedEvent(check_line(event_line(event)), Future())
        if self._process != os.getpid():
            raise ClientClosed("the appender's thread is in the parent process; make an appender in this one")
        with self._changed:
            while len(self._waiting) >= self._most and not self._is_closed:
                self._changed.wait()
            if self._is_closed:
                raise ClientClosed("the appender was closed before the event was sent")
            self._waiting.append(queued)
            self._changed.notify_all()
        return queued.future

    def close(self) -> None:
        """Sends everything that waits, then ends."""
        if self._process == os.getpid():
            self._end()
            self._thread.join()
            atexit.unregister(self._leave)

    def _leave(self) -> None:
        """Sends what waits at the end of the program."""
        if self._process != os.getpid():
            return
        self._end()
        self._thread.join(EXIT_PATIENCE_S)
        if self._thread.is_alive():
            _log.warning("the program ended before %d events of an appender were sent", len(self._waiting))

    def _end(self) -> None:
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def __enter__(self) -> Appender:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _send_all(self) -> None:
        while True:
            with self._changed:
                while not self._waiting and not self._is_closed:
                    self._changed.wait()
                if not self._waiting:
                    return
                batch = take_batch(self._waiting)
                self._changed.notify_all()
            self._send(batch)

    def _send(self, batch: list[_Queued]) -> None:
        parts = [batch]
        while parts:
            part = parts.pop(0)
            try:
                appended = self._connection.run(self._ledger.append_lines([one.line for one in part]))
            except ClientError as error:
                if split := halves(part, error):
                    parts[:0] = split
                    continue
                _fail(part, error)
            except BaseException as error:
                # No caller waits for ever, whatever fails.
                _fail(part, error)
            else:
                for one, receipt in zip(part, appended.receipts, strict=True):
                    if one.future.set_running_or_notify_cancel():
                        one.future.set_result(receipt)


def _fail(part: list[_Queued], error: BaseException) -> None:
    for one in part:
        if one.future.set_running_or_notify_cancel():
            one.future.set_exception(error)
