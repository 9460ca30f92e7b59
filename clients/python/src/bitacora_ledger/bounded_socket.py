"""Sockets with one deadline and one bound in bytes for a whole exchange.

A timeout of a plain socket begins anew with each byte that comes, so a service that sends one at a time is never late.
"""

from __future__ import annotations

import math
import socket
import ssl
import time
from typing import Any

from bitacora_ledger.exchange import strange


class Bounds:
    """What an exchange may still take, and whether the service has ended the connection."""

    def __init__(self) -> None:
        self.deadline = math.inf
        self.bytes_left = math.inf
        self.has_ended = False

    def begin(self, deadline: float, most_bytes: float) -> None:
        """Sets the bounds of the exchange that begins now."""
        self.deadline = deadline
        self.bytes_left = most_bytes

    def seconds_left(self) -> float:
        """Returns the time until the deadline; raises once it has passed."""
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("nothing came in time")
        return left

    def took(self, count: int) -> int:
        """Counts bytes that came; none is the end of the connection."""
        self.has_ended = self.has_ended or count == 0
        self.bytes_left -= count
        if self.bytes_left < 0:
            raise strange()
        return count


class BoundedSocket(socket.socket):
    """A plain socket with bounds."""

    def __init__(self, made: socket.socket) -> None:
        super().__init__(made.family, made.type, made.proto, made.detach())
        self.bounds = Bounds()

    def recv_into(self, *arguments: Any, **named: Any) -> int:
        self.settimeout(self.bounds.seconds_left())
        return self.bounds.took(super().recv_into(*arguments, **named))

    def sendall(self, *arguments: Any) -> None:
        # The timeout is that of all bytes together.
        self.settimeout(self.bounds.seconds_left())
        super().sendall(*arguments)


class BoundedTlsSocket(ssl.SSLSocket):
    """A socket over TLS with bounds. A context makes it, by its ``sslsocket_class``."""

    bounds: Bounds

    def recv_into(self, *arguments: Any, **named: Any) -> int:
        self.settimeout(self.bounds.seconds_left())
        return self.bounds.took(super().recv_into(*arguments, **named))

    def send(self, *arguments: Any) -> int:
        # ``sendall`` sends piece by piece.
        self.settimeout(self.bounds.seconds_left())
        return super().send(*arguments)
