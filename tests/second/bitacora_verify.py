#!/usr/bin/env python3
"""A second verifier of Bitacora's ledgers, written from docs/formats alone. It needs no key and believes no file.

    bitacora_verify.py [--json] [--require-leaves] [--known-head FILE]... [--vkey KEY]... [--witnesses FILE] [--archives FOLDER] LEDGER_FOLDER
    bitacora_verify.py [--json] --evidence FILE [--vkey KEY]... [--witnesses FILE]     of one event: evidence, or a receipt
    bitacora_verify.py [--json] --archive FILE                  an archive by itself
    bitacora_verify.py [--json] --bundle FILE [--vkey KEY]... [--witnesses FILE]       of many events: an evidence bundle
    bitacora_verify.py --each …    what is verified comes on stdin, a path a line; an answer in JSON for each

LEDGER_FOLDER is `<data>/ledgers/<name>`, or a copy of it; KEY a verifier key of the ledger that the reader has from elsewhere;
what --witnesses names is a policy: whom the reader trusts to cosign heads, and how many of them must have. Nothing is written. Needs Python 3.10 or later and the packages
`cryptography` (Ed25519) and `blake3`; SHA-256 and CRC-32 come from the standard library.

Ends with 0: verified, and the ledger of a head (or the source of evidence) whose key the reader brought; 10: verified, with
nothing external to compare with; 30: whole in itself, and rolled back or another history than a head that the reader brought;
40: invalid, the first fault is named; 50: incomplete, something that had to be checked could not be; 2: usage.

How to read it: `verify_ledger` is the whole walk. Above it stand the layouts, below it what it calls, in that order.
`Fault` means that the evidence is wrong; `Gap`, that evidence could not be read; `Broken`, that some bytes were not written
whole, which is a fault everywhere but in the very last write.
"""

import argparse
import json
import os
import re
import stat
import struct
import sys
import zlib
from array import array
from base64 import b64decode, b64encode
from bisect import bisect_left
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from hashlib import sha256
from typing import Any, BinaryIO, Iterator, Optional

try:
    from blake3 import blake3
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
except ImportError as missing:
    print(f"{missing}; nothing was verified. Install the packages: python3 -m pip install blake3 cryptography", file=sys.stderr)
    sys.exit(2)

# ---- Verdicts

VERIFIED, ALONE, ANOTHER, INVALID, INCOMPLETE = 0, 10, 30, 40, 50
VERDICTS = {VERIFIED: "verified", ALONE: "alone", ANOTHER: "another", INVALID: "invalid", INCOMPLETE: "incomplete"}

# ---- Layouts: docs/formats, fields in their order. Sizes are in bytes; numbers are little-endian but in the tree.


class Layout:
    """Fields of fixed width, from a table like `magic 8s, format H`, with the letters of the module struct."""

    def __init__(self, table: str) -> None:
        pairs = [entry.split() for entry in table.split(",")]
        self.names = [name for name, _ in pairs]
        self.letters = [letters for _, letters in pairs]
        self.struct = struct.Struct("<" + "".join(self.letters))
        self.bytes = self.struct.size

    def offset(self, name: str) -> int:
        """Where a field begins."""
        return struct.calcsize("<" + "".join(self.letters[: self.names.index(name)]))

    def read(self, data: bytes, offset: int = 0) -> Any:
        """The fields by their names. The caller has seen that there are enough bytes."""
        return type("Fields", (), dict(zip(self.names, self.struct.unpack_from(data, offset))))


SEGMENT_HEADER = Layout(  # segment.md; then the peaks, the certificate and the CRC
    "magic 8s, format H, flags H, header_bytes I, ledger 16s, generation I, epoch I, number I, signer I,"
    "first Q, created Q, tree_size Q, encryption_key 8s, wrap_salt 16s, wrapped_key 48s, key_commitment 32s,"
    "previous_hash 32s, previous_signature 64s, segment_key 32s, ledger_key 32s, peaks I"
)
FRAME_HEADER = Layout(  # frame.md; then the ciphertext and FRAME_TRAILER
    "magic 4s, format H, codec B, flags B, number Q, first Q, count I, body_bytes I, sealed_bytes I, reserved I,"
    "time Q, previous_hash 32s, tree_size Q, tree_root 32s, siv 32s"
)
FRAME_TRAILER = Layout("tag 16s, signature 64s, crc I")
FOOTER = Layout(  # footer.md
    "magic 8s, format H, flags H, frames I, first Q, last Q, tree_size Q, tree_root 32s, first_time Q, last_time Q,"
    "previous_hash 32s, signature 64s, crc I"
)
LEAVES_HEADER = Layout("magic 8s, format H, flags H, segment I, ledger 16s, first Q")  # leaves.md
RELEASED_FORMAT = 2  # released.md; format 1 has no signature
RELEASED_SIGNED = Layout("key I, signature 64s")  # released.md; then the CRC
RELEASED = Layout("magic 8s, format H, flags H, header_bytes I, last Q, first_time Q, last_time Q")  # released.md
ARCHIVE_HEADER = Layout("magic 8s, format H, flags H, generation I, ledger 16s, first Q")  # archive.md
PART_ENTRY = Layout("kind B, codec B, reserved H, count I, position Q, stored_bytes I, plain_bytes I, digest 32s")
ARCHIVE_TRAILER = Layout("table Q, table_bytes I, manifest_bytes I, format H, reserved 6s, magic 8s")
HEADS_HEADER = Layout("magic 8s, format H, flags H, segment I, ledger 16s")  # heads.md
LEVEL_HEADER = Layout("magic 8s, format H, flags H, level I, ledger 16s")  # levels.md

SEGMENT_MAGIC, FRAME_MAGIC, FOOTER_MAGIC = b"BITACSEG", b"BITF", b"BITACEND"
LEAVES_MAGIC, LEVEL_MAGIC, HEADS_MAGIC = b"BITACLVS", b"BITACLVL", b"BITACHDS"
RELEASED_MAGIC, ARCHIVE_MAGIC, ARCHIVE_END_MAGIC = b"BITACREL", b"BITACARC", b"BITACARE"
FORMAT = 1
STORED, LAST_CODEC = 0, 2  # codecs of a frame
PADDED, PADDED_BYTES = 1, (1024, 2048, 4096, 8192, 16384)  # the flag of a padded frame, and its lengths

HASH_BYTES, SIGNATURE_BYTES, CRC_BYTES, TAG_BYTES = 32, 64, 4, 16
LEAF_BYTES = 40  # time and commitment, as they lie in a file of leaves
GROUP_LEAVES = 256  # leaves under a hash of level 1

# ---- Limits

MAX_SEGMENT_BYTES = 64 * 1024 * 1024
MAX_BODY_BYTES = 16 * 1024 * 1024
MAX_FRAME_EVENTS = 65_536
MAX_SEGMENT_NUMBER = 2**32 - 1
CHUNK_BYTES = 1024 * 1024
MAX_FRAME_BYTES = FRAME_HEADER.bytes + MAX_BODY_BYTES + FRAME_TRAILER.bytes
MAX_PEAKS = 64  # the bits of a tree size
MAX_HEADER_BYTES = SEGMENT_HEADER.bytes + MAX_PEAKS * HASH_BYTES + SIGNATURE_BYTES + CRC_BYTES
MAX_NOTE_BYTES = 512 * 1024
MAX_RELEASED_BYTES = RELEASED.bytes + MAX_HEADER_BYTES + FOOTER.bytes + RELEASED_SIGNED.bytes + CRC_BYTES
MAX_MANIFEST_BYTES = 2 * 1024 * 1024
MAX_MANIFEST_LINES = 4096
MAX_ARCHIVE_PARTS = 16_384
MAX_ARCHIVE_GROUPS = 4096
MAX_GROUP_EVENTS = 16_384
MAX_ARCHIVE_EVENTS = MAX_ARCHIVE_GROUPS * MAX_GROUP_EVENTS
MAX_SIGNING_KEYS = 1000
MAX_FOLDER_ENTRIES = 1_000_000
MAX_GENERATIONS = 64  # whose beginnings are told, the last ones

NO_HASH, NO_SIGNATURE, EMPTY_ROOT = bytes(HASH_BYTES), bytes(SIGNATURE_BYTES), sha256(b"").digest()

# ---- What can be wrong


class Fault(Exception):
    """The evidence is not what it must be."""

    def __init__(self, kind: str, what: str, offset: int = 0, file: str = "") -> None:
        super().__init__(what)
        self.kind, self.what, self.offset, self.file = kind, what, offset, file


# Kinds of faults that say: whole in itself, and not the ledger whose head was brought.
NOT_THIS_HISTORY = {"rolled-back", "diverged", "other-keys", "other-ledger"}


class Broken(Exception):
    """Bytes that were not written whole, or have rotted: a magic, a length or a checksum is wrong."""


class Gap(Exception):
    """Something that had to be checked could not be read."""

    def __init__(self, what: str, file: str = "") -> None:
        super().__init__(what)
        self.what, self.file = what, file


def require(holds: bool, kind: str, what: str, offset: int = 0) -> None:
    if not holds:
        raise Fault(kind, what, offset)


def require_equal(found: object, expected: object, kind: str, what: str, offset: int) -> None:
    if found != expected:
        raise Fault(kind, f"found {what} {shown(found)}, expected {shown(expected)}", offset)


def shown(value: object) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)


# ---- What is known so far


@dataclass
class Tree:
    """The tree of RFC 6962 by its peaks: the roots of its complete subtrees, the largest first (tree.md)."""

    size: int = 0
    peaks: list[bytes] = field(default_factory=list)

    def root(self) -> bytes:
        if not self.peaks:
            return sha256(b"").digest()
        root = self.peaks[-1]
        for peak in reversed(self.peaks[:-1]):
            root = node_hash(peak, root)
        return root

    def append(self, leaf: bytes) -> Optional[bytes]:
        """Takes a leaf's hash. Gives the root of the group of 256 leaves that it completes, if it completes one."""
        joined, group = leaf, None
        for height in range(self.size.bit_length() + 1):
            if (1 << height) == GROUP_LEAVES:
                group = joined
            if not self.size >> height & 1:
                break
            joined = node_hash(self.peaks.pop(), joined)
        self.peaks.append(joined)
        self.size += 1
        return group


@dataclass
class Log:
    """Where the chain stands after what was walked over."""

    ledger: Optional[bytes] = None
    vouched: bool = False  # whether a key that the reader brought is in the note
    generation: int = 0
    epoch: int = 0
    signer: int = 0
    hash: bytes = NO_HASH  # after the last link: header, frame or footer
    signature: bytes = NO_SIGNATURE
    head: bytes = NO_HASH  # after the last frame
    generations: list[tuple[int, int]] = field(default_factory=list)  # each that was met, and its first position
    tree_size: int = 0
    tree_root: bytes = EMPTY_ROOT
    time: int = 0
    segments: int = 0
    released: int = 0  # segments of which only links are left
    frames: int = 0
    signatures: int = 0


@dataclass
class Answer:
    """What is said at the end."""

    log: Log = field(default_factory=Log)
    fault: Optional[Fault] = None
    gaps: list[Gap] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    leaves_absent: list[tuple[int, int]] = field(default_factory=list)  # first and last position
    leaves_cut: Optional[tuple[int, Fault]] = None  # the first ones, and the epoch of their segment
    heads: int = 0  # tree heads beside the segments
    trusted: bool = False  # by a key that the reader brought
    cosigned: int = 0  # heads beside the segments that witnesses are said to have cosigned
    witnessed: int = 0  # the size of the largest one that enough of the reader's witnesses cosigned

    def verdict(self) -> int:
        if self.fault is not None:
            return ANOTHER if self.fault.kind in NOT_THIS_HISTORY else INVALID
        return INCOMPLETE if self.gaps else VERIFIED if self.trusted else ALONE


# ---- The walk


def verify_ledger(
    folder: str, store: str, require_leaves: bool, trusted: list["VerifierKey"], known_heads: list[str], policy: Optional["Policy"]
) -> Answer:
    """Checks a ledger's folder from its first byte to its last, up to the first fault; then whether it is the one that was known."""
    answer = Answer()
    with judging(answer):
        keys = read_signing_keys(folder, answer)
        answer.log.vouched = any(key.key in (keys or []) for key in trusted)
        heads = Heads(folder, keys, answer)
        whole = walk_what_can_be_read(folder, store, heads, answer)
        require(answer.log.signatures > 0 or not whole, "nothing", "no signature was found to check")
        if heads.keys is not None and answer.log.signatures > 0:
            divergence = heads.compare_cosigned(policy) if whole else None
            heads.compare_known(trusted + heads.own_logs(policy), known_heads, whole)
            if divergence is not None:
                raise divergence
    for generation, first in answer.log.generations:
        if generation > 1:
            unread = "what was lost stands in that event, which is encrypted: it was not read"
            answer.notes.append(f"generation {generation} begins at position {first}, after a declared loss; {unread}")
    for first, last in answer.leaves_absent:
        missing = f"no leaves of positions {first} to {last}"
        if require_leaves:
            answer.gaps.append(Gap(missing))
        else:
            answer.notes.append(f"{missing}: the tree was not made again there")
    return answer


def walk_what_can_be_read(folder: str, store: str, heads: "Heads", answer: Answer) -> bool:
    """Whether that was all of it."""
    try:
        walk_ledger(folder, store, heads, answer)
        return True
    except Gap as gap:
        answer.gaps.append(gap)
        return False


def walk_ledger(folder: str, store: str, heads: "Heads", answer: Answer) -> None:
    keys, numbers = heads.keys, segment_numbers(folder)
    released = released_numbers(folder, numbers)
    first = len(released) + 1
    last, hole = last_used(folder, numbers, first)
    headers = walk_released(folder, released, first, keys, answer)
    for header in headers:
        heads.read_released(header)
    archives = heads.archives = Archives(folder, store, keys, answer)
    heads.compare_released()
    for header in headers:
        with naming(released_name(header.number)):
            archives.check_header(header, header.peak_hashes)
    level = Level(folder, answer)
    if answer.log.ledger is not None:
        level.begin(answer.log.ledger)
        for index, root in enumerate(archives.roots):
            level.check(index, root, answer.log.epoch)
    before: Optional[Leaves] = None
    for number in range(first, last + 1):
        with naming(segment_name(number)):
            # Opened before the segment is read: a writer adds leaves only after their frame is durable.
            leaves = Leaves(folder, number, level, heads)
            heads.read(number)
            data = read_file(folder, segment_name(number), MAX_SEGMENT_BYTES)
            walk_segment(data, number, number == last, keys, leaves, before, answer)
            before = leaves
        heads.end(number, leaves_are_there=not leaves.absent)
        cut = leaves.lost or leaves.cut
        if cut is not None and answer.leaves_cut is None:
            answer.leaves_cut = (answer.log.epoch, cut)
        answer.leaves_absent += leaves.absent
        answer.gaps += leaves.gaps
    if hole is not None:
        raise missing(hole)
    archives.end()
    level.end(answer.log.tree_size, answer.log.epoch)
    heads.look_behind(last)


@contextmanager
def judging(answer: Answer) -> Iterator[None]:
    """Takes what goes wrong into the answer."""
    try:
        yield
    except Fault as fault:
        answer.fault = fault
    except Gap as gap:
        answer.gaps.append(gap)
    except Exception as error:  # whatever was not foreseen is no pass, and no traceback either
        answer.gaps.append(Gap(f"the verifier failed: {type(error).__name__}: {error}"))


@contextmanager
def naming(file: str) -> Iterator[None]:
    """Gives a file's name to what goes wrong with it."""
    try:
        yield
    except (Fault, Gap) as error:
        error.file = error.file or file
        raise


# ---- The note of signing keys (keyring.md)

NOTE_NAME = "signing-keys.note"
NOTE_FIRST_LINE = "bitacora-signing-keys v1"
NOTE_LINE = re.compile(r"signing-key ([1-9][0-9]{0,3}) ([0-9a-f]{64})(?: ([0-9a-f]{128}))?")


def read_signing_keys(folder: str, answer: Answer) -> Optional[list[bytes]]:
    """The ledger's public keys, number 1 first; nothing where there is no note, which is a gap."""
    with naming(NOTE_NAME):
        try:
            text = read_file(folder, NOTE_NAME, MAX_NOTE_BYTES)
        except FileNotFoundError:
            answer.gaps.append(Gap("there is no note: who signs for this ledger is not known", NOTE_NAME))
            return None
        return parse_signing_keys(text)


