"""Saves the same threads with LangGraph's SQLite saver and with Bitacora, and prints what each takes on the disk.

Each step puts one checkpoint, and behind it what one task wrote. Sizes are those of all files after a clean end. Bitacora is told of
the writes once with the checkpoint that came of them, which makes one request a step, and once by themselves, which makes two.
"""

import base64
import http.client
import json
import os
import random
import subprocess
import sys
import uuid
from pathlib import Path

from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.base.id import uuid6
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite import SqliteSaver

PROGRAM, PLACE, STEPS, THREADS = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
WORDS = "the agent reads a file and writes what it found into another one before somebody asks why".split()


def text(dice, size):
    words = []
    while sum(len(word) + 1 for word in words) < size:
        words.append(dice.choice(WORDS) + str(dice.randrange(100)))
    return " ".join(words)[:size]


def eight(dice, step, before):
    """Seven channels that stay (24.7 kB in all), one that changes (400 bytes)."""
    sizes = {"system": 6000, "tools": 9000, "plan": 2000, "memory": 4000, "files": 3000, "config": 500, "user": 200}
    values = before or {name: text(dice, size) for name, size in sizes.items()}
    return {**values, "messages": text(dice, 400)}, {"messages"} if before else {*sizes, "messages"}


def small(dice, step, before):
    """Three channels that stay (600 bytes in all), one that changes (100 bytes)."""
    sizes = {"plan": 300, "config": 200, "user": 100}
    values = before or {name: text(dice, size) for name, size in sizes.items()}
    return {**values, "messages": text(dice, 100)}, {"messages"} if before else {*sizes, "messages"}


def growing(dice, step, before):
    """A list of messages that grows by 500 bytes, beside three channels that stay (6 kB in all)."""
    sizes = {"system": 4000, "plan": 1500, "config": 500}
    values = before or {name: text(dice, size) for name, size in sizes.items()}
    messages = [*values.get("messages", []), {"type": "ai", "content": text(dice, 460), "id": str(step)}]
    return {**values, "messages": messages}, {"messages"} if before else {*sizes, "messages"}


def steps(shape, thread):
    dice, values, versions, seen, parent = random.Random(f"{shape.__name__}{thread}"), None, {}, {}, None
    for step in range(STEPS):
        values, changed = shape(dice, step, values)
        for name in changed:
            versions = {**versions, name: f"{step + 1:032}.{dice.random():.16f}"}
        seen = {"agent": {"messages": versions["messages"]}, "__input__": {}}
        checkpoint = empty_checkpoint()
        checkpoint.update(id=str(uuid6(clock_seq=step)), channel_values=values, channel_versions=versions, versions_seen=seen)
        metadata = {"source": "loop", "step": step, "parents": {}, "run_id": str(uuid.UUID(int=thread + 1))}
        writes = [("messages", text(dice, 200)), ("branch:to:agent", None)]
        yield checkpoint, metadata, {name: versions[name] for name in changed}, writes, str(uuid.UUID(int=dice.getrandbits(128))), parent
        parent = checkpoint["id"]


def size(folder):
    # What is taken of the disk: the store of read models has a journal whose room is announced and not yet used.
    files = [file.stat() for file in Path(folder).rglob("*") if file.is_file()]
    return sum(min(file.st_size, file.st_blocks * 512) for file in files)


def sqlite(shape, folder):
    folder.mkdir()
    with SqliteSaver.from_conn_string(str(folder / "checkpoints.sqlite")) as saver:
        for thread in range(THREADS):
            for checkpoint, metadata, new, writes, task, parent in steps(shape, thread):
                config = {"configurable": {"thread_id": f"t{thread}", "checkpoint_ns": ""}}
                if parent:
                    config["configurable"]["checkpoint_id"] = parent
                saver.put_writes(saver.put(config, checkpoint, metadata, new), writes, task)
    return size(folder)


def parts(data):
    """What the log, its tree, its identities and what is derived of it take, in this order."""
    ledger = data / "ledgers" / "main"
    named = [size(ledger / part) for part in ("segments", "tree", "index", "projections")]
    return [size(data), *named]


