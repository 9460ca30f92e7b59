"""A real service in a scratch folder, and its command line."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

PROGRAM = os.environ.get("BITACORA_PROGRAM", "bitacora")
START_PATIENCE_S = 20.0

POLICY = {
    "rules": [
        {"id": "no", "match": {"tool": "drop"}, "action": "deny", "reason": "nothing is dropped"},
        {"id": "ask", "match": {"tool": "deploy"}, "action": "review", "reason": "a person looks at it"},
        {"id": "yes", "match": {"tool": "add"}, "action": "allow", "reason": "tests add"},
        {"id": "look", "match": {"tool": "lookup"}, "action": "allow", "reason": "tests look up"},
    ]
}
TOOLS = ("add", "drop", "deploy", "lookup")


def tool(name: str) -> dict[str, Any]:
    return {
        "tool": name,
        "version": "1",
        "description": f"the tool {name}",
        "input_schema": {"type": "object"},
        "risk": "read",
        "blast_radius": "low",
        "requires_review": False,
        "allowed_roles": ["agent"],
        "timeout_ms": 60_000,
        "retry": {"max": 0, "backoff_ms": 0},
        "idempotency": "none",
        "binding_fields": [],
    }


class Service:
    """A service that may be killed and started again on the same address."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = 0
        self.process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def socket(self) -> str:
        return f"unix:{self.folder}/s"

    @property
    def admin(self) -> str:
        return (self.folder / "keyring.admin-token").read_text().strip()

    def start(self) -> None:
        log = self.folder / f"serve-{time.monotonic_ns()}.log"
        with log.open("wb") as out:
            self.process = subprocess.Popen(
                [
                    PROGRAM, "serve", "--create", "main", "--data", "data", "--keyring", "keyring",
                    "--listen", f"127.0.0.1:{self.port}", "--unix", f"{self.folder}/s",
                ],
                cwd=self.folder, stdout=out, stderr=out, env=self._environment(),
            )  # fmt: skip
        deadline = time.monotonic() + START_PATIENCE_S
        while time.monotonic() < deadline:
            if found := re.search(rb"listening on http://127\.0\.0\.1:(\d+)", log.read_bytes()):
                self.port = int(found[1])
                return
            if self.process.poll() is not None:
                break
            time.sleep(0.02)
        raise AssertionError(f"the service did not start: {log.read_text()}")

    def kill(self) -> None:
        """Kills it as a crash would."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> None:
        assert self.process is not None
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(START_PATIENCE_S)

    def command(self, *arguments: str, given: str | None = None) -> str:
        """Runs a command of its command line, as admin."""
        done = subprocess.run(
            [PROGRAM, *arguments, "--url", self.url, "--token-file", "keyring.admin-token"],
            cwd=self.folder, env=self._environment(), input=given, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{arguments}: {done.stdout}{done.stderr}"
        return done.stdout

    def agent(self, name: str) -> str:
        """Returns the token of a new agent."""
        return self.command("token", "create", "--role", "agent", "--agent", name).strip()

    def govern(self) -> None:
        for name in TOOLS:
            (self.folder / f"{name}.json").write_text(json.dumps(tool(name)))
            self.command("tools", "register", f"{name}.json")
            self.command("trust", "set", "--tool", name, "--approvals", "400", "--streak", "400", "--reason", "a test")
        (self.folder / "policy.json").write_text(json.dumps(POLICY))
        self.command("policy", "publish", "policy.json", "--activate")

    def _environment(self) -> dict[str, str]:
        return {name: value for name, value in os.environ.items() if not name.startswith("BITACORA_")}