def parse_signing_keys(text: bytes) -> list[bytes]:
    require(text.isascii() and text.endswith(b"\n"), "note", "ASCII and a newline at the end expected")
    first, *lines = text.decode("ascii")[:-1].split("\n")
    require(first == NOTE_FIRST_LINE, "note", f"the first line {NOTE_FIRST_LINE!r} expected")
    require(1 <= len(lines) <= MAX_SIGNING_KEYS, "note", f"1 to {MAX_SIGNING_KEYS} keys expected")
    keys: list[bytes] = []
    for number, line in enumerate(lines, 1):
        match = NOTE_LINE.fullmatch(line)
        if match is None or int(match[1]) != number or (match[3] is None) != (number == 1):
            raise Fault("note", f"line {number + 1}: signing key {number} expected")
        key = bytes.fromhex(match[2])
        require(is_point(key) and not is_small_order(key), "note", f"signing key {number} is no usable public key")
        if number > 1:
            hashed = derive("signing key endorsement", number.to_bytes(4, "little"), keys[-1], key)
            endorsed = signed(keys[-1], bytes.fromhex(match[3]), hashed)
            require(endorsed, "endorsement", f"signing key {number} is not endorsed by the one before")
        keys.append(key)
    return keys


# ---- Segments that were let go (released.md)


def walk_released(folder: str, numbers: list[int], first_here: int, keys: Optional[list[bytes]], answer: Answer) -> list[Any]:
    """Checks what is left of these segments, link by link; gives their headers, each with its peaks."""
    log, headers = answer.log, []
    for number in numbers:
        with naming(released_name(number)):
            data = read_file(folder, released_name(number), MAX_RELEASED_BYTES)
            released, header_data, footer = read_released(data)
            covered = released.format == RELEASED_FORMAT
            header = broken_is_fault(lambda: read_segment_header(header_data), "released", RELEASED.bytes)
            check_segment_header(header, header_data, number, log, keys)
            if released.format == RELEASED_FORMAT:
                check_released_signature(released, data, header, keys)
            header.peak_hashes, header.last = peaks_of(header, header_data), released.last
            require(released.first_time <= released.last_time, "time", "times that do not go back expected")
            if footer is not None:
                expected = {
                    "format": FORMAT, "flags": 0, "first": header.first, "last": released.last, "tree_size": released.last,
                    "first_time": released.first_time, "last_time": released.last_time,
                }  # fmt: skip
                for name, value in expected.items():
                    require_equal(getattr(footer, name), value, "released", name.replace("_", " "), 0)
            if not covered:
                answer.gaps.append(Gap("format 1: times and footer are covered by a checksum alone", released_name(number)))
                released.first_time = header.created
            log.segments, log.released = log.segments - 1, log.released + 1
            require(log.time <= released.first_time, "time", "times that do not go back expected")
            require(released.last >= header.first, "released", "a last position in it expected", RELEASED.offset("last"))
            following, peaks = next_header(folder, number + 1, first_here)
            if not covered:
                released.last_time = following.created
            go_on_to(following, peaks, released, header, footer, log)
        compare_copy(folder, number, data, answer)
        headers.append(header)
    return headers


def compare_copy(folder: str, number: int, data: bytes, answer: Answer) -> None:
    """A copy that lies there has the bytes of the file."""
    name = f"tree/{number:010}.released"
    with naming(name):
        try:
            copy = read_file(folder, name, MAX_RELEASED_BYTES + 1)
        except FileNotFoundError:
            return
        except Gap as gap:
            answer.gaps.append(Gap(gap.what, name))
            return
        require(copy == data, "released", "a copy with the bytes of the file expected", 0)


def read_released(data: bytes) -> tuple[Any, bytes, Any]:
    """The fields, the segment's header and its footer's fields, if there is one."""
    kind = "released"
    require(len(data) >= RELEASED.bytes + CRC_BYTES, kind, "the file of a released segment expected")
    released = RELEASED.read(data)
    known = released.magic == RELEASED_MAGIC and released.format in (FORMAT, RELEASED_FORMAT)
    require(known, kind, "its magic and format 1 or 2 expected")
    require(released.flags <= 1, kind, f"flags {released.flags} are not known", RELEASED.offset("flags"))
    footer_bytes = FOOTER.bytes if released.flags == 1 else 0
    signed_bytes = RELEASED_SIGNED.bytes if released.format == RELEASED_FORMAT else 0
    length = RELEASED.bytes + released.header_bytes + footer_bytes + signed_bytes + CRC_BYTES
    require_equal(len(data), length, kind, "bytes", 0)
    broken_is_fault(lambda: check_crc(data, 0, length), kind, 0)
    header = data[RELEASED.bytes : RELEASED.bytes + released.header_bytes]
    if footer_bytes == 0:
        return released, header, None
    offset = RELEASED.bytes + released.header_bytes
    footer = FOOTER.read(data, offset)
    require(footer.magic == FOOTER_MAGIC, kind, "a footer expected", offset)
    broken_is_fault(lambda: check_crc(data, offset, FOOTER.bytes), kind, offset)
    return released, header, footer


def check_released_signature(released: Any, data: bytes, header: Any, keys: Optional[list[bytes]]) -> None:
    """The ledger's key of the number in the file signed all bytes before the signature."""
    at = len(data) - CRC_BYTES - RELEASED_SIGNED.bytes
    end = RELEASED_SIGNED.read(data, at)
    require(end.key >= header.signer, "released", "a signing key not before that of the header expected", at)
    # Without the note nobody says which keys these are, and that was told.
    known = {header.signer: header.ledger_key} if keys is None else dict(enumerate(keys, 1))
    if keys is None and end.key not in known:
        return
    require(end.key in known, "signer", f"no signing key {end.key} in the note", at)
    text = derive("released segment", data[: len(data) - CRC_BYTES - SIGNATURE_BYTES])
    require(signed(known[end.key], end.signature, text), "released", "the signature of the ledger's key does not hold", at)


def next_header(folder: str, number: int, first_here: int) -> tuple[Any, list[bytes]]:
    """The header behind a released segment, released or not; what it says of itself is checked in its turn."""
    if number < first_here:
        with naming(released_name(number)):
            data = read_released(read_file(folder, released_name(number), MAX_RELEASED_BYTES))[1]
    else:
        with naming(segment_name(number)):
            file, length = open_file(folder, segment_name(number))
            data = read_at(file, 0, min(length, MAX_HEADER_BYTES))
    with naming(released_name(number) if number < first_here else segment_name(number)):
        header = broken_is_fault(lambda: read_segment_header(data), "corrupt", 0)
        return header, peaks_of(header, data)


def go_on_to(following: Any, peaks: list[bytes], released: Any, header: Any, footer: Any, log: Log) -> None:
    """Ends a released segment as the header behind it says: with a link that the segment's own key signed."""
    kind = "released"
    require_equal(following.tree_size, released.last, kind, "tree size behind it", 0)
    require_equal(following.peaks, following.tree_size.bit_count(), kind, "peaks behind it", 0)
    root = Tree(following.tree_size, peaks).root()
    hash_, signature = following.previous_hash, following.previous_signature
    if footer is not None:
        require_equal(root, footer.tree_root, kind, "root behind it", 0)
        require_equal(signature, footer.signature, kind, "signature behind it", 0)
    require(signed(header.segment_key, signature, hash_), "signature", "the link behind it is not signed by its key")
    log.hash, log.signature = hash_, signature
    log.tree_size, log.tree_root, log.time = released.last, root, released.last_time
    log.signatures += 1


def broken_is_fault(read: Any, kind: str, offset: int) -> Any:
    try:
        return read()
    except Broken as broken:
        raise Fault(kind, str(broken), offset) from None


def released_name(number: int) -> str:
    return f"segments/{number:010}.released"


# ---- Archives (archive.md)

STEM = re.compile(r"([0-9]{20})-([0-9]{20})\.manifest", re.ASCII)
HASH_FORM = "[0-9a-f]{64}"
NUMBER_FORM = "0|[1-9][0-9]{0,19}"
EVENTS, ROOTS, INDEX, STATE = 1, 2, 3, 4
MAX_LABEL, MAX_SHARDS = 9, 1024
SEAL_BYTES = HASH_BYTES + TAG_BYTES
STATE_PART_BYTES, MAX_STATE_BYTES = 4 * 1024 * 1024, 1024 * 1024 * 1024


@dataclass
class Manifest:
    """What a ledger says of an archive, under its signature."""

    text: bytes
    origin: str
    ledger: bytes
    generation: int
    first: int
    last: int
    times: tuple[int, int]
    revision: int
    before: tuple[int, bytes]
    after: tuple[int, bytes]
    segments: list[tuple[int, int, int, int, bytes]]  # number, first position, epoch, generation, hash before it
    tree_before: Tree
    subtrees: list[bytes]
    tree_after: Tree
    head: Optional["TreeHead"]
    state: Optional[tuple[int, int]]
    keys: list[bytes]
    table_bytes: int
    table_digest: bytes

    def manifest_name(self) -> str:
        return f"archives/{self.first:020}-{self.last:020}.manifest"

    def object_name(self) -> str:
        revision = f".r{self.revision}" if self.revision else ""
        return f"{self.ledger.hex()}/g{self.generation}/{self.first:020}-{self.last:020}{revision}.bca"

    def follows(self, before: "Manifest") -> None:
        """Whether this archive goes on from the other."""
        kind = "neighbour"
        same = self.ledger == before.ledger and self.origin.split("/")[0] == before.origin.split("/")[0]
        require(same and self.generation >= before.generation, kind, "the same ledger, and no earlier generation expected")
        require_equal(self.first, before.last + 1, kind, "first position", 0)
        require(self.before == before.after, kind, "the same link of the chain expected")
        require(self.tree_before == before.tree_after, kind, "the same tree expected")
        require(self.times[0] >= before.times[1], kind, "a time that does not go back expected")
        if before.segments and self.segments:
            require(goes_on(before.segments[-1], self.segments[0]), kind, "the next segment expected")
        require(are_one_chain(self.keys, before.keys), kind, "the same signing keys expected")


def goes_on(one: tuple[int, int, int, int, bytes], other: tuple[int, int, int, int, bytes]) -> bool:
    return other[0] == one[0] + 1 and other[2] >= one[2] and other[3] >= one[3]


def are_one_chain(one: list[bytes], other: list[bytes]) -> bool:
    """Whether two chains of keys are the same, as far as both go."""
    return all(left == right for left, right in zip(one, other))


class ManifestLines:
    """The lines of a manifest, each in its place."""

    def __init__(self, text: str) -> None:
        self.lines, self.at = text[:-1].split("\n"), 0

    def one(self, form: str) -> Any:
        line = self.lines[self.at] if self.at < len(self.lines) else ""
        match = re.fullmatch(form, line, re.ASCII)
        if match is None:
            raise Fault("manifest", f"found {line!r}, expected line {self.at + 1} of the form {form!r}")
        self.at += 1
        return match

    def many(self, keyword: str, form: str, limit: int = MAX_MANIFEST_LINES) -> list[Any]:
        found = []
        while self.at < len(self.lines) and self.lines[self.at].startswith(f"{keyword} "):
            require(len(found) < limit, "manifest", f"at most {limit} lines {keyword!r} expected")
            found.append(self.one(f"{keyword} {form}"))
        return found


def read_manifest(data: bytes, keys: Optional[list[bytes]]) -> Manifest:
    """A manifest that one of the signing keys in it signed; these are the ledger's, as far as both are known."""
    kind = "manifest"
    require(len(data) <= MAX_MANIFEST_BYTES, kind, f"at most {MAX_MANIFEST_BYTES} bytes expected")
    text, blank, signature = decode_text(data, kind).rpartition("\n\n")
    require(not re.search(r"[\x00-\x09\x0b-\x1f]", text + signature), kind, "no control character but the newline expected")
    require(blank != "" and signature.count("\n") == 1, kind, "a text, an empty line and one signature expected")
    manifest = parse_manifest(text + "\n", data)
    signers = note_signers(text + "\n", signature, [VerifierKey(manifest.origin, key) for key in manifest.keys])
    require(signers != [], kind, "the signature of one of its keys expected")
    require(keys is None or are_one_chain(manifest.keys, keys), kind, "the ledger's signing keys expected")
    return manifest


def parse_manifest(text: str, data: bytes) -> Manifest:
    kind, n, h = "manifest", f"({NUMBER_FORM})", f"({HASH_FORM})"
    lines = ManifestLines(text)
    lines.one("bitacora-archive v1")
    origin = lines.one(rf"origin ({ORIGIN.pattern})")
    first, last = (int(number) for number in lines.one(f"positions {n} {n}").groups())
    aligned = first % GROUP_LEAVES == 1 and last % GROUP_LEAVES == 0 and first < last < 2**64
    require(aligned and last - first < MAX_ARCHIVE_EVENTS, kind, "positions of whole groups expected")
    from_, to = (int(number) for number in lines.one(f"times {n} {n}").groups())
    require(from_ <= to, kind, "times that do not go back expected")
    for keyword in ("made", "reactor", "content"):
        lines.one(f"{keyword} {n}")
    expired = [(int(match[1]), int(match[2])) for match in lines.many("expired", f"{n} {n}", 1)]
    fits = all(0 <= revision < 2**32 and 0 < events <= last - first + 1 for revision, events in expired)
    require(fits, kind, "a revision with expired events expected")
    kinds = [(match[2].encode(), int(match[1])) for match in lines.many("type", f"{n} (.+)")]
    names = [name for name, _ in kinds]
    require(names == sorted(set(names)) and all(0 < len(name) <= 128 for name in names), kind, "sorted types expected")
    counted = sum(count for _, count in kinds) == last - first + 1 and all(count > 0 for _, count in kinds)
    require(counted, kind, "counts that make the number of events expected")
    links = [lines.one(f"chain-{end} {n} {h}") for end in ("before", "after")]
    before, after = ((int(link[1]), bytes.fromhex(link[2])) for link in links)
    at_ends = 1 <= before[0] <= first and before[0] <= after[0] <= last + 1
    require(at_ends and (before[0] < after[0] or before == after), kind, "links of its ends expected")
    segments = [
        (*(int(match[place]) for place in range(1, 5)), bytes.fromhex(match[5]))
        for match in lines.many("segment", f"{n} {n} {n} {n} {h}")
    ]
    check_segment_lines(segments, first, last, int(origin[3]))
    size = int(lines.one(f"tree-before {n}")[1])
    peaks = [bytes.fromhex(match[1]) for match in lines.many("peak", h)]
    require(size == first - 1 and len(peaks) == size.bit_count(), kind, "the tree before it expected")
    subtrees = [bytes.fromhex(match[1]) for match in lines.many("subtree", h)]
    tree_before = Tree(size, peaks)
    tree_after = grown(tree_before, last, subtrees)
    root = lines.one(f"tree-after {last} {h}")[1]
    require_equal(tree_after.root(), bytes.fromhex(root), kind, "root after it", 0)
    note = "".join(f"{match[1]}\n" for match in lines.many("tree-head", "(.*)"))
    proof = [bytes.fromhex(match[1]) for match in lines.many("consistency", h, MAX_PROOF_HASHES + 1)]
    states = [(int(match[1]), int(match[2])) for match in lines.many("state", f"{n} {n}", 1)]
    fits = all(first <= position <= last and size <= MAX_STATE_BYTES for position, size in states)
    require(fits, kind, "a state of its events expected")
    for keyword, digits in (("encryption-key", 16), ("wrap-salt", 32), ("wrapped-key", 96), ("key-commitment", 64)):
        lines.one(f"{keyword} [0-9a-f]{{{digits}}}")
    keys_at = lines.at
    lines.many("signing-key", ".*", MAX_SIGNING_KEYS)
    keys = parse_signing_keys("\n".join([NOTE_FIRST_LINE, *lines.lines[keys_at : lines.at], ""]).encode())
    parts, table_bytes, digest = lines.one(f"parts {n} {n} {h}").groups()
    require(lines.at == len(lines.lines), kind, "nothing behind the line of parts expected")
    require(int(parts) <= MAX_ARCHIVE_PARTS and int(table_bytes) == int(parts) * PART_ENTRY.bytes, kind, "the table's bytes expected")
    head = None
    require(note != "" or proof == [], kind, "a tree head before its consistency expected")
    if note:
        head = read_tree_head(note.encode(), keys)
        require(head.origin.rpartition("/")[0] == origin[1].rpartition("/")[0], kind, "a tree head of this ledger expected")
        check_consistency(last, tree_after.root(), head.size, head.root, proof)
    return Manifest(
        data, origin[1], bytes.fromhex(origin[2]), int(origin[3]), first, last, (from_, to),
        expired[0][0] if expired else 0, before, after, segments, tree_before, subtrees, tree_after, head, states[0] if states else None, keys, int(table_bytes), bytes.fromhex(digest),
    )  # fmt: skip


