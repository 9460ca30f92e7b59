#!/usr/bin/env python3
"""Measures the console: the time of each page at many events, and what browsers that follow cost appends.

    tests/console/bench.py [--events 1000000] [--folder FOLDER] [--rounds 300] [--browsers 200] [--pairs 5]

BITACORA_PROGRAM names the program; without it target/release/bitacora is taken. With --folder the data folder of an earlier run is used
again. It needs nothing but Python. It prints one line a page, then the pairs.
"""

import argparse
import http.client
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from service import program

FED_AT_MOST = 500_000
BATCH = 500
APPEND_S = 4.0
APPENDERS = 4
PROMISED_MS = 50.0
PAGES = (
    "now", "approvals", "sessions", "sessions/demo-coder", "runs", "calls", "calls?verdict=deny", "calls?agent=coder-9&outcome=error",
    "calls/demo-coder-edit", "events?type=tool.failed", "trust", "policy", "policy/1", "costs", "evidence", "admin",
)


class Bench:
    def __init__(self, folder, events):
        self.folder = Path(folder or tempfile.mkdtemp(prefix="bitacora-bench-"))
        self.is_kept = bool(folder)
        self.data, self.keyring = self.folder / "made" / "data", self.folder / "made" / "keyring"
        if not self.data.exists():
            self.fill(events)
        log = (self.folder / "log").open("wb")
        command = (program(), "serve", "--data", self.data, "--keyring", self.keyring, "--listen", "127.0.0.1:0")
        self.process = subprocess.Popen(command, stdout=log, stderr=log)
        self.port = self.wait(lambda: re.search(r"http://127\.0\.0\.1:(\d+)", (self.folder / "log").read_text()))
        self.port = int(self.port[1])
        self.token = (self.folder / "made" / "keyring.admin-token").read_text().strip()
        self.wait(lambda: self.get("/readyz")[0] == 200, 600)
        self.cookie = self.sign_in()

    def wait(self, what, patience=60):
        until = time.monotonic() + patience
        while time.monotonic() < until:
            try:
                if found := what():
                    return found
            except OSError:
                pass
            time.sleep(0.2)
        raise SystemExit("the service did not get ready; see " + str(self.folder / "log"))

    def fill(self, events):
        made = self.folder / "made"
        fed = min(events * 10 // 16, FED_AT_MOST)
        command = (program(), "quickstart", "--exit", "--json", "--folder", made, "--events", str(fed), "--listen", "127.0.0.1:0")
        head = int(json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["head"]["position"])
        missing = max(0, events - head)
        lines = (
            json.dumps({"specversion": "1.0", "id": f"b{number}", "source": "bench", "type": "x.measured",
                        "subject": f"bench/{number % 1000}", "data": {"number": number, "words": "as many as a line has"}})
            for number in range(missing)
        )
        appending = subprocess.Popen(
            (program(), "append", "--data", self.data, "--keyring", self.keyring, "-"), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
            text=True,
        )
        for line in lines:
            appending.stdin.write(line + "\n")
        appending.stdin.close()
        if appending.wait():
            raise SystemExit("the ledger was not filled")

    def connection(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def get(self, path, connection=None, **headers):
        connection = connection or self.connection()
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read()

    def sign_in(self):
        connection = self.connection()
        form = urllib.parse.urlencode({"token": self.token, "next": "/console"})
        connection.request("POST", "/console/sign-in", form, {"content-type": "application/x-www-form-urlencoded"})
        answer = connection.getresponse()
        answer.read()
        return answer.getheader("set-cookie").split(";")[0]

    def head(self):
        _, body = self.get("/v1/ledgers/main/head", authorization=f"Bearer {self.token}")
        return int(json.loads(body)["position"])

    def pages(self, rounds):
        """Prints the times of each page, warm, one request after another."""
        print(f"{self.head()} events; {rounds} requests a page, after 20 to warm it")
        print(f"{'page':36} {'bytes':>8} {'p50 ms':>8} {'p99 ms':>8} {'max ms':>8}")
        worst = 0.0
        connection = self.connection()
        for page in PAGES:
            path, times, size, status = f"/console/main/{page}", [], 0, 0
            for number in range(rounds + 20):
                began = time.perf_counter()
                status, body = self.get(path, connection, cookie=self.cookie)
                if number >= 20:
                    times.append((time.perf_counter() - began) * 1000)
                size = len(body)
                if status != 200:
                    break
            if status != 200:
                print(f"{page:36} status {status}")
                continue
            times.sort()
            p99 = times[min(len(times) - 1, len(times) * 99 // 100)]
            worst = max(worst, p99)
            late = " over" if p99 > PROMISED_MS else ""
            print(f"{page:36} {size:8} {statistics.median(times):8.2f} {p99:8.2f} {times[-1]:8.2f}{late}")
        print(f"slowest p99 {worst:.2f} ms, of {PROMISED_MS:.0f} ms")

    def append(self, seconds, name):
        """Appends single events by several callers; returns the rate and the latencies in ms."""
        times, lock = [], threading.Lock()
        until = time.monotonic() + seconds

        def caller(which):
            connection, own = self.connection(), []
            headers = {"authorization": f"Bearer {self.token}", "content-type": "application/cloudevents+json"}
            number = 0
            while time.monotonic() < until:
                number += 1
                event = {"specversion": "1.0", "id": f"{name}-{which}-{number}", "source": "bench", "type": "x.measured", "subject": "bench"}
                began = time.perf_counter()
                connection.request("POST", "/v1/ledgers/main/events", json.dumps(event), headers)
                answer = connection.getresponse()
                answer.read()
                if answer.status not in (200, 201):
                    raise SystemExit(f"an append was refused: {answer.status}")
                own.append((time.perf_counter() - began) * 1000)
            with lock:
                times.extend(own)

        callers = [threading.Thread(target=caller, args=(which,)) for which in range(APPENDERS)]
        for one in callers:
            one.start()
        for one in callers:
            one.join()
        times.sort()
        return len(times) / seconds, statistics.median(times), times[len(times) * 99 // 100]

    def followers(self, browsers):
        """Starts a program that follows as so many browsers do, and reads what they are sent."""
        return subprocess.Popen(
            (sys.executable, __file__, "--follow", str(browsers), "--port", str(self.port), "--cookie", self.cookie),
            stdout=subprocess.PIPE, text=True,
        )

    def pairs(self, pairs, browsers):
        print(f"\nappends of one event by {APPENDERS} callers, {APPEND_S:.0f} s each, without and with {browsers} browsers that follow")
        print(f"{'pair':>4} {'without/s':>10} {'with/s':>10} {'ratio':>7} {'p50 ms':>16} {'p99 ms':>16} {'told':>8}")
        ratios = []
        stamp = int(time.time())
        for pair in range(pairs):
            measured = {}
            # Each goes first every other time.
            for follows in (False, True) if pair % 2 == 0 else (True, False):
                following = self.followers(browsers) if follows else None
                if following and following.stdout.readline().strip() != "following":
                    raise SystemExit("not all browsers could follow")
                measured[follows] = self.append(APPEND_S, f"{stamp}-{pair}-{follows}")
                if following:
                    following.send_signal(signal.SIGTERM)
                    told = following.communicate()[0].strip().splitlines()[-1]
            without, with_them = measured[False], measured[True]
            ratios.append(with_them[0] / without[0])
            print(f"{pair + 1:4} {without[0]:10.0f} {with_them[0]:10.0f} {ratios[-1]:7.3f} "
                  f"{without[1]:7.2f} {with_them[1]:8.2f} {without[2]:7.2f} {with_them[2]:8.2f} {told:>8}")
        print(f"median ratio {statistics.median(ratios):.3f}")

    def close(self):
        self.process.terminate()
        self.process.wait(60)
        if not self.is_kept:
            shutil.rmtree(self.folder, ignore_errors=True)


def follow(browsers, port, cookie):
    """Follows the ledger as browsers do: each reads its stream."""
    import selectors
    import socket

    chosen, told = selectors.DefaultSelector(), 0
    for _ in range(browsers):
        one = socket.create_connection(("127.0.0.1", port))
        one.sendall(f"GET /console/main/live HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nCookie: {cookie}\r\nAccept: text/event-stream\r\n\r\n".encode())
        first = one.recv(4096)
        if b" 200 " not in first.split(b"\r\n")[0]:
            raise SystemExit(first.decode(errors="replace"))
        one.setblocking(False)
        chosen.register(one, selectors.EVENT_READ)
    print("following", flush=True)
    is_over = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: is_over.set())
    while not is_over.is_set():
        for key, _ in chosen.select(0.2):
            told += key.fileobj.recv(65536).count(b"\n\n")
    print(told)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--events", type=int, default=1_000_000)
    options.add_argument("--folder")
    options.add_argument("--rounds", type=int, default=300)
    options.add_argument("--browsers", type=int, default=200)
    options.add_argument("--pairs", type=int, default=5)
    options.add_argument("--follow", type=int, help=argparse.SUPPRESS)
    options.add_argument("--port", type=int, help=argparse.SUPPRESS)
    options.add_argument("--cookie", help=argparse.SUPPRESS)
    asked = options.parse_args()
    if asked.follow:
        return follow(asked.follow, asked.port, asked.cookie)
    bench = Bench(asked.folder, asked.events)
    try:
        bench.pages(asked.rounds)
        if asked.pairs:
            bench.pairs(asked.pairs, asked.browsers)
    finally:
        bench.close()


if __name__ == "__main__":
    main()
