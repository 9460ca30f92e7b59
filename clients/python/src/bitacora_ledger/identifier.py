"""Identifiers that nobody else draws: of events, calls and requests."""

from __future__ import annotations

import secrets
import time
import uuid


def new_id() -> str:
    """Returns a new UUID of version 7: 48 bits of time, then 74 random bits."""
    milliseconds = time.time_ns() // 1_000_000
    bits = (milliseconds & (2**48 - 1)) << 80 | secrets.randbits(80)
    bits = bits & ~(0xF << 76) | 0x7 << 76
    bits = bits & ~(0b11 << 62) | 0b10 << 62
    return str(uuid.UUID(int=bits))