def check_segment_lines(segments: list[Any], first: int, last: int, generation: int) -> None:
    kind = "manifest"
    for number, position, epoch, own, _ in segments:
        inside = first <= position <= last and own <= generation and (position == 1) == (number == 1)
        require(inside, kind, "segments that begin in it expected")
    rows = all(goes_on(one, other) and other[1] > one[1] for one, other in zip(segments, segments[1:]))
    require(rows and (first > 1 or (segments != [] and segments[0][0] == 1)), kind, "segments one after another expected")


def subtree_heights(size: int, last: int) -> Iterator[int]:
    """The complete subtrees between two sizes of the tree, from left to right."""
    while size < last:
        height = (last - size).bit_length() - 1
        if size:
            height = min(height, (size & -size).bit_length() - 1)
        yield height
        size += 1 << height


def grown(before: Tree, last: int, subtrees: list[bytes]) -> Tree:
    """The tree after these subtrees."""
    heights = list(subtree_heights(before.size, last))
    require_equal(len(subtrees), len(heights), "manifest", "subtrees", 0)
    tree = Tree(before.size, list(before.peaks))
    for height, root in zip(heights, subtrees):
        added = 1 << height
        while tree.size >> height & 1:
            root, height = node_hash(tree.peaks.pop(), root), height + 1
        tree.peaks.append(root)
        tree.size += added
    return tree


def folded(hashes: list[bytes]) -> bytes:
    """The root over a complete subtree."""
    while len(hashes) > 1:
        hashes = [node_hash(hashes[n], hashes[n + 1]) for n in range(0, len(hashes), 2)]
    return hashes[0]


def check_consistency(from_: int, from_root: bytes, to: int, to_root: bytes, proof: list[bytes]) -> None:
    """That a tree grew from an earlier one, which is not empty (RFC 9162, section 2.1.4.2)."""
    kind = "consistency"
    require(0 < from_ <= to, kind, "a tree head that covers the archive expected")
    if from_ == to:
        require(proof == [] and from_root == to_root, kind, "the same root, and no proof expected")
        return
    path = list(proof)
    if from_ & (from_ - 1) == 0:
        path.insert(0, from_root)
    require(path != [], kind, "more hashes expected")
    index, last = from_ - 1, to - 1
    while index & 1:
        index, last = index >> 1, last >> 1
    old = new = path[0]
    for sibling in path[1:]:
        require(last > 0, kind, "fewer hashes expected")
        if index & 1 or index == last:
            old, new = node_hash(sibling, old), node_hash(sibling, new)
            while not index & 1 and index > 0:
                index, last = index >> 1, last >> 1
        else:
            new = node_hash(new, sibling)
        index, last = index >> 1, last >> 1
    require(last == 0 and old == from_root and new == to_root, kind, "a proof that makes both roots expected")


def check_archive(folder: str, name: str, keys: Optional[list[bytes]]) -> tuple[Manifest, list[bytes]]:
    """Checks an archive's file from its first byte to its last; gives its manifest, and the roots of its groups of leaves."""
    kind = "archive"
    file, length = open_file(folder, name)
    with file:
        shortest = ARCHIVE_HEADER.bytes + ARCHIVE_TRAILER.bytes
        require(length >= shortest, kind, f"found {length} bytes, expected {shortest} and more")
        header = ARCHIVE_HEADER.read(read_at(file, 0, ARCHIVE_HEADER.bytes))
        begins = (header.magic, header.format, header.flags) == (ARCHIVE_MAGIC, FORMAT, 0)
        require(begins, kind, "the magic of an archive, format 1 and no flags expected")
        trailer_at = length - ARCHIVE_TRAILER.bytes
        trailer = ARCHIVE_TRAILER.read(read_at(file, trailer_at, ARCHIVE_TRAILER.bytes))
        ends = (trailer.magic, trailer.format, trailer.reserved) == (ARCHIVE_END_MAGIC, FORMAT, bytes(6))
        require(ends, kind, "the end of an archive, format 1 and zeros expected", trailer_at)
        small = trailer.table_bytes <= MAX_ARCHIVE_PARTS * PART_ENTRY.bytes and trailer.manifest_bytes <= MAX_MANIFEST_BYTES
        fits = trailer.table + trailer.table_bytes + trailer.manifest_bytes == trailer_at
        require(small and fits and trailer.table >= ARCHIVE_HEADER.bytes, kind, "table and manifest before it expected", trailer_at)
        table = read_at(file, trailer.table, trailer.table_bytes)
        manifest = read_manifest(read_at(file, trailer.table + trailer.table_bytes, trailer.manifest_bytes), keys)
        found = (header.ledger, header.generation, header.first)
        require(found == (manifest.ledger, manifest.generation, manifest.first), kind, "the header of its manifest expected")
        whole = len(table) == manifest.table_bytes and blake3(table).digest() == manifest.table_digest
        require(whole, kind, "the table of its manifest expected", trailer.table)
        return manifest, check_parts(file, table, trailer.table, manifest)


def check_parts(file: BinaryIO, table: bytes, table_at: int, manifest: Manifest) -> list[bytes]:
    kind, offset, roots, entries = "archive", ARCHIVE_HEADER.bytes, [], []
    for number, at in enumerate(range(0, len(table), PART_ENTRY.bytes)):
        entry = PART_ENTRY.read(table, at)
        check_part_sizes(entry, number)
        entry.offset, offset = offset, offset + entry.stored_bytes
        entries.append(entry)
    require_equal(offset, table_at, kind, "the beginning of the table", table_at)
    check_table(entries, manifest)
    for number, entry in enumerate(entries):
        hasher = blake3()
        for begin in range(entry.offset, entry.offset + entry.stored_bytes, CHUNK_BYTES):
            piece = read_at(file, begin, min(CHUNK_BYTES, entry.offset + entry.stored_bytes - begin))
            hasher.update(piece)
            if entry.kind == ROOTS:
                roots += [piece[n : n + HASH_BYTES] for n in range(0, len(piece), HASH_BYTES)]
        require(hasher.digest() == entry.digest, kind, f"part {number} with its digest expected", entry.offset)
    left = list(roots)
    for height, root in zip(subtree_heights(manifest.first - 1, manifest.last), manifest.subtrees):
        count = (1 << height) // GROUP_LEAVES
        require_equal(folded(left[:count]), root, kind, "the root of a subtree", table_at)
        left = left[count:]
    return roots


def check_part_sizes(entry: Any, number: int) -> None:
    what = f"part {number} of the table cannot be"
    require(EVENTS <= entry.kind <= STATE and entry.reserved == 0 and entry.codec <= LAST_CODEC, "archive", what)
    compressed = entry.kind in (INDEX, STATE)
    packed = entry.stored_bytes - (0 if entry.kind == ROOTS else SEAL_BYTES)
    require(0 <= packed <= entry.plain_bytes <= (MAX_BODY_BYTES if compressed else 2 * MAX_BODY_BYTES), "archive", what)
    require(packed == entry.plain_bytes if entry.codec == STORED else compressed and packed < entry.plain_bytes, "archive", what)


def check_table(entries: list[Any], manifest: Manifest) -> None:
    """Whether these are the parts of an archive with this manifest, in their order."""
    kind = "archive"
    kinds = [entry.kind for entry in entries]
    require(kinds == sorted(kinds), kind, "parts in the order of their kinds expected")
    groups, roots, index, state = ([entry for entry in entries if entry.kind == wanted] for wanted in (EVENTS, ROOTS, INDEX, STATE))
    require(len(groups) <= MAX_ARCHIVE_GROUPS, kind, "fewer groups of events expected")
    due = manifest.first
    for group in groups:
        require(group.position == due and 1 <= group.count <= MAX_GROUP_EVENTS, kind, f"events from position {due} on expected")
        due += group.count
    require_equal(due, manifest.last + 1, kind, "the end of the events", 0)
    hashes = (manifest.last - manifest.first + 1) // GROUP_LEAVES
    one = len(roots) == 1 and (roots[0].count, roots[0].stored_bytes, roots[0].position) == (hashes, hashes * HASH_BYTES, manifest.first)
    require(one, kind, "the roots of its groups of leaves expected")
    labels = [entry.count for entry in index]
    placed = all(entry.position == manifest.first for entry in index)
    require(labels == sorted(labels) and placed and labels.count(0) == 1, kind, "an index of its events expected")
    for label in set(labels) - {0}:
        shards = labels.count(label)
        require(label <= MAX_LABEL and shards <= MAX_SHARDS and shards & (shards - 1) == 0, kind, f"the pieces of label {label} expected")
    position, left = manifest.state or (0, -1)
    for piece, entry in enumerate(state):
        expected = min(left, STATE_PART_BYTES) if left > 0 or (left == 0 and piece == 0) else -1
        require((entry.count, entry.position, entry.plain_bytes) == (piece, position, expected), kind, "the next piece of the state expected")
        left -= expected
    require((manifest.state is None) == (state == []) and left <= 0, kind, "all of the state expected")


