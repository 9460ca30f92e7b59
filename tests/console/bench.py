#!/usr/bin/env python3
"""Measures the console: the time of each page at many events, and what open pages cost appends.

    tests/console/bench.py [--events 1000000] [--folder FOLDER] [--rounds 300] [--browsers 200] [--pairs 5]

BITACORA_PROGRAM names the program; without it target/release/bitacora is taken. With --folder the data folder of an earlier run is used
again. It needs nothing but Python. It prints one line a page, with its bytes before and after compression, then the pairs.

An open page of the pairs does what `console/assets/console.js` does: it reads the stream of changes, and asks for itself again at the pace
that the service names. All of them are in the foreground.
"""

import argparse
import asyncio
import gzip
import http.client
import json
import os
import random
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
APPEND_S = 8.0
APPENDERS = 4
PROMISED_MS = 50.0
GZIP = b"\x1f\x8b"
PAGES = (
    "now", "approvals", "sessions", "sessions/demo-coder", "runs", "calls", "calls?verdict=deny", "calls?agent=coder-9&outcome=error",
    "calls/demo-coder-edit", "events?type=tool.failed", "trust", "policy", "policy/versions/1", "costs", "evidence", "admin",
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
        print(f"{'page':36} {'bytes':>8} {'sent':>8} {'p50 ms':>8} {'p99 ms':>8} {'max ms':>8}")
        worst = 0.0
        connection = self.connection()
        for page in PAGES:
            path, times, size, sent, status = f"/console/main/{page}", [], 0, 0, 0
            for number in range(rounds + 20):
                began = time.perf_counter()
                status, body = self.get(path, connection, cookie=self.cookie, **{"accept-encoding": "gzip"})
                if number >= 20:
                    times.append((time.perf_counter() - began) * 1000)
                sent = len(body)
                size = len(gzip.decompress(body)) if body.startswith(GZIP) else sent
                if status != 200:
                    break
            if status != 200:
                print(f"{page:36} status {status}")
                continue
            times.sort()
            p99 = times[min(len(times) - 1, len(times) * 99 // 100)]
            worst = max(worst, p99)
            late = " over" if p99 > PROMISED_MS else ""
            print(f"{page:36} {size:8} {sent:8} {statistics.median(times):8.2f} {p99:8.2f} {times[-1]:8.2f}{late}")
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

    def busy_s(self):
        """The processor's seconds that the service has taken."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(") ", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def pairs(self, pairs, browsers):
        print(f"\nappends of one event by {APPENDERS} callers, {APPEND_S:.0f} s each, without and with {browsers} pages open")
        print(f"{'pair':>4} {'without/s':>10} {'with/s':>10} {'ratio':>7} {'p50 ms':>16} {'p99 ms':>16} {'us an event':>16} "
              f"{'told':>7} {'asked':>6} {'p99 ms':>8} {'browsers s':>10}")
        ratios = []
        stamp = int(time.time())
        for pair in range(pairs):
            measured, spent = {}, {}
            # Each goes first every other time.
            for follows in (False, True) if pair % 2 == 0 else (True, False):
                following = self.followers(browsers) if follows else None
                if following and following.stdout.readline().strip() != "following":
                    raise SystemExit("not all browsers could follow")
                before = self.busy_s()
                measured[follows] = self.append(APPEND_S, f"{stamp}-{pair}-{follows}")
                spent[follows] = (self.busy_s() - before) / (measured[follows][0] * APPEND_S) * 1e6
                if following:
                    following.send_signal(signal.SIGTERM)
                    told = json.loads(following.communicate()[0].strip().splitlines()[-1])
            without, with_them = measured[False], measured[True]
            ratios.append(with_them[0] / without[0])
            print(f"{pair + 1:4} {without[0]:10.0f} {with_them[0]:10.0f} {ratios[-1]:7.3f} "
                  f"{without[1]:7.2f} {with_them[1]:8.2f} {without[2]:7.2f} {with_them[2]:8.2f} {spent[False]:7.0f} {spent[True]:8.0f} "
                  f"{told['told']:7} {told['asked']:6} {told['p99_ms']:8.1f} {told['own_s']:10.2f}")
            if told["failures"]:
                raise SystemExit(f"{told['failures']} pages were not answered")
        print(f"median ratio {statistics.median(ratios):.3f}")

    def close(self):
        self.process.terminate()
        self.process.wait(60)
        if not self.is_kept:
            shutil.rmtree(self.folder, ignore_errors=True)


class OpenPage:
    """A page that is open in a browser, as far as the service notices."""

    quiet_s, shortest_pace_s, slowest_s = 0.25, 5.0, 30.0
    urgent = re.compile(r"^(approval|breaker|panic|mode|agent)\.|^budget\.exceeded$")

    def __init__(self, port, cookie, page):
        self.port, self.page = port, page
        self.head = f"Host: 127.0.0.1:{port}\r\nCookie: {cookie}\r\n"
        self.asked, self.waiting, self.waits_urgently = 0.0, None, False
        self.told, self.times, self.failures = 0, [], 0

    async def open(self):
        self.stream, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(f"GET /console/main/live HTTP/1.1\r\n{self.head}Accept: text/event-stream\r\n\r\n".encode())
        status = await self.stream.readline()
        if b" 200 " not in status:
            raise SystemExit(status.decode())
        self.writer = writer

    async def follow(self):
        while line := await self.stream.readline():
            if line.startswith(b"data: "):
                self.told += 1
                self.changed(json.loads(line[6:]))

    def changed(self, change):
        pace = change.get("pace", self.shortest_pace_s * 1000) / 1000
        spread = random.random() * (pace - self.shortest_pace_s)
        is_urgent = any(self.urgent.match(kind) for kind in change["types"])
        if self.waiting and is_urgent and not self.waits_urgently:
            self.waiting.cancel()
            self.waiting = None
        if not self.waiting:
            soon, later = (self.quiet_s + spread / 10, pace / 5) if is_urgent else (self.quiet_s + spread, pace + spread / 4)
            self.waits_urgently = is_urgent
            self.waiting = asyncio.create_task(self.refresh(max(soon, self.asked + later - time.monotonic())))

    async def refresh(self, pause):
        await asyncio.sleep(pause)
        self.waiting, self.asked = None, time.monotonic()
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
            writer.write(f"GET {self.page} HTTP/1.1\r\n{self.head}Accept-Encoding: gzip\r\nSec-Fetch-Site: same-origin\r\nSec-Fetch-Dest: empty\r\nConnection: close\r\n\r\n".encode())
            answer = await asyncio.wait_for(reader.read(), self.slowest_s)
            writer.close()
            self.failures += b" 200 " not in answer[:20]
            self.times.append((time.monotonic() - self.asked) * 1000)
        except (OSError, asyncio.TimeoutError):
            self.failures += 1


async def follow(browsers, port, cookie):
    """Keeps so many pages open until it is told to end."""
    pages = [OpenPage(port, cookie, "/console/main/now") for _ in range(browsers)]
    for page in pages:
        await page.open()
    following = [asyncio.create_task(page.follow()) for page in pages]
    is_over = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, is_over.set)
    print("following", flush=True)
    await is_over.wait()
    times = sorted(time for page in pages for time in page.times)
    own = sum(os.times()[:2])
    print(json.dumps({
        "told": sum(page.told for page in pages), "asked": len(times), "failures": sum(page.failures for page in pages),
        "p99_ms": times[len(times) * 99 // 100] if times else 0.0, "own_s": own,
    }))
    for task in following:
        task.cancel()


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
        return asyncio.run(follow(asked.follow, asked.port, asked.cookie))
    bench = Bench(asked.folder, asked.events)
    try:
        bench.pages(asked.rounds)
        if asked.pairs:
            bench.pairs(asked.pairs, asked.browsers)
    finally:
        bench.close()


if __name__ == "__main__":
    main()
