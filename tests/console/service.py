"""The service under test, in a scratch folder, and what agents and people do at it without a browser."""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
START_PATIENCE_S = 120
COMMAND_PATIENCE_S = 60
REQUEST_PATIENCE_S = 30
CHANGE_PATIENCE_S = 20

# Rules before those of the starter's policy, so that a test gets the verdict that it asks for.
RULES = [
    {"id": "drop", "match": {"tool": "drop"}, "action": "deny", "reason": "nothing is dropped"},
    {"id": "deploy", "match": {"tool": "deploy"}, "action": "review", "reason": "a person looks at a deployment"},
    {"id": "lookup", "match": {"tool": "lookup"}, "action": "allow", "reason": "looking is free"},
    {"id": "wobble", "match": {"tool": "wobble"}, "action": "allow", "reason": "it is tried until it fails too often"},
]
TOOLS = ("drop", "deploy", "lookup", "wobble")


def program():
    """The program under test."""
    named = os.environ.get("BITACORA_PROGRAM")
    built = [Path(named)] if named else [ROOT / "target" / profile / "bitacora" for profile in ("release", "debug")]
    found = next((path.resolve() for path in built if path.exists()), None)
    if found is None:
        raise FileNotFoundError("build the program first: cargo build --release -p bitacora-cli; or set BITACORA_PROGRAM")
    return found


class Refused(Exception):
    """The interface refused a request."""

    def __init__(self, status, problem):
        super().__init__(f"{status}: {problem}")
        self.status = status
        self.problem = problem