class Archives:
    """The archives of a ledger: their manifests, kept beside the segments, and those whose events stand nowhere else."""

    def __init__(self, folder: str, store: str, keys: Optional[list[bytes]], answer: Answer) -> None:
        self.answer, self.through = answer, answer.log.tree_size
        self.manifests: list[Manifest] = []
        self.roots: list[bytes] = []  # of groups of leaves, as far as there is no gap
        self.links: dict[int, bytes] = {}  # chain hash before the frame that begins at this position
        if self.read_manifests(folder, keys):
            self.read_archives(store, keys)
        covered = self.manifests[-1].last if self.manifests else 0
        if covered < self.through:
            answer.gaps.append(Gap(f"no manifest of the archived positions {covered + 1} to {self.through}", "archives"))
        self.wanted = {link[0] for one in self.manifests for link in (one.before, one.after) if link[0] > self.through}

    def read_manifests(self, folder: str, keys: Optional[list[bytes]]) -> bool:
        try:
            with os.scandir(os.path.join(folder, "archives")) as entries:
                names = sorted(entry.name for entry in entries if STEM.fullmatch(entry.name))
        except FileNotFoundError:
            return True
        except OSError as error:
            self.answer.gaps.append(Gap(f"cannot be listed: {error.strerror}", "archives"))
            return False
        for name in names:
            first, last = (int(number) for number in STEM.fullmatch(name).groups())
            due = self.manifests[-1].last + 1 if self.manifests else 1
            if first > due:
                if due > self.through:
                    self.answer.gaps.append(Gap(f"no manifest of positions {due} to {first - 1}, and there are later ones", "archives"))
                return True
            with naming(f"archives/{name}"):
                try:
                    data = read_file(folder, f"archives/{name}", MAX_MANIFEST_BYTES)
                except Gap as gap:
                    self.answer.gaps.append(Gap(gap.what, f"archives/{name}"))
                    return True
                manifest = read_manifest(data, keys)
                require_equal((manifest.first, manifest.last), (first, last), "manifest", "positions", 0)
                if self.answer.log.ledger is not None:
                    require_equal(manifest.ledger, self.answer.log.ledger, "manifest", "ledger", 0)
                if self.manifests:
                    manifest.follows(self.manifests[-1])
            self.manifests.append(manifest)
        return True

    def read_archives(self, store: str, keys: Optional[list[bytes]]) -> None:
        joined = True
        for kept in self.manifests:
            if kept.first > self.through:
                break
            name = kept.object_name()
            with naming(name):
                try:
                    manifest, roots = check_archive(store, name, keys)
                except (FileNotFoundError, NotADirectoryError):
                    joined = False
                    self.answer.gaps.append(Gap(f"archived positions {kept.first} to {kept.last} were not checked: there is no such file", name))
                    continue
                except Gap as gap:
                    joined = False
                    self.answer.gaps.append(Gap(f"archived positions {kept.first} to {kept.last} were not checked: {gap.what}", name))
                    continue
                require(manifest.text == kept.text, "archive", "the manifest that is kept beside the segments expected")
            if joined:
                self.roots += roots

    def check_header(self, header: Any, peaks: list[bytes]) -> None:
        """Whether a segment, released or not, begins as the archives say."""
        for manifest in self.manifests:
            if manifest.first <= header.first <= manifest.last:
                line = (header.number, header.first, header.epoch, header.generation, header.previous_hash)
                require(line in manifest.segments, "archived", "the segment that the manifest says to begin there expected")
        start, size = 0, header.tree_size
        heights = [height for height in range(size.bit_length() - 1, -1, -1) if size >> height & 1]
        for height, peak in zip(heights, peaks):
            end = start + (1 << height)
            if (1 << height) >= GROUP_LEAVES and end <= len(self.roots) * GROUP_LEAVES:
                root = folded(self.roots[start // GROUP_LEAVES : end // GROUP_LEAVES])
                require_equal(peak, root, "archived", "a subtree of its tree", 0)
            start = end

    def check_group(self, index: int, root: bytes) -> None:
        if index < len(self.roots):
            require_equal(root, self.roots[index], "archived", f"root of group {index}", 0)

    def frame(self, frame: Any) -> None:
        if frame.first in self.wanted:
            self.links[frame.first] = frame.previous_hash

    def end(self) -> None:
        """Whether the archives' ends are where frames begin that are still here."""
        for manifest in self.manifests:
            for position, hash_ in (manifest.before, manifest.after):
                if position > self.through:
                    with naming(manifest.manifest_name()):
                        require(self.links.get(position) == hash_, "archived", f"the chain hash before position {position} expected")

    def root_at(self, size: int) -> Optional[bytes]:
        """The root of the tree of this size, as far as manifests tell it."""
        heads = [one.head for one in self.manifests if one.head is not None and one.head.size == size]
        ends = [one.tree_after for one in self.manifests if one.last == size]
        return heads[0].root if heads else ends[0].root() if ends else None

    def are_whole(self) -> bool:
        return len(self.roots) * GROUP_LEAVES >= self.through


def verify_archive(path: str) -> Answer:
    """An archive by itself, under the keys in it."""
    answer = Answer()
    folder, name = os.path.split(os.path.abspath(path))
    with judging(answer), naming(name):
        try:
            manifest, _ = check_archive(folder, name, None)
        except FileNotFoundError:
            raise Gap("there is no such file") from None
        answer.log.signatures = 1
        answer.notes.append(f"positions {manifest.first} to {manifest.last} of {manifest.origin}, the tree after them has root {manifest.tree_after.root().hex()}")
    return answer


# ---- A segment (segment.md)


def walk_segment(
    data: bytes, number: int, is_last: bool, keys: Optional[list[bytes]], leaves: "Leaves",
    before: Optional["Leaves"], answer: Answer,
) -> None:  # fmt: skip
    """Checks a segment against what is before it, all of its frames, its footer and its leaves."""
    log, written = answer.log, len(data.rstrip(b"\0"))
    require(written > 0, "blank", "found only zeros, expected a written segment; a later one is written")
    offset, frames = 0, 0
    try:
        header = read_segment_header(data)
        check_segment_header(header, data, number, log, keys)
        if before is not None:
            before.finish()  # the segment before is ended, with or without a footer
            if answer.leaves_cut is not None and answer.leaves_cut[0] < header.epoch:
                raise answer.leaves_cut[1]  # an opening since has made missing leaves again
        leaves.heads.archives.check_header(header, peaks_of(header, data))
        leaves.begin(header, data)
        first, offset = header.first, header.header_bytes
        first_time = 0
        while offset < written:
            if data.startswith(FOOTER_MAGIC, offset):
                check_footer(data, offset, frames, first, first_time, log, header.segment_key)
                require(written <= offset + FOOTER.bytes, "behind-footer", "zeros expected", offset + FOOTER.bytes)
                return leaves.finish()
            frame = read_frame(data, offset)
            check_frame(frame, data, offset, frames + 1, log, header.segment_key)
            first_time = first_time or frame.time
            leaves.check(frame)
            leaves.heads.frame(log)
            leaves.heads.archives.frame(frame)
            frames += 1
            offset += frame_bytes(frame)
    except Broken as broken:
        torn = is_last and is_torn(data, offset, written, frames, log)
        raise Fault("torn" if torn else "corrupt", str(broken), offset) from None
    require(frames > 0, "no-frame", "found none, expected a frame behind the segment's header", offset)


def read_segment_header(data: bytes) -> Any:
    """The header's fields, where its checksum holds."""
    if not data.startswith(SEGMENT_MAGIC):
        raise Broken("the magic of a segment expected")
    if len(data) < SEGMENT_HEADER.bytes:
        raise Broken(f"found a header of {len(data)} bytes, expected {SEGMENT_HEADER.bytes} and more")
    header = SEGMENT_HEADER.read(data)
    require(header.format <= FORMAT, "format", f"format {header.format} is not known", 8)
    peaks_bytes = header.header_bytes - SEGMENT_HEADER.bytes - SIGNATURE_BYTES - CRC_BYTES
    if not (0 <= peaks_bytes <= MAX_PEAKS * HASH_BYTES and peaks_bytes == header.peaks * HASH_BYTES):
        raise Broken(f"a header of {header.header_bytes} bytes does not fit to {header.peaks} peaks")
    if len(data) < header.header_bytes:
        raise Broken(f"a header of {header.header_bytes} bytes expected, the file has {len(data)}")
    check_crc(data, 0, header.header_bytes)
    return header


def check_segment_header(header: Any, data: bytes, number: int, log: Log, keys: Optional[list[bytes]]) -> None:
    """Compares a header with what is before the segment, verifies its certificate, and goes on from it."""
    at = SEGMENT_HEADER.offset
    kind = "header"
    require_equal(header.format, FORMAT, kind, "format", at("format"))
    require_equal(header.flags, 0, kind, "flags", at("flags"))
    require_equal(header.number, number, kind, "segment", at("number"))
    if log.ledger is not None:
        require_equal(header.ledger, log.ledger, kind, "ledger", at("ledger"))
    require(header.generation >= max(log.generation, 1), kind, "the generation goes back", at("generation"))
    require(header.epoch >= max(log.epoch, 1), kind, "the epoch goes back", at("epoch"))
    require_equal(header.first, log.tree_size + 1, kind, "first position", at("first"))
    require_equal(header.tree_size, log.tree_size, kind, "tree size", at("tree_size"))
    require_equal(header.previous_hash, log.hash, "chain", "previous chain hash", at("previous_hash"))
    require_equal(header.previous_signature, log.signature, "chain", "previous signature", at("previous_signature"))
    require_equal(header.peaks, header.tree_size.bit_count(), kind, "peaks", at("peaks"))
    require_equal(Tree(header.tree_size, peaks_of(header, data)).root(), log.tree_root, "tree", "tree root", at("peaks"))

    certified = header.header_bytes - SIGNATURE_BYTES - CRC_BYTES
    certificate = data[certified : certified + SIGNATURE_BYTES]
    if keys is not None:
        require(1 <= header.signer <= len(keys), "signer", f"no signing key {header.signer} in the note", at("signer"))
        if header.ledger_key != keys[header.signer - 1]:
            certain = log.ledger is not None or log.vouched or not certifies(header.ledger_key, certificate, data[:certified])
            require(not certain, "signer", "the signing key of the note expected", at("ledger_key"))
            raise Fault("signer", "the key that certified the first segment expected in the note", file=NOTE_NAME)
    require(header.signer >= max(log.signer, 1), "signer", "an earlier signing key comes back", at("signer"))
    valid = certifies(header.ledger_key, certificate, data[:certified])
    require(valid, "certificate", "the certificate does not hold", certified)

    if header.generation != log.generation:
        log.generations = log.generations[1 - MAX_GENERATIONS :] + [(header.generation, header.first)]
    log.ledger, log.generation, log.epoch, log.signer = header.ledger, header.generation, header.epoch, header.signer
    log.hash = derive("segment chain", data[: certified + SIGNATURE_BYTES])
    log.signature = certificate
    log.segments += 1
    log.signatures += 1


def certifies(key: bytes, certificate: bytes, header: bytes) -> bool:
    return signed(key, certificate, derive("segment certificate", header))


def peaks_of(header: Any, data: bytes) -> list[bytes]:
    begin = SEGMENT_HEADER.bytes
    return [data[begin + HASH_BYTES * n : begin + HASH_BYTES * (n + 1)] for n in range(header.peaks)]


# ---- A frame (frame.md)


def read_frame(data: bytes, offset: int) -> Any:
    """The header's fields, where the whole frame is there and its checksum holds."""
    if not data.startswith(FRAME_MAGIC, offset):
        raise Broken("the magic of a frame expected")
    if len(data) - offset < FRAME_HEADER.bytes:
        raise Broken("the file ends within a frame's header")
    frame = FRAME_HEADER.read(data, offset)
    require(frame.format <= FORMAT, "format", f"format {frame.format} is not known", offset + 4)
    if not 1 <= frame.sealed_bytes <= MAX_BODY_BYTES:
        raise Broken(f"found {frame.sealed_bytes} bytes of ciphertext, expected 1 to {MAX_BODY_BYTES}")
    if len(data) - offset < frame_bytes(frame):
        raise Broken(f"a frame of {frame_bytes(frame)} bytes expected, the file has {len(data) - offset}")
    check_crc(data, offset, frame_bytes(frame))
    return frame


def frame_bytes(frame: Any) -> int:
    return FRAME_HEADER.bytes + frame.sealed_bytes + FRAME_TRAILER.bytes


def has_valid_fields(frame: Any) -> bool:
    """Whether a frame's header is one by itself, whatever is before it."""
    return (
        frame.magic == FRAME_MAGIC
        and frame.format == FORMAT
        and frame.codec <= LAST_CODEC
        and frame.flags <= PADDED and frame.reserved == 0
        and 1 <= frame.count <= MAX_FRAME_EVENTS
        and 1 <= frame.sealed_bytes <= frame.body_bytes <= MAX_BODY_BYTES
        and (frame.codec != STORED or frame.sealed_bytes == frame.body_bytes)
        and (frame.flags == 0 or frame.codec == STORED and frame.sealed_bytes in PADDED_BYTES)
    )


def check_frame(frame: Any, data: bytes, offset: int, number: int, log: Log, segment_key: bytes) -> None:
    """Compares a frame with what is before it, verifies its signature, and goes on from it."""
    at = lambda name: offset + FRAME_HEADER.offset(name)
    require(has_valid_fields(frame), "frame", "format, codec, flags, count or sizes are out of their limits", offset)
    require_equal(frame.number, number, "frame", "frame number", at("number"))
    require_equal(frame.first, log.tree_size + 1, "position", "first position", at("first"))
    require_equal(frame.previous_hash, log.hash, "chain", "previous chain hash", at("previous_hash"))
    require_equal(frame.tree_size, log.tree_size + frame.count, "tree", "tree size", at("tree_size"))
    require(frame.time >= log.time, "time", f"time {frame.time} is before {log.time}", at("time"))

    tag_end = offset + frame_bytes(frame) - SIGNATURE_BYTES - CRC_BYTES
    signature = data[tag_end : tag_end + SIGNATURE_BYTES]
    log.hash = derive("frame chain", log.hash, log.signature, data[offset:tag_end])
    require(signed(segment_key, signature, log.hash), "signature", "the frame's signature does not hold", tag_end)
    log.head, log.signature = log.hash, signature
    log.tree_size, log.tree_root, log.time = frame.tree_size, frame.tree_root, frame.time
    log.frames += 1
    log.signatures += 1


# ---- A footer (footer.md)


def check_footer(
    data: bytes, offset: int, frames: int, first: int, first_time: int, log: Log, segment_key: bytes
) -> None:
    """Compares a footer with the frames before it, verifies its signature, and goes on from it."""
    if len(data) - offset < FOOTER.bytes:
        raise Broken("the file ends within a footer")
    footer = FOOTER.read(data, offset)
    require(footer.format <= FORMAT, "format", f"format {footer.format} is not known", offset + 8)
    check_crc(data, offset, FOOTER.bytes)
    expected = {
        "format": FORMAT, "flags": 0, "frames": frames, "first": first, "last": log.tree_size,
        "tree_size": log.tree_size, "tree_root": log.tree_root, "first_time": first_time, "last_time": log.time,
        "previous_hash": log.hash,
    }  # fmt: skip
    require(frames > 0, "footer", "a footer without frames", offset)
    for name, value in expected.items():
        require_equal(getattr(footer, name), value, "footer", name.replace("_", " "), offset + FOOTER.offset(name))
    signature_at = offset + FOOTER.offset("signature")
    log.hash = derive("segment footer", log.hash, log.signature, data[offset : offset + FOOTER.offset("signature")])
    require(signed(segment_key, footer.signature, log.hash), "signature", "the footer's signature does not hold", signature_at)
    log.signature = footer.signature
    log.signatures += 1


# ---- Torn or corrupt (segment.md)


def is_torn(data: bytes, offset: int, written: int, frames: int, log: Log) -> bool:
    """Whether damage at this offset of the last segment can be the very last write, cut short."""
    if offset == 0:
        longest = MAX_HEADER_BYTES + MAX_FRAME_BYTES
    elif data.startswith(FOOTER_MAGIC, offset):
        longest = FOOTER.bytes
    else:
        longest = longest_frame(data, offset, frames, log)
    return written - offset <= longest and not anything_begins(data, offset)


def longest_frame(data: bytes, offset: int, frames: int, log: Log) -> int:
    """What the frame that was being written here can have at most: what its header says, if that header is in its place."""
    frame = frame_header_at(data, offset)
    if frame is None:
        return MAX_FRAME_BYTES
    found = (frame.number, frame.first, frame.previous_hash, frame.tree_size)
    in_place = found == (frames + 1, log.tree_size + 1, log.hash, log.tree_size + frame.count)
    return frame_bytes(frame) if in_place and frame.time >= log.time else MAX_FRAME_BYTES


def anything_begins(data: bytes, offset: int) -> bool:
    """Whether something that can be read begins behind the damage; then the damage came later than the write."""
    if data.find(FOOTER_MAGIC, offset + 1) >= 0 or data.find(SEGMENT_MAGIC, offset + 1) >= 0:
        return True
    frames = (frame_header_at(data, at) for at in places(data, FRAME_MAGIC, offset + 1))
    numbers = [frame.number for frame in frames if frame is not None]
    # A segment's header and its first frame are one write.
    return numbers != [1] and numbers != [] if offset == 0 else numbers != []


def places(data: bytes, magic: bytes, begin: int) -> Iterator[int]:
    at = data.find(magic, begin)
    while at >= 0:
        yield at
        at = data.find(magic, at + 1)


def frame_header_at(data: bytes, offset: int) -> Any:
    """The fields of a frame's header that can be read here, or None."""
    if len(data) - offset < FRAME_HEADER.bytes:
        return None
    frame = FRAME_HEADER.read(data, offset)
    return frame if has_valid_fields(frame) else None


# ---- The leaves of a segment (leaves.md)


class Leaves:
    """The file of leaves beside a segment, read along with the segment's frames."""

    def __init__(self, folder: str, number: int, level: "Level", heads: "Heads") -> None:
        self.name, self.number = f"tree/{number:010}.leaves", number
        self.level, self.heads = level, heads
        self.absent: list[tuple[int, int]] = []
        self.gaps: list[Gap] = []
        self.tree, self.epoch = Tree(), 0
        self.file: Optional[BinaryIO] = None
        self.length = self.offset = 0
        self.lost: Optional[Fault] = None  # what is wrong with the first leaf of zeros, unless zeros go on
        self.cut: Optional[Fault] = None  # the same where the file ends before its last leaf
        try:
            self.file, self.length = open_file(folder, self.name)
        except FileNotFoundError:
            pass
        except Gap as gap:
            self.gaps.append(gap)

    def begin(self, header: Any, data: bytes) -> None:
        """Compares the file's header with the segment's."""
        self.tree = Tree(header.tree_size, peaks_of(header, data))
        self.epoch = header.epoch
        self.level.begin(header.ledger)
        self.heads.begin(self.number, header)
        if self.file is None:
            return
        if self.length < LEAVES_HEADER.bytes:
            self.end_early()
            return
        expected = LEAVES_HEADER.struct.pack(LEAVES_MAGIC, FORMAT, 0, self.number, header.ledger, header.first)
        found = read_at(self.file, 0, LEAVES_HEADER.bytes)
        with naming(self.name):
            require_equal(found, expected, "leaves", "header", 0)
        self.offset = LEAVES_HEADER.bytes

    def check(self, frame: Any) -> None:
        """Makes the tree again up to a frame's end and compares its root with the one that the frame states."""
        wanted = frame.count * LEAF_BYTES
        if self.file is None:
            return self.note_absent(frame)
        if self.length - self.offset < wanted:
            self.end_early()
            return self.note_absent(frame)
        entries = read_at(self.file, self.offset, wanted)
        self.offset += wanted
        if self.lost is not None:
            if entries.strip(b"\0"):
                raise self.lost
            return self.note_absent(frame)
        begin, time, groups = self.offset - wanted, frame.time.to_bytes(8, "big"), []
        for n in range(frame.count):
            entry = entries[LEAF_BYTES * n : LEAF_BYTES * (n + 1)]
            if not entry.startswith(time):
                what = f"found another, expected a leaf of time {frame.time}"
                self.lost = Fault("leaves", what, begin + LEAF_BYTES * n, self.name)
                if entries[LEAF_BYTES * n :].strip(b"\0"):
                    raise self.lost
                return self.note_absent(frame)  # lost with the power, if zeros go on to the segment's last leaf
            position = (frame.first + n).to_bytes(8, "big")
            group = self.tree.append(sha256(b"\0" + position + entry).digest())
            if group is not None:
                groups.append((self.tree.size // GROUP_LEAVES - 1, group))
        with naming(self.name):
            what = f"leaves of positions {frame.first} to {frame.tree_size} that make tree root"
            require_equal(self.tree.root(), frame.tree_root, "leaves", what, begin)
        for index, root in groups:
            with naming(self.name):
                self.heads.archives.check_group(index, root)
            self.level.check(index, root, self.epoch)
        for n in range(frame.count):
            self.heads.leaf(frame.first + n, entries[LEAF_BYTES * n + 8 : LEAF_BYTES * (n + 1)])

    def end_early(self) -> None:
        """The file ends before its last leaf: what lies behind a missing entry is not looked for."""
        self.file = None
        self.cut = Fault("leaves", "the file ends before the segment's last leaf", self.length, self.name)

    def note_absent(self, frame: Any) -> None:
        first = self.absent[0][0] if self.absent else frame.first
        self.absent = [(first, frame.tree_size)]

    def finish(self) -> None:
        """An ended segment has exactly its leaves; another may have more, since it is still written."""
        if self.file is not None:
            with naming(self.name):
                require_equal(self.length, self.offset, "leaves", "bytes", self.offset)


def written_length(file: BinaryIO, length: int) -> int:
    """Where the zeros at a file's end begin."""
    while length > 0:
        begin = max(0, length - CHUNK_BYTES)
        written = len(read_at(file, begin, length - begin).rstrip(b"\0"))
        if written:
            return begin + written
        length = begin
    return 0


# ---- The stored level (levels.md)


class Level:
    """The file of the roots of complete groups of 256 leaves. Of the last epoch it may lag, and have zeros or a part of a root at its end."""

    NAME = "tree/level-1"

    def __init__(self, folder: str, answer: Answer) -> None:
        self.file: Optional[BinaryIO] = None
        self.length = 0
        self.lost: Optional[Fault] = None  # what is wrong with the first root of zeros, unless zeros go on
        self.lacks: Optional[tuple[int, Fault]] = None  # the same of the first one that is not there, or is zeros, and its epoch
        try:
            self.file, self.length = open_file(folder, self.NAME)
        except FileNotFoundError:
            pass
        except Gap as gap:
            answer.gaps.append(gap)

    def begin(self, ledger: bytes) -> None:
        """Compares the header, as far as it is there."""
        if self.file is not None and self.length >= LEVEL_HEADER.bytes:
            expected = LEVEL_HEADER.struct.pack(LEVEL_MAGIC, FORMAT, 0, 1, ledger)
            with naming(self.NAME):
                require_equal(read_at(self.file, 0, LEVEL_HEADER.bytes), expected, "level", "header", 0)

    def check(self, index: int, root: bytes, epoch: int) -> None:
        """Compares the root of a group, completed in that epoch, with the one that is stored for it, if one is."""
        offset = LEVEL_HEADER.bytes + HASH_BYTES * index
        if self.file is None:
            return
        if offset + HASH_BYTES > self.length:
            cut = Fault("level", f"the file ends before the root of group {index}", self.length, self.NAME)
            self.lacks = self.lacks or (epoch, cut)
            return
        stored = read_at(self.file, offset, HASH_BYTES)
        wrong = Fault("level", f"found {stored.hex()}, expected root {root.hex()} of group {index}", offset, self.NAME)
        if stored == NO_HASH != root:
            self.lost = self.lost or wrong
            self.lacks = self.lacks or (epoch, wrong)
        elif stored != root:
            raise wrong

    def end(self, size: int, epoch: int) -> None:
        """A tree of this size is through, its last segment of this epoch. What was completed in an earlier one was stored when this
        one began. Behind the first root of zeros there have to be zeros, as far as the tree has groups."""
        if self.lacks is not None and self.lacks[0] < epoch:
            raise self.lacks[1]
        end = min(self.length, LEVEL_HEADER.bytes + HASH_BYTES * (size // GROUP_LEAVES))
        if self.file is None or self.lost is None:
            return
        for begin in range(self.lost.offset, end, CHUNK_BYTES):
            if read_at(self.file, begin, min(CHUNK_BYTES, end - begin)).strip(b"\0"):
                raise self.lost


# ---- Hashes and signatures (keys.md, tree.md)


def derive(use: str, *parts: bytes) -> bytes:
    """BLAKE3 in its derive_key mode, under the context of this use."""
    hasher = blake3(derive_key_context=f"bitacora v1 {use}")
    for part in parts:
        hasher.update(part)
    return hasher.digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    return sha256(b"\1" + left + right).digest()


def check_crc(data: bytes, offset: int, length: int) -> None:
    """Compares the last four bytes with the CRC-32 of all before them."""
    end = offset + length - CRC_BYTES
    found, expected = int.from_bytes(data[end : end + CRC_BYTES], "little"), zlib.crc32(memoryview(data)[offset:end])
    if found != expected:
        raise Broken(f"found checksum {found:08x}, expected {expected:08x}")


# The y coordinates of Ed25519's points of small order, and those that are the same modulo p.
FIELD_PRIME = 2**255 - 19
ORDER_8 = int.from_bytes(bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"), "little")
SMALL_ORDER = {0, 1, FIELD_PRIME - 1, FIELD_PRIME, FIELD_PRIME + 1, ORDER_8, FIELD_PRIME - ORDER_8}


def is_small_order(point: bytes) -> bool:
    return int.from_bytes(point, "little") & (2**255 - 1) in SMALL_ORDER


def is_point(key: bytes) -> bool:
    """Whether a point of the curve has this y: x² = (y² - 1) / (d y² + 1) has a root (RFC 8032, section 5.1.3)."""
    y = int.from_bytes(key, "little") & (2**255 - 1)
    d = -121665 * pow(121666, -1, FIELD_PRIME)
    square = (y * y - 1) * pow(d * y * y + 1, -1, FIELD_PRIME)
    return pow(square, (FIELD_PRIME - 1) // 2, FIELD_PRIME) in (0, 1)


@lru_cache(maxsize=16)
def public_key(key: bytes) -> Ed25519PublicKey:
    return Ed25519PublicKey.from_public_bytes(key)


def signed(key: bytes, signature: bytes, message: bytes) -> bool:
    """Ed25519, strictly: neither the key nor the signature's point may be of small order."""
    if is_small_order(key) or is_small_order(signature[:HASH_BYTES]):
        return False
    try:
        public_key(key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


# ---- Signed notes and tree heads (tree_head.md)

MAX_SIGNED_NOTE_BYTES = 128 * 1024
MAX_NOTE_SIGNATURES = 100
SIGNATURE_LINE = re.compile(r"— ([^\s+]+) ([A-Za-z0-9+/]+=*)")
ORIGIN = re.compile(r"[a-z0-9][a-z0-9-]{0,63}/([0-9a-f]{32})/g([1-9][0-9]*)", re.ASCII)
DECIMAL = re.compile(r"0|[1-9][0-9]{0,19}", re.ASCII)
ED25519 = b"\x01"  # the kind of key, in a key's id and in a verifier key
COSIGNATURE = b"\x04"  # the same of a witness (cosignature.md)
MAX_KEY_NAME_BYTES = 256
# What does something to a terminal, or to the text around it, instead of being shown.
STEERING = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def is_key_name(name: str) -> bool:
    """Whether a line of a note may call its key so; a key that is known has none of STEERING in its name either."""
    return 1 <= len(name.encode()) <= MAX_KEY_NAME_BYTES and not re.search(r"[\s+]", name)


@dataclass(frozen=True)
class VerifierKey:
    """A public key under a name, as others know it."""

    name: str
    key: bytes
    kind: bytes = ED25519

    def id(self) -> bytes:
        return sha256(self.name.encode() + b"\n" + self.kind + self.key).digest()[:4]

    @staticmethod
    def parse(text: str, kind: bytes = ED25519) -> "VerifierKey":
        """Of `name+id+base64`; a ValueError where it is none of this kind."""
        name, key_id, encoded = text.split("+", 2)
        typed = strict_base64(encoded)
        key = VerifierKey(name, typed[1:], kind)
        usable = len(typed) == 33 and is_point(key.key) and not is_small_order(key.key)
        named = is_key_name(name) and not STEERING.search(name)
        if typed[:1] != kind or not usable or key_id != key.id().hex() or not named:
            raise ValueError("no verifier key")
        return key


@dataclass
class TreeHead:
    """What a ledger says of itself at some size, and which of the known keys signed it under its origin."""

    origin: str
    ledger: bytes
    generation: int
    size: int
    root: bytes
    signers: list[bytes] = field(default_factory=list)

    def name(self) -> str:
        return self.origin.split("/")[0]

    def is_named_by(self, key: "VerifierKey") -> bool:
        """Whether a key's name says that it is one of this ledger, in whatever generation."""
        origin = ORIGIN.fullmatch(key.name)
        return origin is not None and key.name.rpartition("/")[0] == self.origin.rpartition("/")[0]


def read_tree_head(note: bytes, keys: list[bytes]) -> TreeHead:
    """A tree head, signed under its origin by one of these keys."""
    head, text, signatures = parse_tree_head(note)
    known = [VerifierKey(head.origin, key) for key in keys]
    head.signers = [key.key for key in note_signers(text, signatures, known)]
    require(head.signers != [], "unsigned", "no known key signed it under its origin")
    return head


def parse_tree_head(note: bytes) -> tuple[TreeHead, str, str]:
    """What a note says, whoever signed it; the text that is signed, and the lines with signatures."""
    kind = "tree-head"
    require(len(note) <= MAX_SIGNED_NOTE_BYTES, kind, f"a note of at most {MAX_SIGNED_NOTE_BYTES} bytes expected")
    text = decode_text(note, kind)
    require(not re.search(r"[\x00-\x09\x0b-\x1f]", text), kind, "no control character but the newline expected")
    body, blank, signatures = text.rpartition("\n\n")
    lines = body.split("\n")
    require(blank != "" and len(lines) == 3, kind, "three lines, an empty one and signatures expected")
    origin = ORIGIN.fullmatch(lines[0])
    if origin is None or not DECIMAL.fullmatch(lines[1]) or max(int(lines[1]), int(origin[2]) << 32) >= 2**64:
        raise Fault(kind, "an origin and a size expected")
    try:
        root = strict_base64(lines[2])
    except ValueError as error:
        raise Fault(kind, f"a root expected: {error}") from None
    require(len(root) == HASH_BYTES, kind, "a root of 32 bytes expected")
    size = int(lines[1])
    require(size > 0 or root == EMPTY_ROOT, kind, "the root of the empty tree expected")
    return TreeHead(lines[0], bytes.fromhex(origin[1]), int(origin[2]), size, root), body + "\n", signatures


def note_signers(text: str, signatures: str, known: list[VerifierKey]) -> list[VerifierKey]:
    """The known keys that signed. A line that bears a known key's name and id and is not its signature spoils the note."""
    kind = "tree-head"
    require(signatures.endswith("\n"), kind, "a newline at the end expected")
    lines = signatures[:-1].split("\n")
    require(len(lines) <= MAX_NOTE_SIGNATURES, kind, f"at most {MAX_NOTE_SIGNATURES} signatures expected")
    signers = []
    for line in lines:
        match = SIGNATURE_LINE.fullmatch(line)
        try:
            name, signature = (match[1], strict_base64(match[2])) if match else ("", b"")
        except ValueError:
            signature = b""
        require(len(signature) > 4 and is_key_name(name), kind, f"{line!r} is no signature")
        for key in known:
            if (key.name, key.id()) == (name, signature[:4]):
                valid = len(signature) == 4 + SIGNATURE_BYTES and signed(key.key, signature[4:], text.encode())
                require(valid, kind, f"a signature of {name} does not hold")
                signers.append(key)
    return signers


# ---- Cosignatures (cosignature.md), and how many are enough (witness_policy.md)

MAX_COSIGNATURE_SECONDS = 2**63 - 1
COSIGNATURE_BYTES = 4 + 8 + SIGNATURE_BYTES
MAX_POLICY_BYTES = 256 * 1024
MAX_POLICY_LINES = 64


def cosigners(note: bytes, witnesses: list[VerifierKey]) -> dict[VerifierKey, int]:
    """Which of these witnesses cosigned a note that was read as a tree head, and when at the latest."""
    text, _, lines = note.decode().rpartition("\n\n")
    found: dict[VerifierKey, int] = {}
    for line in lines[:-1].split("\n"):
        _, name, encoded = line.split(" ")
        blob = strict_base64(encoded)
        claimed = [witness for witness in witnesses if (witness.name, witness.id()) == (name, blob[:4])]
        if not claimed:
            continue
        require(len(blob) == COSIGNATURE_BYTES, "cosignature", f"a cosignature of {name} expected")
        seconds = int.from_bytes(blob[4:12], "big")
        require(seconds <= MAX_COSIGNATURE_SECONDS, "cosignature", f"{name} cosigned at a time that is none")
        message = f"cosignature/v1\ntime {seconds}\n{text}\n".encode()
        signer = next((witness for witness in claimed if signed(witness.key, blob[12:], message)), None)
        if signer is None:
            raise Fault("cosignature", f"a cosignature of {name} does not hold")
        found[signer] = max(seconds, found.get(signer, 0))
    return found


class Policy:
    """Which logs and witnesses the reader trusts, and how many of the witnesses are enough. A ValueError where it is none."""

    def __init__(self, data: bytes) -> None:
        self.logs: list[VerifierKey] = []
        self.witnesses: list[VerifierKey] = []
        self.names: dict[bytes, Any] = {}  # a witness's key, or a number and the names of members
        self.members: set[bytes] = set()
        self.groups = 0
        self.quorum: Optional[bytes] = None
        if len(data) > MAX_POLICY_BYTES or data[-1:] not in (b"", b"\n"):
            raise ValueError("too long, or its last line does not end")
        for number, line in enumerate(data.split(b"\n"), 1):
            try:
                self.read(line)
            except ValueError as error:
                raise ValueError(f"line {number}: {error}") from None
        if self.quorum is None:
            raise ValueError("no quorum")

    def read(self, line: bytes) -> None:
        if re.search(rb"[\x00-\x08\x0b-\x1f\x7f]", line):
            raise ValueError("a control character")
        words = re.split(rb"[ \t]+", line.strip(b" \t"))
        if words[0][:1] in (b"", b"#"):
            return
        if words[0] == b"log" and len(words) in (2, 3):
            self.add(self.logs, VerifierKey.parse(words[1].decode()))
        elif words[0] == b"witness" and len(words) in (3, 4):
            key = VerifierKey.parse(words[2].decode(), COSIGNATURE)
            self.add(self.witnesses, key)
            self.name(words[1], key)
        elif words[0] == b"group" and len(words) >= 4:
            self.group(words[1], words[2], words[3:])
        elif words[0] == b"quorum" and len(words) == 2 and self.quorum is None:
            if words[1] != b"none" and words[1] not in self.names:
                raise ValueError("a quorum that no line before it names")
            self.quorum = words[1]
        else:
            raise ValueError("a line of another form, or a second quorum")

    @staticmethod
    def add(keys: list[VerifierKey], key: VerifierKey) -> None:
        if any(other.key == key.key for other in keys) or len(keys) >= MAX_POLICY_LINES:
            raise ValueError("a key that is there already, or one too many")
        keys.append(key)

    def name(self, name: bytes, meaning: Any) -> None:
        if name == b"none" or name in self.names:
            raise ValueError("a name that is taken")
        self.names[name] = meaning

    def group(self, name: bytes, threshold: bytes, members: list[bytes]) -> None:
        for member in members:
            if member not in self.names or member in self.members:
                raise ValueError("a member that no line before names, or that counts already")
            self.members.add(member)
        written = {b"all": len(members), b"any": 1}
        if threshold not in written and not re.fullmatch(rb"[1-9][0-9]{0,5}", threshold):
            raise ValueError("how many of its members a group needs expected")
        needed = written.get(threshold) or int(threshold)
        self.groups += 1
        if needed > len(members) or self.groups > MAX_POLICY_LINES:
            raise ValueError("more members than there are, or a group too many")
        self.name(name, (needed, members))

    def asks_for_witnesses(self) -> bool:
        return self.quorum != b"none"

    def is_met(self, by: dict[VerifierKey, int], name: Optional[bytes] = None) -> bool:
        """Whether the witness or group of this name, else the quorum, counts as having cosigned."""
        meaning = self.names[name or self.quorum or b""]
        if isinstance(meaning, VerifierKey):
            return meaning in by
        needed, members = meaning
        return sum(self.is_met(by, member) for member in members) >= needed


def strict_base64(text: str) -> bytes:
    """Base64 in the one text that its value has; a ValueError for any other."""
    value = b64decode(text, validate=True)
    if b64encode(value).decode() != text:
        raise ValueError(f"{text!r} is not how its value is written")
    return value


def decode_text(data: bytes, kind: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise Fault(kind, "UTF-8 expected") from None


# ---- The tree heads of a segment (heads.md)

MAX_HEADED_RECORD_BYTES = 4 * 1024
MAX_HEAD_ENTRY_BYTES = 4 + 8 + 32 + 4 + MAX_HEADED_RECORD_BYTES + 4 + MAX_SIGNED_NOTE_BYTES + CRC_BYTES


@dataclass
class HeadEntry:
    """A tree head, and the event that ties it to the stored bytes."""

    file: str
    offset: int
    bytes: int
    position: int
    blind: bytes
    record: bytes
    note: bytes

    def fault(self, what: str) -> Fault:
        return Fault("heads", what, self.offset, self.file)


class Heads:
    """The heads of a whole ledger, each compared with the frames it speaks of once these were walked over."""

    def __init__(self, folder: str, keys: Optional[list[bytes]], answer: Answer) -> None:
        self.folder, self.keys, self.answer = folder, keys, answer
        self.data: Optional[bytes] = None  # the file beside the segment that is walked over
        self.entries: dict[int, HeadEntry] = {}  # of that segment, by their event's position, until this is reached
        self.pending: list[tuple[HeadEntry, TreeHead]] = []  # whose frame is still to come
        self.released: list[tuple[HeadEntry, TreeHead]] = []  # beside segments that were let go
        self.ends = FrameEnds()
        self.archives: Any = None  # once what was let go is known
        self.name: Optional[str] = None
        self.cosigned: list[tuple[int, bytes | Fault]] = []  # by the segment's number
        self.known_signers: list[bytes] = []  # of heads that the reader kept, or whose witnesses the reader knows
        self.segments: list[tuple[int, int, int]] = []  # number, generation, last position

    def read(self, number: int) -> None:
        """Reads the heads of a segment; before the segment, since a writer adds them after their frames."""
        self.read_heads(number)
        self.read_cosigned(number)

    def read_heads(self, number: int) -> None:
        self.data = None
        try:
            if self.keys is not None:
                self.data = read_file(self.folder, heads_name(number), MAX_SEGMENT_BYTES)
        except FileNotFoundError:
            pass
        except (Fault, Gap) as error:
            self.answer.gaps.append(Gap(str(error), heads_name(number)))

    def read_released(self, header: Any) -> None:
        """Checks what can be checked of the heads beside a segment that was let go without the root of any."""
        self.read_heads(header.number)
        self.begin(header.number, header)
        for entry, head in self.pending:
            with naming(entry.file):
                require(head.size <= header.last, "heads", "a head of events of its segment expected", entry.offset)
                headed(entry, header.ledger)
        self.released += self.pending
        self.entries, self.pending = {}, []

    def compare_released(self) -> None:
        """Compares the heads beside segments that were let go with the tree, where archives tell its root."""
        for entry, head in self.released:
            root = self.archives.root_at(head.size)
            with naming(entry.file):
                require(root in (None, head.root), "heads", "the root that the archives have expected", entry.offset)

    def read_cosigned(self, number: int) -> None:
        try:
            if self.keys is not None:
                self.cosigned.append((number, read_file(self.folder, cosigned_name(number), MAX_SIGNED_NOTE_BYTES)))
        except FileNotFoundError:
            pass
        except Fault as fault:
            self.cosigned.append((number, fault))
        except Gap as gap:
            self.answer.gaps.append(Gap(gap.what, cosigned_name(number)))

    def begin(self, number: int, header: Any) -> None:
        """Checks what can be checked of the heads of the segment with this header without its frames."""
        self.entries, before = {}, header.first - 1
        with naming(heads_name(number)):
            for entry in read_entries(heads_name(number), self.data, number, header.ledger):
                head = read_tree_head(entry.note, self.keys or [])
                self.name = self.name or head.name()
                own = (head.name(), head.ledger, head.generation) == (self.name, header.ledger, header.generation)
                require(own, "heads", "a head of this ledger, name and generation expected", entry.offset)
                require(entry.position > before, "heads", "an event behind the head before expected", entry.offset)
                require(head.size >= entry.position, "heads", "a head does not cover its event", entry.offset)
                before = head.size
                self.entries[entry.position] = entry
                self.pending.append((entry, head))

    def leaf(self, position: int, commitment: bytes) -> None:
        """A leaf of the segment: where it is that of a head's event, the event has to be the one that is shown."""
        entry = self.entries.pop(position, None)
        if entry is None:
            return
        with naming(entry.file):
            found = blake3(entry.record, key=entry.blind).digest()
            require_equal(found, commitment, "heads", "commitment", entry.offset)
            size, hash_ = headed(entry, self.answer.log.ledger or b"")
            if size <= self.archives.through:
                return  # what frames that were let go came to, no archive tells without keys
            end = self.ends.at(size)
            require(size < position and end is not None, "heads", f"no frame before it ends at {size}", entry.offset)
            require_equal(hash_, end and end[0], "heads", f"chain hash at position {size}", entry.offset)

    def frame(self, log: Log) -> None:
        """A frame that holds: the heads that end with it state its root."""
        self.ends.add(log)
        while self.pending and self.pending[0][1].size <= log.tree_size:
            entry, head = self.pending.pop(0)
            with naming(entry.file):
                require_equal(head.size, log.tree_size, "heads", "the end of a frame", entry.offset)
                require_equal(head.root, log.tree_root, "heads", "root", entry.offset)
            self.answer.heads += 1

    def end(self, number: int, leaves_are_there: bool) -> None:
        """The segment ends. A head that was not reached tells that frames are missing."""
        self.segments.append((number, self.answer.log.generation, self.answer.log.tree_size))
        for entry, head in self.pending:
            raise entry.fault(f"found no frame that ends at position {head.size}, expected one, as a signed head says")
        for entry in self.entries.values():
            if leaves_are_there:
                raise entry.fault("an event of this segment expected")
            self.answer.notes.append(f"{entry.file}: the event at position {entry.position} could not be compared")

    def look_behind(self, last: int) -> None:
        """What lies behind the last segment: a head that the ledger signed there is of events that it does not have any more."""
        if self.keys is None:
            return
        for number in numbers_in(self.folder, "tree", "heads"):
            if number > last:
                self.read(number)
                self.check_behind(number)
        for number in numbers_in(self.folder, "tree", "cosigned"):
            if number > last and all(number != read for read, _ in self.cosigned):
                self.read_cosigned(number)

    def check_behind(self, number: int) -> None:
        """Heads without a segment. What is none that the ledger signed, or of a generation that was given up, is nobody's evidence."""
        ledger = self.answer.log.ledger or b""
        try:
            for entry in read_entries(heads_name(number), self.data, number, ledger):
                if self.is_lost(read_tree_head(entry.note, self.keys or [])):
                    raise Fault("heads-lost", "found none, expected a segment with the events that a signed head covers", entry.offset, entry.file)
        except Fault as fault:
            if fault.kind == "heads-lost":
                raise

    def is_lost(self, head: TreeHead) -> bool:
        """Whether a head of this ledger covers events that are not there, and were not given up."""
        log = self.answer.log
        beyond = head.generation == log.generation and head.size > log.tree_size
        return head.ledger == log.ledger and (head.generation > log.generation or beyond)

    def is_nobodys(self, number: int, data: bytes | Fault) -> bool:
        """Whether it lies behind the last segment and is no cosigned head of events that were lost."""
        if number <= self.segments[-1][0]:
            return False
        try:
            return isinstance(data, Fault) or not self.is_lost(read_tree_head(data, self.keys or []))
        except Fault:
            return True

    def compare_known(self, trusted: list[VerifierKey], known: list[str], whole: bool) -> None:
        """Whether this is the ledger whose keys and heads the reader brought; whole if both stand behind all of it."""
        log, keys = self.answer.log, self.keys or []
        for key in trusted:
            origin = ORIGIN.fullmatch(key.name)
            own = origin is not None and log.ledger == bytes.fromhex(origin[1]) and key.key in keys
            with naming(NOTE_NAME):
                require(own, "key", f"{key.name}: a key of this ledger expected")
        sizes = [0, self.answer.witnessed]
        for file in known:
            with naming(file):
                head = self.known_head(file, keys)
                if head is not None and not whole and head.ledger == log.ledger and not self.is_reached(head):
                    self.answer.gaps.append(Gap(f"{head.size} events of {head.origin} are remembered, {log.tree_size} could be read", file))
                elif head is not None and self.compare_known_head(head):
                    self.known_signers.append(max(head.signers, key=keys.index))
                    sizes.append(head.size)
                elif head is not None:
                    sizes.append(head.size)
        # Whoever has the seed of an old key can endorse a successor: something that the reader brought has to be by it.
        numbers = [keys.index(key.key) + 1 for key in trusted]
        own = numbers + [keys.index(key) + 1 for key in self.known_signers]
        vouching = any(number <= log.signer for number in numbers) and log.signer in own
        self.answer.trusted = vouching and max(sizes) > 0 and not self.answer.leaves_absent and self.archives.are_whole()

    def own_logs(self, policy: Optional[Policy]) -> list[VerifierKey]:
        """The policy's logs that are named as this ledger."""
        return [log for log in policy.logs if is_named_as(log, self.answer.log.ledger)] if policy else []

    def compare_cosigned(self, policy: Optional[Policy]) -> Optional[Fault]:
        """Whether the cosigned heads are of this ledger. One that enough of the reader's witnesses cosigned is as one that the
        reader kept: where it is of another history, that is what is given."""
        divergence, best = None, 0
        for number, data in self.cosigned:
            if self.is_nobodys(number, data):
                continue
            with naming(cosigned_name(number)):
                if isinstance(data, Fault):
                    raise data
                head = read_tree_head(data, self.keys or [])
                require(head.ledger == self.answer.log.ledger, "cosigned", "a head of this ledger expected")
                by = cosigners(data, policy.witnesses if policy else [])
                best = max(best, len(by))
                meets = policy is not None and policy.is_met(by)
                try:
                    if meets:
                        self.compare_known_head(head)
                except Fault as fault:
                    fault.file = cosigned_name(number)
                    divergence = divergence or fault
                    continue
                self.check_cosigned(number, head)
                self.answer.cosigned += 1
                if meets:
                    self.known_signers.append(max(head.signers, key=(self.keys or []).index))
                    self.answer.witnessed = max(self.answer.witnessed, head.size)
        if policy and divergence is None and self.answer.witnessed == 0:
            self.answer.gaps.append(Gap(f"too few witnesses: {len(self.cosigned)} cosigned heads, none by more than {best} of them"))
        return divergence

    def check_cosigned(self, number: int, head: TreeHead) -> None:
        """A cosigned head is of a frame of its segment."""
        end = self.ends.at(head.size)
        place = next((place for place in self.segments if head.size <= place[2]), (0, 0, 0))
        require(end is not None and place[0] == number, "cosigned", "the end of a frame of this segment expected")
        require_equal(head.generation, place[1], "cosigned", "generation", 0)
        require_equal(head.root, end and end[1], "cosigned", "root", 0)

    def known_head(self, file: str, keys: list[bytes]) -> Optional[TreeHead]:
        """A head that the reader kept, signed by one of the ledger's keys."""
        try:
            return read_tree_head(read_file(*os.path.split(os.path.abspath(file)), MAX_SIGNED_NOTE_BYTES), keys)
        except FileNotFoundError:
            self.answer.gaps.append(Gap("there is no such file", file))
        except Fault as fault:
            if fault.kind == "unsigned":
                raise Fault("other-keys", "none of this ledger's keys signed it: another ledger stands in its place") from None
            self.answer.gaps.append(Gap(fault.what, file))
        return None

    def is_reached(self, head: TreeHead) -> bool:
        return head.size <= self.answer.log.tree_size and head.generation <= self.answer.log.generation

    def compare_known_head(self, head: TreeHead) -> bool:
        """Whether it could be compared."""
        log = self.answer.log
        require(head.ledger == log.ledger, "other-ledger", f"found {head.origin}, expected this ledger")
        require(self.is_reached(head), "rolled-back", f"found {log.tree_size} events, expected {head.size} of {head.origin}")
        if 0 < head.size <= self.archives.through:
            root = self.archives.root_at(head.size)
            if root is None:
                self.answer.gaps.append(Gap(f"a tree head of size {head.size}, where the tree lies within an archive"))
                return False
            require(root == head.root, "diverged", f"found root {root.hex()} at {head.size} events, expected {head.root.hex()}")
            return True
        end = self.ends.at(head.size)
        same = head.size == 0 or (end is not None and end[1] == head.root)
        require(same, "diverged", f"found another root or none at {head.size} events, expected {head.root.hex()}")
        return True


class FrameEnds:
    """Chain hash and root after each frame."""

    def __init__(self) -> None:
        self.positions, self.hashes, self.roots = array("Q"), bytearray(), bytearray()

    def add(self, log: Log) -> None:
        self.positions.append(log.tree_size)
        self.hashes += log.head
        self.roots += log.tree_root

    def at(self, position: int) -> Optional[tuple[bytes, bytes]]:
        """Of the frame that ends at this position, if one does."""
        index = bisect_left(self.positions, position)
        if index == len(self.positions) or self.positions[index] != position:
            return None
        part = slice(HASH_BYTES * index, HASH_BYTES * (index + 1))
        return bytes(self.hashes[part]), bytes(self.roots[part])


def heads_name(number: int) -> str:
    return f"tree/{number:010}.heads"


def cosigned_name(number: int) -> str:
    return f"tree/{number:010}.cosigned"


def is_named_as(key: VerifierKey, ledger: Optional[bytes]) -> bool:
    """Whether a key's name says that it is one of this ledger."""
    origin = ORIGIN.fullmatch(key.name)
    return origin is not None and ledger == bytes.fromhex(origin[1])


def require_vouching(trusted: list[VerifierKey], keys: list[bytes], head: TreeHead, cosigned: bool) -> bool:
    """Returns whether a known key signed, or enough witnesses cosigned what an endorsed one signed. Keys that all came later are refused."""
    signer = max(keys.index(key) for key in head.signers)
    places = [keys.index(key.key) if key.key in keys and head.is_named_by(key) else None for key in trusted]
    known = [place for place in places if place is not None]
    require(len(known) == len(places), "key", "a known key is none of this ledger's")
    require(not known or min(known) <= signer, "key", "the known keys come after the one that signed: they do not vouch for it")
    # Whoever has the seed of an old key can endorse a successor: an endorsement alone is no reason to trust.
    return signer in known or (bool(known) and cosigned)


def read_entries(name: str, data: Optional[bytes], number: int, ledger: bytes) -> Iterator[HeadEntry]:
    """The entries of a file, up to the zeros at its end."""
    if data is None:
        return
    written = len(data.rstrip(b"\0"))
    require(len(data) >= HEADS_HEADER.bytes and written > 0, "heads", "a header of heads expected", 0)
    expected = HEADS_HEADER.struct.pack(HEADS_MAGIC, FORMAT, 0, number, ledger)
    require_equal(data[: HEADS_HEADER.bytes], expected, "heads", "header", 0)
    offset = HEADS_HEADER.bytes
    while offset < written:
        entry = entry_at(name, data, offset)
        if entry is None:
            raise Fault("heads", "an entry expected", offset)
        yield entry
        offset += entry.bytes


def entry_at(name: str, data: bytes, offset: int) -> Optional[HeadEntry]:
    """The entry that begins here, whole and as it was written, or None."""
    fields = Fields(data, offset)
    try:
        length = fields.fixed(4)
        if length > MAX_HEAD_ENTRY_BYTES - 4:
            return None
        end = fields.at + length
        position, blind = fields.fixed(8), fields.take(HASH_BYTES)
        record = fields.take(fields.fixed(4))
        note = fields.take(fields.fixed(4))
        checksum = fields.fixed(CRC_BYTES)
    except ValueError:
        return None
    too_long = len(record) > MAX_HEADED_RECORD_BYTES or len(note) > MAX_SIGNED_NOTE_BYTES
    whole = fields.at == end and checksum == zlib.crc32(data[offset : end - CRC_BYTES])
    if too_long or not whole or position == 0:
        return None
    return HeadEntry(name, offset, end - offset, position, blind, record, note)


def headed(entry: HeadEntry, ledger: bytes) -> tuple[int, bytes]:
    """The position and chain hash that a head's event names."""
    record = Record.read(entry.record)
    expected = ("ledger.headed", "ledger", f"urn:bitacora:ledger:{ledger.hex()}")
    require_equal((record.type, record.stream, record.source), expected, "heads", "type, stream and source", entry.offset)
    members = read_object(record.json or b"", "heads")
    require_equal(sorted(members), ["hash", "size"], "heads", "members of the event", entry.offset)
    return decimal(members["size"], "heads"), hexadecimal(members["hash"], "heads")


# ---- Evidence of one event (evidence.md)

MAX_EVIDENCE_BYTES = 16 * 1024 * 1024
EVIDENCE_FORMAT = "bitacora-evidence v1"
EVIDENCE_MEMBERS = {"format", "position", "time", "commitment", "proof", "treeHead", "signingKeys"}
EVIDENCE_PAIRS = [("blind", "record"), ("partBlind", "part")]
MAX_PROOF_HASHES = 64


def verify_evidence(file: str, trusted: list[VerifierKey], policy: Optional[Policy]) -> Answer:
    """Checks what was handed over of one event, evidence or a receipt: that the tree of a signed head has it, and that it is what was committed to."""
    answer = Answer()
    with judging(answer):
        folder, name = os.path.split(os.path.abspath(file))
        try:
            data = read_file(folder, name, MAX_EVIDENCE_BYTES)
        except FileNotFoundError:
            raise Gap("there is no such file", file) from None
        with naming(file):
            if data.startswith(RECEIPT_PREFIX):
                check_receipt(data, trusted, policy, answer)
            else:
                check_evidence(read_members(data), trusted, policy, answer)
    return answer


def read_members(data: bytes) -> dict[str, Any]:
    """The members of the JSON object, each known and none twice."""
    kind = "evidence"
    members = read_object(data, kind)
    optional = {name for pair in EVIDENCE_PAIRS if pair[0] in members or pair[1] in members for name in pair}
    require_equal(sorted(members), sorted(EVIDENCE_MEMBERS | optional), kind, "members", 0)
    for name, value in members.items():
        texts = value if name == "proof" and isinstance(value, list) else [value]
        require(all(isinstance(text, str) for text in texts), kind, f"a text expected in {name}")
    require(isinstance(members["proof"], list), kind, "a list expected in proof")
    require_equal(members["format"], EVIDENCE_FORMAT, kind, "format", 0)
    return members


def read_object(data: bytes, kind: str) -> dict[str, Any]:
    """A JSON object, no member of which is there twice."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) != len(pairs):
            raise ValueError("a member that is there twice")
        return dict(pairs)

    try:
        members = json.loads(decode_text(data, kind), object_pairs_hook=once)
    except (ValueError, RecursionError) as error:
        raise Fault(kind, f"JSON expected: {error}") from None
    if not isinstance(members, dict):
        raise Fault(kind, "a JSON object expected")
    return members


def check_evidence(
    members: dict[str, Any], trusted: list[VerifierKey], policy: Optional[Policy], answer: Answer
) -> None:
    """All that evidence.md lists, but what an event may hold: of that only the form is checked."""
    kind = "evidence"
    keys = parse_signing_keys(members["signingKeys"].encode())
    head = read_tree_head(members["treeHead"].encode(), keys)
    cosigned = False
    if policy is not None:
        trusted = trusted + [log for log in policy.logs if is_named_as(log, head.ledger)]
        cosigned = policy.is_met(cosigners(members["treeHead"].encode(), policy.witnesses))
        if not cosigned:
            answer.gaps.append(Gap("too few witnesses cosigned its tree head"))
    vouching = require_vouching(trusted, keys, head, cosigned)

    position, time = decimal(members["position"], kind), decimal(members["time"], kind)
    commitment = hexadecimal(members["commitment"], kind)
    entry = position.to_bytes(8, "big") + time.to_bytes(8, "big") + commitment
    check_inclusion(position, entry, members["proof"], head)

    answer.log.signatures, answer.trusted = 1, vouching
    answer.notes.append(f"position {position}, time {time}, in the tree of size {head.size} of {head.origin}, signing key {keys.index(head.signers[-1]) + 1}")

    if "record" not in members:
        require("part" not in members, kind, "a part without its record")
        return
    record = from_base64(members["record"], kind)
    blind = hexadecimal(members["blind"], kind)
    require_equal(blake3(record, key=blind).digest(), commitment, "commitment", "commitment", 0)
    seal = Record.read(record).seal
    if "part" in members:
        part, part_blind = from_base64(members["part"], kind), hexadecimal(members["partBlind"], kind)
        require(seal is not None, "seal", "a part beside a record without a seal")
        require_equal(blake3(part, key=part_blind).digest(), seal, "seal", "seal", 0)
        read_part(part)


def check_inclusion(position: int, entry: bytes, hashes: list[str], head: TreeHead) -> None:
    """Whether the tree of this head has the entry at the position, by a proof whose hashes are in base64."""
    require(1 <= position <= head.size, "proof", f"position {position} is not in a tree of size {head.size}")
    require(len(hashes) <= MAX_PROOF_HASHES, "proof", f"at most {MAX_PROOF_HASHES} hashes expected")
    proof = [from_base64(text, "proof") for text in hashes]
    require(all(len(item) == HASH_BYTES for item in proof), "proof", "hashes of 32 bytes expected")
    root = root_by_inclusion(position - 1, head.size, sha256(b"\0" + entry).digest(), proof)
    require_equal(root, head.root, "proof", "root", 0)


def root_by_inclusion(index: int, size: int, leaf: bytes, proof: list[bytes]) -> bytes:
    """The root that a proof makes of a leaf (RFC 9162, section 2.1.3.2)."""
    root, last = leaf, size - 1
    for sibling in proof:
        require(last > 0, "proof", "fewer hashes expected")
        if index & 1 or index == last:
            root = node_hash(sibling, root)
            while not index & 1 and index > 0:
                index, last = index >> 1, last >> 1
        else:
            root = node_hash(root, sibling)
        index, last = index >> 1, last >> 1
    require(last == 0, "proof", "more hashes expected")
    return root


# ---- A receipt (receipt.md)

MAX_RECEIPT_BYTES = 132 * 1024
RECEIPT_PREFIX = b"c2sp.org/"
RECEIPT_FIRST_LINE = "c2sp.org/tlog-proof@v1"
ENTRY_BYTES = 8 + LEAF_BYTES


def check_receipt(data: bytes, trusted: list[VerifierKey], policy: Optional[Policy], answer: Answer) -> None:
    """That an event is in the tree of a head, which a key that the reader knows has to have signed: a receipt brings none."""
    kind = "receipt"
    require(len(data) <= MAX_RECEIPT_BYTES, kind, f"at most {MAX_RECEIPT_BYTES} bytes expected")
    proof, blank, note = decode_text(data, kind).partition("\n\n")
    first, extra, index, *hashes = [*proof.split("\n"), "", ""]
    require(blank != "" and first == RECEIPT_FIRST_LINE, kind, f"the first line {RECEIPT_FIRST_LINE!r} expected")
    require(extra.startswith("extra "), kind, "an entry expected in the second line")
    entry = from_base64(extra.removeprefix("extra "), kind)
    require(len(entry) == ENTRY_BYTES, kind, f"an entry of {ENTRY_BYTES} bytes expected")
    position = int.from_bytes(entry[:8], "big")
    require(position > 0 and index == f"index {position - 1}", kind, "the index of the entry's position expected")
    head, text, signatures = parse_tree_head(note.encode())
    check_inclusion(position, entry, hashes[:-2], head)

    known = trusted + (policy.logs if policy else [])
    signers = note_signers(text, signatures, known)
    if not signers:
        others = not known or any(head.is_named_by(key) for key in known)
        require(others, "unsigned", "no known key signed its tree head")
        raise Gap("it brings no keys, and no known key of its ledger signed its tree head")
    require(any(key.name == head.origin for key in signers), "unsigned", "no key of the ledger itself signed its tree head")
    if policy is not None and not policy.is_met(cosigners(note.encode(), policy.witnesses)):
        answer.gaps.append(Gap("too few witnesses cosigned its tree head"))
    answer.log.signatures, answer.trusted = 1, True
    answer.notes.append(f"position {position}, time {int.from_bytes(entry[8:16], 'big')}, in the tree of size {head.size} of {head.origin}")


# ---- An evidence bundle (bundle.md)

BUNDLE_FORMAT = "bitacora-bundle v1"
MAX_BUNDLE_BYTES = 256 * 1024 * 1024
TAR_BLOCK_BYTES = 512
TAR_NUMBER = re.compile(rb"([0-7]+)[\0 ]*")
BUNDLE_MEMBERS = ["README.txt", "manifest.json", "bitacora_verify.py", "signing-keys.note", "heads/proofs.note", "heads/last.note", "events.ndjson", "proofs.ndjson"]
LAST_HEAD = "heads/last.note"
MANIFEST_MEMBERS = {"format", "ledger", "after", "until", "events", "first", "last", "treeSize", "members"}
MANIFEST_FILTERS = {"since", "before", "session", "run"}
PROOF_MEMBERS = ["position", "time", "commitment", "blind", "record", "proof"]
EXPIRED_PROOF_MEMBERS = ["position", "time", "commitment", "proof"]
EXPIRED_EVENT_MEMBERS = ["specversion", "id", "source", "type", "subject"]
EVENT_MEMBERS = ["position", "streamVersion", "recordedAt", "commitment"]
EVENT_MARKS = ["derived", "erased", "unreadable"]  # which the ledger adds, with "erasedBy" and "expiredBy"; nothing proves them
BUNDLE_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z")
MAX_EVENT_DEPTH = 65  # objects and lists within one another
RECORD_TEXTS = ["time", "datacontenttype", "dataschema", "actor", "agent", "session", "run", "call", "correlationid", "causationid", "traceparent"]


def verify_bundle(file: str, trusted: list[VerifierKey], policy: Optional[Policy]) -> Answer:
    """Checks a bundle: that a signed head has every event in it, with this content; and that none is missing in a range."""
    answer = Answer()
    with judging(answer), naming(file):
        members = read_bundle(file)
        manifest = read_bundle_manifest(members)
        keys = parse_signing_keys(members["signing-keys.note"])
        note = members["heads/proofs.note"]
        head = read_tree_head(note, keys)
        cosigned = False
        if policy is not None:
            trusted = trusted + [log for log in policy.logs if is_named_as(log, head.ledger)]
            cosigned = policy.is_met(cosigners(note, policy.witnesses))
            if not cosigned:
                answer.gaps.append(Gap("too few witnesses cosigned its tree head"))
        answer.trusted = require_vouching(trusted, keys, head, cosigned)
        require_equal(manifest["ledger"], head.origin.split("/")[0], "bundle", "ledger of the manifest", 0)
        require_equal(head.size, decimal(manifest["treeSize"], "bundle"), "bundle", "size of the tree head", 0)
        answer.log.signatures = 1
        if LAST_HEAD in members:
            last = read_tree_head(members[LAST_HEAD], keys)
            require_equal(last.origin, head.origin, "bundle", "origin of the last tree head", 0)
            require(last.size > head.size, "bundle", "a last tree head over more events expected")
            answer.log.signatures = 2
        sealed, expired = check_bundle_events(members, manifest, head)
        answer.notes.append(
            f"{manifest['events']} events, positions {manifest['first']} to {manifest['last']}, in the tree of size {head.size} of {head.origin}, "
            f"signing key {keys.index(head.signers[-1]) + 1}"
        )
        if MANIFEST_FILTERS & set(manifest) & {"session", "run"}:
            answer.notes.append("chosen by session or run: each event is proven, not that there are no others")
        if sealed:
            answer.notes.append(f"{sealed} events of data subjects: their data is sealed, and not proven by this")
        if expired:
            answer.notes.append(f"{expired} events said to be expired: their time and commitment are proven alone")
    return answer


def read_bundle(file: str) -> dict[str, bytes]:
    """The members of the archive: plain files with known names, each once, in their order."""
    kind = "bundle"
    try:
        size = os.stat(file).st_size
        require(size <= MAX_BUNDLE_BYTES, kind, f"at most {MAX_BUNDLE_BYTES} bytes expected")
        with open(file, "rb") as bundle:
            data = bundle.read()
    except FileNotFoundError:
        raise Gap("there is no such file", file) from None
    except OSError as error:
        raise Gap(str(error), file) from None
    members: dict[str, bytes] = {}
    at = 0
    while any(header := data[at : at + TAR_BLOCK_BYTES]):
        name, size = read_tar_header(header, at)
        require(name in BUNDLE_MEMBERS, kind, f"no such member expected: {name}", at)
        require(name not in members, kind, f"a member that is there twice: {name}", at)
        begin, end = at + TAR_BLOCK_BYTES, at + TAR_BLOCK_BYTES + size
        at = end + -end % TAR_BLOCK_BYTES
        require(end <= len(data) and not any(data[end:at]), kind, f"{name} ends too early, or in other bytes than zeros", begin)
        members[name] = data[begin:end]
    require(len(data) - at >= 2 * TAR_BLOCK_BYTES and not any(data[at:]), kind, "two blocks of zeros or more expected at the end", at)
    expected = [name for name in BUNDLE_MEMBERS if name in members or name != LAST_HEAD]
    require_equal(list(members), expected, kind, "members in their order", 0)
    return members


def read_tar_header(header: bytes, at: int) -> tuple[str, int]:
    """The name and the length of a plain file. Whatever else tar knows is refused: links, long names, sparse files."""
    require(len(header) == TAR_BLOCK_BYTES, "bundle", "a header of 512 bytes expected", at)
    total = sum(header) - sum(header[148:156]) + 8 * ord(" ")
    require(tar_number(header[148:156], at) == total, "bundle", "the checksum of a header does not hold", at)
    require(header[257:262] == b"ustar", "bundle", "a header of the format ustar expected", at)
    require(header[156:157] in (b"\0", b"0") and not any(header[345:500]), "bundle", "a plain file expected", at)
    return header[:100].split(b"\0")[0].decode("utf-8", "replace"), tar_number(header[124:136], at)


def tar_number(field: bytes, at: int) -> int:
    """Octal digits, behind which are zeros or spaces alone."""
    found = TAR_NUMBER.fullmatch(field)
    if found is None:
        raise Fault("bundle", "octal digits expected in a header", at)
    return int(found[1], 8)


def read_bundle_manifest(members: dict[str, bytes]) -> dict[str, Any]:
    """What was asked for; the digests of all other members are compared."""
    kind = "bundle"
    manifest = read_object(members["manifest.json"], kind)
    require(set(manifest) - MANIFEST_FILTERS == MANIFEST_MEMBERS, kind, "other members expected in the manifest")
    require_equal(manifest["format"], BUNDLE_FORMAT, kind, "format", 0)
    listed = manifest["members"]
    others = [name for name in members if name != "manifest.json"]
    require(isinstance(listed, list) and all(isinstance(member, dict) for member in listed), kind, "a list of members expected")
    require_equal([member.get("name") for member in listed], others, kind, "members in the manifest", 0)
    for member in listed:
        require_equal(sorted(member), ["bytes", "name", "sha256"], kind, "what is said of a member", 0)
        data = members[member["name"]]
        require_equal(decimal(member["bytes"], kind), len(data), kind, f"bytes of {member['name']}", 0)
        require_equal(hexadecimal(member["sha256"], kind).hex(), sha256(data).hexdigest(), kind, f"SHA-256 of {member['name']}", 0)
    for name in ({"ledger"} | MANIFEST_FILTERS) & set(manifest):
        require(isinstance(manifest[name], str), kind, f"a text expected in {name}")
    for name in {"since", "before"} & set(manifest):
        require(is_written_time(manifest[name]), kind, f"a time with six digits of a second and Z expected in {name}")
    return manifest


def is_written_time(text: str) -> bool:
    """Whether it is a time since 1970 in the one form that the interface writes, in which texts are in the order of their times."""
    if not BUNDLE_TIME.fullmatch(text):
        return False
    try:
        return datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").year >= 1970
    except ValueError:
        return False


def check_bundle_events(members: dict[str, bytes], manifest: dict[str, Any], head: TreeHead) -> tuple[int, int]:
    """Each event beside its proof. Returns how many have data that is sealed under a data subject's key, and how many are said to be expired."""
    kind = "bundle"
    events, proofs = (members[name].split(b"\n") for name in ("events.ndjson", "proofs.ndjson"))
    require(events.pop() == b"" and proofs.pop() == b"", kind, "lines expected that end in a line feed")
    require_equal(len(events), decimal(manifest["events"], kind), kind, "events", 0)
    require_equal(len(proofs), len(events), kind, "proofs", 0)
    require(len(events) > 0, kind, "an event expected")
    after, until = decimal(manifest["after"], kind), decimal(manifest["until"], kind)
    first, last, before = decimal(manifest["first"], kind), decimal(manifest["last"], kind), after
    sealed = expired = 0
    whole = not MANIFEST_FILTERS & set(manifest)
    by_time = not {"session", "run"} & set(manifest)
    for line, proof in zip(events, proofs):
        position = check_bundle_event(line, proof, manifest, head)
        require(position > before and position <= until, kind, f"position {position} is not in its place")
        if position != before + 1 and (whole or (by_time and before != after)):
            raise Fault(kind, f"position {before + 1} is missing")
        sealed += is_sealed(proof)
        expired += "record" not in read_object(proof, kind)
        before = position
    require_equal((position_of(proofs[0]), before), (first, last), kind, "first and last position", 0)
    require(not whole or last == until, kind, f"the range ends at {last}, expected {until}")
    return sealed, expired


def position_of(proof: bytes) -> int:
    return decimal(read_object(proof, "bundle")["position"], "bundle")


def is_sealed(proof: bytes) -> bool:
    record = read_object(proof, "bundle").get("record")
    return record is not None and Record.read(from_base64(record, "bundle")).seal is not None


def check_bundle_event(line: bytes, proof: bytes, manifest: dict[str, Any], head: TreeHead) -> int:
    """One event: its leaf is in the tree, its record gives the commitment, and the line says what the record says."""
    kind = "bundle"
    opened = read_object(proof, kind)
    is_expired = list(opened) == EXPIRED_PROOF_MEMBERS
    require_equal(list(opened), EXPIRED_PROOF_MEMBERS if is_expired else PROOF_MEMBERS, kind, "members of a proof", 0)
    require(isinstance(opened["proof"], list) and all(isinstance(text, str) for text in opened["proof"]), kind, "a list of texts expected in proof")
    position, time = decimal(opened["position"], kind), decimal(opened["time"], kind)
    commitment = hexadecimal(opened["commitment"], kind)
    check_inclusion(position, position.to_bytes(8, "big") + time.to_bytes(8, "big") + commitment, opened["proof"], head)
    if not is_expired:
        blind = hexadecimal(opened["blind"], kind)
        require(isinstance(opened["record"], str), kind, "a text expected in record")
        record = from_base64(opened["record"], kind)
        require_equal(blake3(record, key=blind).hexdigest(), commitment.hex(), "commitment", f"commitment of position {position}", 0)

    decode_text(line, kind)
    before_event, mark, text = line.partition(b',"event":')
    require(mark != b"" and text.endswith(b"}}"), kind, f"an event expected at position {position}")
    shown_event, text = read_object(before_event + b"}", kind), text[:-1]
    redactions, event, is_whole, texts = (0, expired_event(text), True, {}) if is_expired else event_of_record(record)
    marks = [mark for mark in ["derived", "erased", "erasedBy", "unreadable"] if mark in shown_event]
    if is_expired:
        marks = [mark for mark in ["derived"] if mark in shown_event] + ["expiredBy"]
    expected = [*EVENT_MEMBERS, *marks, *(["redactions"] if redactions else [])]
    require_equal(list(shown_event), expected, kind, f"members of the event at position {position}", 0)
    require(all(shown_event[mark] is True for mark in EVENT_MARKS if mark in shown_event), kind, "a mark that is true expected")
    if "erasedBy" in shown_event:
        require("erased" in shown_event, kind, "erasedBy beside erased expected")
        decimal(shown_event["erasedBy"], kind)
    if is_expired:
        decimal(shown_event["expiredBy"], kind)
    decimal(shown_event["streamVersion"], kind)
    require(type(shown_event.get("redactions", 0)) is int, kind, "a whole number expected in redactions")
    found = (shown_event["position"], shown_event["recordedAt"], shown_event["commitment"], shown_event.get("redactions", 0))
    require_equal(found, (str(position), written_time(time), commitment.hex(), redactions), kind, f"what is said of position {position}", 0)
    says_the_same = text == event if is_whole else text.startswith(event) and text[len(event) :][:1] in (b",", b"}")
    require(says_the_same, kind, f"the event at position {position} is not what its record says")
    if not is_whole:
        require_plain(read_object(text, kind), MAX_EVENT_DEPTH)
    for name in ("session", "run"):
        if name in manifest:
            require(texts.get(name) == manifest[name], kind, f"position {position} is of another {name}")
    if "since" in manifest:
        require(written_time(time) >= manifest["since"], kind, f"position {position} is before the time that was asked for")
    if "before" in manifest:
        require(written_time(time) < manifest["before"], kind, f"position {position} is past the time that was asked for")
    return position


def expired_event(text: bytes) -> bytes:
    """The event of this text as the interface writes one whose content expired. Nothing proves what it says."""
    event = read_object(text, "bundle")
    require_equal(list(event), EXPIRED_EVENT_MEMBERS, "bundle", "members of an expired event", 0)
    require(all(isinstance(value, str) for value in event.values()), "bundle", "texts expected in an expired event")
    rest = ",".join(f'"{name}":{json_text(event[name])}' for name in EXPIRED_EVENT_MEMBERS[1:])
    return ('{"specversion":"1.0",' + rest + "}").encode("utf-8", "surrogatepass")


def require_plain(value: Any, depth: int) -> None:
    """Refuses what readers of JSON do not agree about. Members that are there twice were refused when it was read."""
    if isinstance(value, (dict, list)):
        require(depth > 0, "bundle", f"at most {MAX_EVENT_DEPTH} objects and lists within one another expected")
        for inner in [*value, *value.values()] if isinstance(value, dict) else value:
            require_plain(inner, depth - 1)
    elif isinstance(value, str):
        require(not any("\ud800" <= letter <= "\udfff" for letter in value), "bundle", "texts without lone surrogates expected")
    elif isinstance(value, (int, float)):
        require(abs(value) <= sys.float_info.max, "bundle", "numbers expected that a double holds")


def written_time(micros: int) -> str:
    """A time as the interface writes it: RFC 3339 in UTC, six digits behind the second."""
    try:
        time = datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(microseconds=micros)
    except OverflowError:
        raise Fault("bundle", "a time in the calendar expected") from None
    return time.strftime("%Y-%m-%dT%H:%M:%S.") + f"{time.microsecond:06}Z"


def event_of_record(data: bytes) -> tuple[int, bytes, bool, dict[str, str]]:
    """How many secrets were taken out, and the event as the interface writes it in one line. Where data is sealed, only the beginning of it. With its texts."""
    try:
        fields = Fields(data)
        require(fields.byte() == 1, "record", "a record of format 1 expected")
        parts = ['{"specversion":"1.0"']
        parts += [f',"{name}":{json_text(fields.text())}' for name in ("id", "source", "type", "subject")]
        texts: dict[str, str] = {}
        for name in RECORD_TEXTS:
            if fields.tag(2):
                texts[name] = fields.text()
                parts.append(f',"{name}":{json_text(texts[name])}')
        tags = [fields.text() for _ in range(fields.number())]
        rest = [f',"tags":{json_text(" ".join(tags))}'] if tags else []
        for _ in range(fields.number()):
            name = json_text(fields.text())
            rest.append(f",{name}:{extension_value(fields)}")
        tag, content = fields.tag(5), b""
        if tag == 4:  # expired: the position of the policy, and the commitment
            fields.number()
            fields.take(HASH_BYTES)
        elif tag == 3:
            fields.take(16 + HASH_BYTES)
            return fields.number(), "".join(parts).encode(), False, texts
        if tag == 1:
            content = b',"data":' + fields.take(fields.number()).translate(LINE_BREAKS)
        elif tag == 2:
            content = b',"data_base64":"' + b64encode(fields.take(fields.number())) + b'"'
        return fields.number(), "".join(parts + rest).encode() + content + b"}", True, texts
    except (ValueError, UnicodeDecodeError) as error:
        raise Fault("record", f"a record expected: {error}") from None


LINE_BREAKS = bytes.maketrans(b"\n\r", b"  ")
ESCAPED = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def json_text(text: str) -> str:
    """A text as the interface writes it: only what JSON must have escaped is."""
    return '"' + "".join(ESCAPED.get(letter) or (f"\\u{ord(letter):04x}" if letter < " " else letter) for letter in text) + '"'


def extension_value(fields: "Fields") -> str:
    kind = fields.tag(3)
    if kind == 0:
        return json_text(fields.text())
    if kind == 1:
        number = fields.number()
        return str(-(number + 1) // 2 if number & 1 else number // 2)
    return "true" if fields.tag(2) else "false"


def decimal(text: object, kind: str) -> int:
    if not isinstance(text, str) or not DECIMAL.fullmatch(text) or int(text) >= 2**64:
        raise Fault(kind, f"found {text!r}, expected a decimal number")
    return int(text)


def hexadecimal(text: object, kind: str) -> bytes:
    if not isinstance(text, str) or not re.fullmatch("[0-9a-f]{64}", text):
        raise Fault(kind, f"found {text!r}, expected 64 hexadecimal digits")
    return bytes.fromhex(text)


def from_base64(text: str, kind: str) -> bytes:
    try:
        return strict_base64(text)
    except ValueError as error:
        raise Fault(kind, f"base64 expected: {error}") from None


# ---- A record (record.md), as far as it has to be understood here


@dataclass
class Record:
    """What a record says of itself."""

    id: str
    source: str
    type: str
    stream: str
    json: Optional[bytes]
    seal: Optional[bytes]

    @staticmethod
    def read(data: bytes) -> "Record":
        """The whole record, every byte of it."""
        try:
            fields = Fields(data)
            require(fields.byte() == 1, "record", "a record of format 1 expected")
            texts = [fields.text() for _ in range(4)]
            for _ in range(11):  # time, then datacontenttype to traceparent
                if fields.tag(2):
                    fields.text()
            for _ in range(fields.number()):  # tags
                fields.text()
            for _ in range(fields.number()):  # extensions
                fields.text()
                fields.value()
            json_data = seal = None
            data_tag = fields.tag(5)
            if data_tag == 4:
                require(fields.number() > 0, "record", "the position of a policy expected")
                fields.take(HASH_BYTES)
            elif data_tag == 3:
                seal = fields.take(16 + HASH_BYTES)[16:]
            elif data_tag > 0:
                content = fields.take(fields.number())
                json_data = content if data_tag == 1 else None
            fields.number()  # redactions
            fields.end()
        except ValueError as error:
            raise Fault("record", f"a record expected: {error}") from None
        return Record(texts[0], texts[1], texts[2], texts[3], json_data, seal)


def read_part(data: bytes) -> None:
    """The form of a sensitive part."""
    try:
        fields = Fields(data)
        require(fields.byte() == 1, "record", "a part of format 1 expected")
        fields.text()  # data subject
        if fields.tag(3) > 0:
            fields.take(fields.number())
        fields.end()
    except ValueError as error:
        raise Fault("record", f"a part expected: {error}") from None


class Fields:
    """Bytes as bincode lays them out."""

    WIDER = {251: 2, 252: 4, 253: 8}

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data, self.at = data, at

    def take(self, count: int) -> bytes:
        taken = self.data[self.at : self.at + count]
        if len(taken) != count:
            raise ValueError("it ends too early")
        self.at += count
        return taken

    def fixed(self, width: int) -> int:
        """A number of fixed width, as everywhere outside records."""
        return int.from_bytes(self.take(width), "little")

    def byte(self) -> int:
        return self.take(1)[0]

    def tag(self, below: int) -> int:
        tag = self.byte()
        if tag >= below:
            raise ValueError(f"tag {tag} is not known")
        return tag

    def number(self) -> int:
        first = self.byte()
        if first > 253:
            raise ValueError(f"{first} begins no number")
        return int.from_bytes(self.take(self.WIDER[first]), "little") if first > 250 else first

    def text(self) -> str:
        return self.take(self.number()).decode("utf-8")

    def value(self) -> None:
        """Of an extension: text, integer or boolean."""
        kind = self.tag(3)
        if kind == 0:
            self.text()
        elif kind == 1:
            self.number()
        else:
            self.tag(2)

    def end(self) -> None:
        if self.at != len(self.data):
            raise ValueError("there is more behind it")


# ---- Files (folder.md)


def segment_name(number: int) -> str:
    return f"segments/{number:010}.seg"


def segment_numbers(folder: str) -> set[int]:
    """The numbers of the files that are named like segments; what else lies there is nobody's evidence."""
    if not os.path.isdir(folder):
        raise Gap(f"there is no folder {folder}")
    return set(numbers_in(folder, "segments", "seg"))


def numbers_in(folder: str, under: str, ending: str) -> list[int]:
    """The numbers of the files of this kind, in order."""
    found = []
    try:
        with os.scandir(os.path.join(folder, under)) as entries:
            for count, entry in enumerate(entries):
                if count >= MAX_FOLDER_ENTRIES:
                    raise Gap(f"more than {MAX_FOLDER_ENTRIES} entries", under)
                if re.fullmatch(rf"[0-9]{{10}}\.{ending}", entry.name, re.ASCII):
                    found.append(int(entry.name[:10]))
    except FileNotFoundError:
        pass
    return sorted(number for number in found if 1 <= number <= MAX_SEGMENT_NUMBER)


def released_numbers(folder: str, numbers: set[int]) -> list[int]:
    """The segments of which only links are left: up to the last that is not there whole, with a released file for each before."""
    left = set(numbers_in(folder, "segments", "released"))
    end = 1
    while end in left:
        end += 1
    while end > 1 and end - 1 in numbers:
        end -= 1
    return list(range(1, end))


def last_used(folder: str, numbers: set[int], first: int) -> tuple[int, Optional[int]]:
    """The last segment that is not a file of zeros, of those that stand without a gap from the first one on: what stands directly
    behind it and is of zeros was made ahead. And the first number that is missing, where a later file is there, whatever it holds."""
    end = first
    while end in numbers:
        end += 1
    hole = end if any(number > end for number in numbers) else None
    for number in range(end - 1, first - 1, -1):
        file, length = open_file(folder, segment_name(number))
        if length > MAX_SEGMENT_BYTES or written_length(file, length) > 0:
            return number, hole
    raise missing(hole or first)


def missing(number: int) -> Fault:
    return Fault("missing", "found none, expected a segment", file=segment_name(number))


def open_file(folder: str, name: str) -> tuple[BinaryIO, int]:
    """A regular file and its length. Nothing is waited for, and nothing followed."""
    try:
        descriptor = os.open(os.path.join(folder, name), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        status = os.fstat(descriptor)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise Gap(f"cannot be read: {error.strerror}", name) from None
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise Gap("is no regular file", name)
    return os.fdopen(descriptor, "rb", buffering=0), status.st_size


def read_file(folder: str, name: str, limit: int) -> bytes:
    file, length = open_file(folder, name)
    require(length <= limit, "size", f"found {length} bytes, expected at most {limit}")
    with file:
        return read_at(file, 0, length)


def read_at(file: BinaryIO, offset: int, length: int) -> bytes:
    """So many bytes, or an OSError where the file has become shorter."""
    pieces = []
    while length > 0:
        piece = os.pread(file.fileno(), length, offset)
        if not piece:
            raise Gap("became shorter while it was read")
        pieces.append(piece)
        offset, length = offset + len(piece), length - len(piece)
    return b"".join(pieces)


# ---- What is said


def as_json(answer: Answer) -> str:
    fault, log = answer.fault, answer.log
    gap = answer.gaps[0] if answer.gaps else None
    told: dict[str, Any] = {"verdict": VERDICTS[answer.verdict()], "file": None, "offset": None, "kind": None, "what": None}
    if fault is not None:
        told.update(file=fault.file, offset=fault.offset, kind=fault.kind, what=fault.what)
    elif gap is not None:
        told.update(file=gap.file, kind="gap", what=gap.what)
    told.update(segments=log.segments, released=log.released, frames=log.frames, signatures=log.signatures, heads=answer.heads, notes=answer.notes)
    told.update(cosigned=answer.cosigned, witnessed=answer.witnessed)
    told["generations"] = [{"generation": generation, "firstPosition": first} for generation, first in log.generations]
    told["head"] = {"position": log.tree_size, "hash": log.head.hex(), "treeRoot": log.tree_root.hex(), "time": log.time}
    return json.dumps(told)


def as_text(answer: Answer) -> str:
    log = answer.log
    lines = [f"{VERDICTS[answer.verdict()]}"]
    if answer.fault is not None:
        fault = answer.fault
        lines.append(f"fault       {fault.file} at byte {fault.offset}: {fault.what} ({fault.kind})")
    lines += [f"incomplete  {gap.file + ': ' if gap.file else ''}{gap.what}" for gap in answer.gaps]
    lines += [f"note        {note}" for note in answer.notes]
    if log.segments == 0:
        return "\n".join(lines)
    lines.append(f"checked     {log.segments} segments, {log.frames} frames, {log.signatures} signatures, {answer.heads} tree heads")
    if answer.cosigned:
        after = log.tree_size - answer.witnessed
        told = f"enough of your witnesses at size {answer.witnessed}, {after} events before the end" if answer.witnessed else "nobody whom you named"
        lines.append(f"cosigned    {answer.cosigned} heads, the largest by {told}")
    lines.append(f"head        position {log.tree_size}, chain hash {log.head.hex()}, tree root {log.tree_root.hex()}")
    return "\n".join(lines)


def printable(text: str) -> str:
    """The text with what would steer a terminal escaped."""
    return "\n".join(STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", line) for line in text.split("\n"))


def main() -> int:
    parser = argparse.ArgumentParser(description="Verifies a ledger's folder, or evidence of one event, without the ledger's keys.")
    parser.add_argument("path", nargs="?", help="a ledger's folder, <data>/ledgers/<name>; with --evidence a file of it")
    parser.add_argument("--evidence", action="store_true", help="it is evidence of one event, or a receipt")
    parser.add_argument("--archives", help="the folder of the ledger's archives; `archives` in the data folder where it is not told")
    parser.add_argument("--bundle", action="store_true", help="it is an evidence bundle")
    parser.add_argument("--archive", action="store_true", help="it is an archive by itself")
    parser.add_argument("--vkey", action="append", default=[], help="a verifier key of the ledger, known from elsewhere")
    parser.add_argument("--known-head", action="append", default=[], help="a file with a tree head of the ledger, kept elsewhere")
    parser.add_argument("--witnesses", help="a file with a policy: who may cosign heads, and how many must have")
    parser.add_argument("--json", action="store_true", help="answers with one line of JSON")
    parser.add_argument("--require-leaves", action="store_true", help="leaves that are missing make it incomplete")
    parser.add_argument("--each", action="store_true", help="reads paths from stdin, answers each with a line of JSON")
    arguments = parser.parse_args()
    if arguments.each == (arguments.path is not None):
        parser.error("a path, or --each, is needed")
    try:
        trusted = [VerifierKey.parse(key) for key in arguments.vkey]
    except ValueError as error:
        parser.error(f"--vkey: {error}")

    policy = None
    if arguments.witnesses is not None:
        try:
            folder, name = os.path.split(os.path.abspath(arguments.witnesses))
            policy = Policy(read_file(folder, name, MAX_POLICY_BYTES))
        except (Fault, Gap, OSError, ValueError) as error:
            parser.error(f"--witnesses: {error}")
        if not policy.asks_for_witnesses():
            parser.error("--witnesses: the policy asks for no witness")

    def verify(path: str) -> Answer:
        if arguments.evidence:
            return verify_evidence(path, trusted, policy)
        if arguments.bundle:
            return verify_bundle(path, trusted, policy)
        if arguments.archive:
            return verify_archive(path)
        store = arguments.archives or os.path.join(path, "..", "..", "archives")
        return verify_ledger(path, store, arguments.require_leaves, trusted, arguments.known_head, policy)

    if arguments.each:
        for line in sys.stdin:
            print(as_json(verify(line.rstrip("\n"))), flush=True)
        return 0
    answer = verify(arguments.path)
    print(as_json(answer) if arguments.json else printable(as_text(answer)))
    return answer.verdict()


if __name__ == "__main__":
    sys.exit(main())