def frames(data):
    """How many frames the log has, and what they hold beside their headers, tags, signatures and checksums."""
    number, held = 0, 0
    for segment in sorted((data / "ledgers" / "main" / "segments").glob("*.seg")):
        stored = segment.read_bytes()
        at = stored.find(b"BITF")
        while at >= 0 and stored[at:at + 4] == b"BITF":
            body = int.from_bytes(stored[at + 32:at + 36], "little")
            number, held, at = number + 1, held + body, at + 236 + body
    return number, held


def bitacora(shape, folder, at_once):
    folder.mkdir()
    command = [PROGRAM, "serve", "--create", "main", "--data", str(folder / "data"), "--keyring", str(folder / "keyring")]
    log = open(folder / "log", "w")
    command += ["--listen", "127.0.0.1:0", "--json"]
    home = {**os.environ, "HOME": str(folder), "XDG_STATE_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    service = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=home)
    [address] = json.loads(service.stdout.readline())["listening"]
    connection = http.client.HTTPConnection(address.removeprefix("http://"))
    token = (folder / "keyring.admin-token").read_text().strip()
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
    serde = JsonPlusSerializer()

    def post(path, body):
        connection.request("POST", f"/v1/ledgers/main/{path}", json.dumps(body), headers)
        answer = connection.getresponse()
        said = answer.read()
        assert answer.status == 200, said

    def packed(value):
        encoding, content = serde.dumps_typed(value)
        return {"encoding": encoding, "base64": base64.b64encode(content).decode()}

    for thread in range(THREADS):
        waiting = None
        for checkpoint, metadata, new, writes, task, parent in steps(shape, thread):
            values = {name: packed(checkpoint["channel_values"][name]) for name in new}
            document = {name: checkpoint[name] for name in ("v", "ts", "versions_seen", "updated_channels")}
            body = {"checkpoint": checkpoint["id"], "parent": parent, "metadata": metadata, "document": document,
                    "channelVersions": checkpoint["channel_versions"], "values": values}
            told = {"task": task, "writes": [{"channel": channel, "value": packed(value)} for channel, value in writes]}
            if waiting:
                body["writes"] = [waiting]
            post(f"checkpoints/t{thread}:save", body)
            if at_once:
                waiting = told
            else:
                post(f"checkpoints/t{thread}:writes", {"checkpoint": checkpoint["id"], **told})
        if waiting:
            post(f"checkpoints/t{thread}:writes", {"checkpoint": checkpoint["id"], **waiting})
    connection.request("GET", "/v1/ledgers/main/checkpoints/t0", headers=headers)
    found = json.loads(connection.getresponse().read())
    held = {name: serde.loads_typed((value["encoding"], base64.b64decode(value["base64"]))) for name, value in found["values"].items()}
    assert held == [step for step in steps(shape, 0)][-1][0]["channel_values"], "what was saved is found"
    service.terminate()
    assert service.wait(60) == 0
    return parts(folder / "data"), frames(folder / "data")


print(f"{THREADS} threads of {STEPS} steps, bytes for each thread\n")
print("| shape | requests a step | SQLite saver | Bitacora | share | segments | frames | in frames | tree | identities | derived |")
print("|---|---|---|---|---|---|---|---|---|---|---|")
for shape in [shape for shape in (eight, small, growing) if len(sys.argv) < 6 or shape.__name__ in sys.argv[5:]]:
    theirs = sqlite(shape, PLACE / f"{shape.__name__}-sqlite")
    for requests in (1, 2):
        (ours, log, tree, index, derived), (number, held) = bitacora(shape, PLACE / f"{shape.__name__}-{requests}", requests == 1)
        row = [f"{of / THREADS:,.0f}" for of in (log, number, held, tree, index, derived)]
        print(f"| {shape.__doc__.strip().rstrip('.')} | {requests} | {theirs / THREADS:,.0f} | {ours / THREADS:,.0f} | {ours / theirs:.2f} | {' | '.join(row)} |", flush=True)