class Service:
    """A service with a ledger `main`. It can be killed and started again on the same address."""

    def __init__(self, *options, demo=False, events=3_000):
        self.folder = Path(tempfile.mkdtemp(prefix="bitacora-console-"))
        self.options = options
        self.demo = demo
        self.demo_events = events
        self.port = 0
        self.process = None
        self.calls = 0
        self.kept_tokens = {}
        self.start()

    # --- the process ---

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    @property
    def admin(self):
        """The token of the ledger's first admin."""
        return (self.folder / "made" / "keyring.admin-token").read_text().strip()

    def start(self):
        is_new = not (self.folder / "made").exists()
        listen = ("--listen", f"127.0.0.1:{self.port}")
        made = self.folder / "made"
        if self.demo and is_new:
            arguments = ("quickstart", "--folder", made, "--events", str(self.demo_events), *listen)
        else:
            made.mkdir(exist_ok=True)
            places = ("--data", made / "data", "--keyring", made / "keyring")
            arguments = ("serve", "--create", "main", *places, *listen, *self.options)
        log = self.folder / f"service-{time.monotonic_ns()}.log"
        with log.open("wb") as out:
            self.process = subprocess.Popen([program(), *arguments], stdout=out, stderr=out, env=self._environment())
        until = time.monotonic() + START_PATIENCE_S
        while time.monotonic() < until and self.process.poll() is None:
            if found := re.search(rb"http://127\.0\.0\.1:(\d+)", log.read_bytes()):
                self.port = int(found[1])
                if self._is_ready():
                    return
            time.sleep(0.05)
        raise AssertionError(f"the service did not start: {log.read_text()}")

    def _is_ready(self):
        try:
            with urllib.request.urlopen(f"{self.url}/readyz", timeout=1) as answer:
                return answer.status == 200 and (not self.demo or self._is_fed())
        except OSError:
            return False

    def _is_fed(self):
        return any("verified" in log.read_text() or "listening" in log.read_text() for log in self.folder.glob("*.log"))

    def until(self, holds, what, patience=CHANGE_PATIENCE_S):
        """Waits until something holds."""
        end = time.monotonic() + patience
        while not holds():
            assert time.monotonic() < end, f"it does not come to pass: {what}"
            time.sleep(0.05)

    def log(self):
        """Everything that the service has written to its terminal."""
        return "".join(log.read_text() for log in sorted(self.folder.glob("*.log")))

    def kill(self):
        """Kills it as a crash would."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(START_PATIENCE_S)

    def close(self):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _environment(self):
        kept = {name: value for name, value in os.environ.items() if not name.startswith("BITACORA_")}
        return kept | {"HOME": str(self.folder), "LANG": "C.UTF-8"}

    # --- the command line and the interface ---

    def command(self, *arguments, given=None, token=None):
        """Runs a command of the command line, as admin or with another token. Returns what it prints."""
        environment = self._environment() | {"BITACORA_URL": self.url, "BITACORA_TOKEN": token or self.admin}
        done = subprocess.run(
            [program(), *arguments], env=environment, input=given, cwd=self.folder, capture_output=True, text=True,
            timeout=COMMAND_PATIENCE_S, check=False,
        )
        if done.returncode:
            raise AssertionError(f"{arguments} ended with {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout

    def ask(self, method, path, body=None, token=None):
        """Asks the interface at a path behind `/v1/ledgers/main`, as admin or with another token. Returns its JSON."""
        headers = {"authorization": f"Bearer {token or self.admin}"}
        data = None
        if body is not None:
            headers["content-type"] = "application/json"
            data = json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}/v1/ledgers/main{path}", data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=REQUEST_PATIENCE_S) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as refusal:
            raise Refused(refusal.code, json.loads(refusal.read() or b"{}")) from None

    def token(self, role, name=None, expires=None):
        """The token of a new holder: an agent's has the agent's name, others have words."""
        arguments = ["token", "create", "--role", role]
        if name:
            arguments += ["--agent" if role == "agent" else "--name", name]
        if expires:
            arguments += ["--expires", expires]
        return self.command(*arguments).strip()

    def kept_token(self, role, name=None):
        """The same, made once for this service."""
        key = (role, name)
        if key not in self.kept_tokens:
            self.kept_tokens[key] = self.token(role, name)
        return self.kept_tokens[key]

    def revoke(self, actor):
        """Revokes the tokens of the principal whose acts are recorded under this name."""
        principals = json.loads(self.command("token", "list", "--json"))["principals"]
        self.command("token", "revoke", next(one["principal"] for one in principals if one["actor"] == actor))

    # --- what agents do ---

    def govern(self):
        """Registers the starter's tools and those of the tests, and activates a policy that has a rule for each verdict."""
        self.command("tools", "register", "--starter")
        tools = [
            {
                "tool": name, "version": "1", "description": f"the tool {name}", "input_schema": {"type": "object"}, "risk": "read",
                "blast_radius": "low", "requires_review": False, "allowed_roles": ["agent"], "timeout_ms": 60_000,
                "retry": {"max": 0, "backoff_ms": 0}, "idempotency": "none", "binding_fields": [],
            }
            for name in TOOLS
        ]
        self.command("tools", "register", "-", given=json.dumps(tools))
        policy = json.loads(self.command("policy", "starter"))
        policy["rules"] = RULES + policy["rules"]
        self.command("policy", "publish", "-", "--activate", given=json.dumps(policy))
        for name in ("lookup", "wobble"):
            self.command(
                "trust", "set", "--tool", name, "--approvals", "400", "--streak", "400", "--reason", "a test",
            )
        return self

    def decide(self, tool, args=None, *, agent="coder", **members):
        """Asks before a call, as the agent with this name. Returns the answer: its `verdict`, and `approval` where a person is asked."""
        self.calls += 1
        request = {"call": f"call-{self.calls}", "tool": tool, "args": args or {}} | members
        return self.ask("POST", "/decide", request, self.kept_token("agent", agent)) | {"call": request["call"]}

    def ask_for(self, tool="deploy", args=None, **members):
        """Makes a call that waits for a person. Returns the approval's id."""
        answer = self.decide(tool, args, **members)
        assert answer["verdict"] == "review", answer
        return answer["approval"]["id"]

    def outcome(self, call, status="ok", *, agent="coder", **members):
        """Records how a call ended."""
        return self.ask("POST", "/outcome", {"call": call, "status": status} | members, self.kept_token("agent", agent))

    def approval(self, approval):
        return self.ask("GET", f"/approvals/{approval}")

    def events(self, kind, **filters):
        """The events of a type, the oldest first."""
        query = "&".join(f"{name}={value}" for name, value in ({"type": kind, "limit": 1000} | filters).items())
        return [stored["event"] for stored in self.ask("GET", f"/events?{query}")["events"]]

    def metric(self, name):
        """A metric of the service, summed over its labels."""
        request = urllib.request.Request(f"{self.url}/metrics", headers={"authorization": f"Bearer {self.admin}"})
        with urllib.request.urlopen(request, timeout=REQUEST_PATIENCE_S) as answer:
            lines = answer.read().decode().splitlines()
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines if re.match(rf"{name}[ {{]", line))
