"""The receipts of appended events."""

from __future__ import annotations

from dataclasses import dataclass

from bitacora_ledger.members import Members


@dataclass(frozen=True)
class Receipt:
    """The place of one event. It is durable."""

    id: str
    position: int
    stream_version: int
    commitment: str
    """The commitment to its record, hexadecimal."""
    is_duplicate: bool
    """``True`` if it was there before."""

    @staticmethod
    def read(members: Members) -> Receipt:
        """Returns the receipt of an answer."""
        return Receipt(
            id=members.text("id"),
            position=members.position("position"),
            stream_version=members.position("streamVersion"),
            commitment=members.text("commitment"),
            is_duplicate=members.text("status") == "duplicate",
        )


@dataclass(frozen=True)
class Appended:
    """The receipts of one request, in its order."""

    receipts: tuple[Receipt, ...]
    first: int
    """The lowest position among them."""
    last: int
    """The highest position among them."""
    head: int
    """A durable position that covers all of it."""

    @staticmethod
    def read(members: Members) -> Appended:
        """Returns the receipts of an answer."""
        return Appended(
            receipts=tuple(Receipt.read(result) for result in members.items("results")),
            first=members.position("first"),
            last=members.position("last"),
            head=members.within("head").position("position"),
        )
