#!/usr/bin/env python3
"""Opens a keyring's file under a passphrase, written from docs/formats/passphrase.md alone.

Usage: open_keyring.py FILE PASSPHRASE
Prints the text to stdout. Ends with 1 and a line on stderr where the file is none, or does not open.
"""

import hashlib
import struct
import sys

try:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
except ImportError as missing:
    sys.exit(f"{missing}: install tests/second/requirements.txt; nothing was opened")

HEADER = struct.Struct("<8sHBBBB16s12s")
TAG_BYTES = 16
MAX_TEXT_BYTES = 512 * 1024


def open_file(file: bytes, passphrase: str) -> bytes:
    if not HEADER.size + TAG_BYTES <= len(file) <= HEADER.size + MAX_TEXT_BYTES + TAG_BYTES:
        raise ValueError("length")
    magic, version, log_n, r, p, reserved, salt, nonce = HEADER.unpack_from(file)
    if (magic, version, reserved) != (b"BITACPWD", 1, 0):
        raise ValueError("magic, format or reserved byte")
    if not (10 <= log_n <= 20 and r == 8 and 1 <= p <= 4):
        raise ValueError("parameters of scrypt")
    memory = 128 * r * ((1 << log_n) + p + 2) + (1 << 20)
    key = hashlib.scrypt(passphrase.encode(), salt=salt, n=1 << log_n, r=r, p=p, maxmem=memory, dklen=32)
    try:
        return AESGCM(key).decrypt(nonce, file[HEADER.size:], file[:HEADER.size])
    except InvalidTag:
        raise ValueError("tag") from None


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[1], "rb") as opened:
        content = opened.read()
    try:
        sys.stdout.buffer.write(open_file(content, sys.argv[2]))
    except ValueError as wrong:
        sys.exit(f"{sys.argv[1]}: {wrong}; nothing was opened")
