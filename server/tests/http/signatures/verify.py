"""Verifies signed answers with `http-message-signatures`, an implementation of RFC 9421 that is not ours.

Usage: verify.py URL KEY TOKEN, the address of a ledger, its `answerKey`, and an agent's token. Prints a line of JSON for each
answer, as it came and with one change each: `{"request": …, "change": …, "verified": …}`.
"""

import base64
import datetime
import hashlib
import json
import sys
import urllib.error
import urllib.request
from types import SimpleNamespace

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from http_message_signatures import HTTPMessageVerifier, InvalidSignature, MappingKeyResolver, algorithms

url, key, token = sys.argv[1:]
MAX_AGE = datetime.timedelta(seconds=60)
COVERED = (
    '"@status"',
    '"content-digest"',
    '"@method";req',
    '"@path";req',
    '"@query";req',
    '"content-digest";req',
    '"authorization";req',
)
call = {"call": "c1", "tool": "fs.write", "args": {"path": "a.rs"}, "session": "s1"}
REQUESTS = [
    ("POST", "/decide", call),
    ("POST", "/decide?reuse=true", {"call": 1}),
    ("POST", "/outcome", {"call": "c1", "status": "ok"}),
    ("GET", "/calls?call=c1&limit=10", None),
    ("GET", "/approvals/none%20%C3%BC", None),
]


def digest_of(body):
    return f"sha-256=:{base64.b64encode(hashlib.sha256(body).digest()).decode()}:"


def send(method, resource, members):
    """Sends a request, and returns its answer as the library reads messages, with its body."""
    body = b"" if members is None else json.dumps(members).encode()
    headers = {"Authorization": f"Bearer {token}", "Content-Digest": digest_of(body)}
    if members is not None:
        headers["Content-Type"] = "application/json"
    sent = urllib.request.Request(url + resource, data=body or None, headers=headers, method=method)
    try:
        answer = urllib.request.urlopen(sent)
    except urllib.error.HTTPError as refused:
        answer = refused
    with answer:
        request = SimpleNamespace(method=method, url=url + resource, headers=headers)
        return SimpleNamespace(status_code=answer.status, headers=dict(answer.headers), request=request), answer.read()


def flipped(text, at):
    """Returns a text with another character at a place."""
    at %= len(text)
    return text[:at] + ("B" if text[at] == "A" else "A") + text[at + 1 :]


def verified(answer, body, public_key=key):
    resolver = MappingKeyResolver(
        public_keys={key: Ed25519PublicKey.from_public_bytes(bytes.fromhex(public_key))}, private_keys={}
    )
    verifier = HTTPMessageVerifier(signature_algorithm=algorithms.ED25519, key_resolver=resolver)
    try:
        return len(verifier.verify(answer, max_age=MAX_AGE, require_components=COVERED, body=body)) == 1
    except InvalidSignature:
        return False


def changed(answer, **changes):
    """Returns an answer with other members; those of `request` and `headers` are put into what is there."""
    request = SimpleNamespace(**vars(answer.request) | changes.pop("request", {}))
    headers = answer.headers | changes.pop("headers", {})
    return SimpleNamespace(**vars(answer) | {"request": request, "headers": headers} | changes)


def changes_of(answer, body):
    """Yields the name of each change, and the answer and its body with it."""
    headers, request = answer.headers, answer.request
    yield None, answer, body
    yield "a byte of the body", answer, bytes([body[0] ^ 1]) + body[1:]
    yield "no body", answer, b""
    other = b'{"verdict":"allow"}'
    yield "another body and its digest", changed(answer, headers={"content-digest": digest_of(other)}), other
    yield "the status", changed(answer, status_code=answer.status_code ^ 1), body
    for name, at in (("signature", 20), ("signature-input", -5)):
        yield name, changed(answer, headers={name: flipped(headers[name], at)}), body
    path, mark, query = request.url.partition("?")
    for name, value in {
        "the method": {"method": "PUT"},
        "the path": {"url": path + "x" + mark + query},
        "the ledger": {"url": request.url.replace("/ledgers/main", "/ledgers/other")},
        "the query": {"url": path + "?" + query + "x"},
        "the request's digest": {"headers": request.headers | {"Content-Digest": digest_of(b"x")}},
        "the token": {"headers": request.headers | {"Authorization": "Bearer " + flipped(token, -1)}},
    }.items():
        yield name, changed(answer, request=value), body


for method, resource, members in REQUESTS:
    answer, body = send(method, resource, members)
    answer.headers = {name.lower(): value for name, value in answer.headers.items()}
    for change, message, content in changes_of(answer, body):
        print(json.dumps({"request": f"{method} {resource}", "change": change, "verified": verified(message, content)}))
    other_key = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
    print(json.dumps({"request": f"{method} {resource}", "change": "the key", "verified": verified(answer, body, other_key)}))
