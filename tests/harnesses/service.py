"""The service and its command line, in a scratch folder with a home of its own."""

import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

PROGRAM = Path(os.environ["BITACORA_PROGRAM"]).resolve()
HARNESSES = Path(os.environ["BITACORA_HARNESSES"]).resolve()
PATIENCE_S = 30


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Bitacora:
    """A service with a ledger, and commands for it. `home` is the home folder of the harnesses too."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="bitacora-harness-"))
        self.home = self.folder / "home"
        self.project = self.folder / "project"
        self.home.mkdir()
        self.project.mkdir()
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.process = None
        self.start()

    def environment(self, **more):
        path = f"{HARNESSES / 'node_modules/.bin'}:{os.environ['PATH']}"
        kept = {"PATH": path, "HOME": str(self.home), "TERM": "dumb", "LANG": "C.UTF-8", "BITACORA_URL": self.url}
        return kept | more

    def start(self):
        command = [
            PROGRAM, "serve", "--create", "main", "--data", self.folder / "data", "--keyring", self.folder / "keyring",
            "--listen", f"127.0.0.1:{self.port}",
        ]
        log = open(self.folder / "serve.log", "ab")
        self.process = subprocess.Popen(command, stdout=log, stderr=log, env=self.environment())
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            try:
                urllib.request.urlopen(f"{self.url}/readyz", timeout=1).read()
                return
            except OSError:
                time.sleep(0.05)
        raise TimeoutError((self.folder / "serve.log").read_text())

    def stop(self):
        if self.process:
            self.process.terminate()
            self.process.wait(PATIENCE_S)
            self.process = None

    def close(self):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def run(self, *arguments, check=True):
        token = self.folder / "keyring.admin-token"
        command = [PROGRAM, *arguments]
        environment = self.environment(BITACORA_TOKEN=token.read_text().strip())
        done = subprocess.run(
            command, env=environment, cwd=self.project, capture_output=True, text=True, timeout=PATIENCE_S * 2
        )
        if check and done.returncode:
            raise AssertionError(f"{arguments} ended with {done.returncode}: {done.stdout}{done.stderr}")
        return done

    def spawn(self, *arguments):
        """Starts a command that goes on. It has no token but those of connections."""
        log = open(self.folder / "spawned.log", "ab")
        return subprocess.Popen([PROGRAM, *arguments], env=self.environment(), cwd=self.project, stdout=log, stderr=log)

    def end(self, process):
        process.terminate()
        if process.wait(PATIENCE_S):
            raise AssertionError(f"{process.args} ended with {process.returncode}")

    def forget_positions(self):
        for file in (self.home / ".local/state/bitacora").glob("*/watch-positions"):
            file.unlink()

    def events(self, kind):
        """The events of a type, the oldest first."""
        token = (self.folder / "keyring.admin-token").read_text().strip()
        request = urllib.request.Request(
            f"{self.url}/v1/ledgers/main/events?type={kind}&limit=1000", headers={"authorization": f"Bearer {token}"}
        )
        page = json.load(urllib.request.urlopen(request, timeout=PATIENCE_S))
        return [stored["event"] for stored in page["events"]]

    def pending(self):
        """The ids of approvals that wait."""
        listed = json.loads(self.run("approvals", "--json").stdout)
        return [approval["id"] for approval in listed["approvals"]]
