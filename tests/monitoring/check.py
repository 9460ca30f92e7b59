"""Checks what operators get for Prometheus and Grafana: the metrics, the alert rules, the dashboard and the runbooks.

A service is started with some history, and a Prometheus that collects it. Prometheus' own programs judge the files.
"""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
METRICS_PAGE = (ROOT / "docs/metrics.md").read_text()
RUNBOOKS = (ROOT / "docs/runbooks.md").read_text()
PATIENCE_S = 60
# Names that a dashboard or a rule uses and that Prometheus itself makes.
PROMETHEUS_OWN = {"up"}


def program():
    named = os.environ.get("BITACORA_PROGRAM")
    built = [ROOT / "target/release/bitacora", ROOT / "target/debug/bitacora"]
    found = named or next((str(path) for path in built if path.exists()), None)
    if not found:
        sys.exit("no program; build one, or name it in BITACORA_PROGRAM")
    return str(Path(found).resolve())


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def get(url, token=None):
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=10) as answer:
        return answer.read().decode()


def wait_for(what, is_so):
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        try:
            found = is_so()
            if found:
                return found
        except (urllib.error.URLError, ConnectionError, json.JSONDecodeError):
            pass
        time.sleep(0.2)
    sys.exit(f"waited {PATIENCE_S} s in vain: {what}")


class Service:
    """The program in a folder of its own, with a ledger `main`."""

    def __init__(self, folder, bitacora):
        self.folder, self.bitacora, self.port = folder, bitacora, free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        places = ["--data", str(folder / "data"), "--keyring", str(folder / "keyring")]
        serve = [bitacora, "serve", "--create", "main", "--listen", f"127.0.0.1:{self.port}", *places]
        self.process = subprocess.Popen(serve, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for("the service", lambda: get(f"{self.url}/readyz"))
        path = f"{folder / 'bin'}:{os.environ['PATH']}"
        (folder / "bin").mkdir()
        (folder / "bin/bitacora").symlink_to(bitacora)
        token = (folder / "keyring.admin-token").read_text().strip()
        self.environment = os.environ | {"BITACORA_URL": self.url, "BITACORA_TOKEN": token, "PATH": path}

    def run(self, *arguments, more=None):
        run = subprocess.run([self.bitacora, *arguments], env=self.environment | (more or {}), capture_output=True, text=True)
        if run.returncode not in (0, 3):
            sys.exit(f"bitacora {' '.join(arguments)}: {run.returncode}\n{run.stderr}")
        return run.stdout.strip()

    def fill(self):
        """Some decisions, so that most metrics have a line."""
        self.run("tools", "register", "--starter")
        self.run("policy", "publish", "--starter", "--activate")
        self.run("budgets", "set", "day", "--period", "day", "--calls", "100", "--on-exceed", "deny")
        agent = self.run("token", "create", "--role", "agent", "--agent", "coder")
        for call, command in [("c1", "git push --force"), ("c2", "cargo test"), ("c3", "git status")]:
            arguments = json.dumps({"command": command})
            words = ["decide", "--call", call, "--tool", "Bash", "--args", arguments, "--cwd", "/home/ana/project"]
            self.run(*words, more={"BITACORA_TOKEN": agent})
        return self.run("token", "create", "--role", "metrics", "--name", "prometheus")


def judge(words, **options):
    run = subprocess.run(words, capture_output=True, text=True, check=False, **options)
    if run.returncode:
        sys.exit(f"{' '.join(map(str, words))}\n{run.stdout}{run.stderr}")
    print(f"ok  {' '.join(Path(word).name for word in map(str, words))}")


def documented_metrics():
    return set(re.findall(r"^\| `([a-z_]+)` \|", METRICS_PAGE, re.M))


def check_metrics(service, token):
    text = get(f"{service.url}/metrics", token)
    judge(["promtool", "check", "metrics"], input=text)
    shown = set(re.findall(r"^# TYPE ([a-z_]+) ", text, re.M))
    if missing := shown - documented_metrics():
        sys.exit(f"docs/metrics.md has no row for {sorted(missing)}")


def names_in(expression):
    """The metrics of an expression, by their documented names."""
    words = set(re.findall(r"\b(?:bitacora|process)_[a-z_]+|\bup\b", expression))
    return {re.sub(r"_(bucket|sum|count)$", "", word) if "duration" in word else word for word in words}


def check_rules(folder):
    for name in ["alerts.yml", "alerts_test.yml", "prometheus.yml"]:
        shutil.copy(DEPLOY / "prometheus" / name, folder)
    judge(["promtool", "check", "rules", folder / "alerts.yml"])
    judge(["promtool", "test", "rules", folder / "alerts_test.yml"])
    judge(["promtool", "check", "config", folder / "prometheus.yml"])
    rules = (folder / "alerts.yml").read_text()
    expressions = re.findall(r"expr: '(.*)'", rules)
    unknown = set().union(*map(names_in, expressions)) - documented_metrics() - PROMETHEUS_OWN
    if unknown:
        sys.exit(f"alerts.yml uses metrics that are not in docs/metrics.md: {sorted(unknown)}")
    alerts, sections = re.findall(r"alert: (\w+)", rules), re.findall(r"^## (\w+)$", RUNBOOKS, re.M)
    if sorted(alerts) != sorted(sections):
        sys.exit(f"alerts and sections of docs/runbooks.md differ: {sorted(set(alerts) ^ set(sections))}")


def check_prometheus(service, folder):
    """A real Prometheus collects the service and loads the rules."""
    config = (folder / "prometheus.yml").read_text()
    config = config.replace("127.0.0.1:7717", f"127.0.0.1:{service.port}").replace("15s", "1s")
    (folder / "prometheus.yml").write_text(config)
    port = free_port()
    words = ["prometheus", f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'series'}",
             f"--web.listen-address=127.0.0.1:{port}", "--log.level=error"]
    prometheus = subprocess.Popen(words)
    try:
        api = f"http://127.0.0.1:{port}/api/v1"

        def query(expression):
            return json.loads(get(f"{api}/query?query={urllib.parse.quote(expression)}"))["data"]["result"]

        wait_for("a collected service", lambda: query('up{job="bitacora"} == 1'))
        wait_for("evaluated rules", lambda: all_rules_are_ok(api))
        panels = json.loads((DEPLOY / "grafana/bitacora.json").read_text())["panels"]
        expressions = [target["expr"] for panel in panels for target in panel["targets"]]
        for expression in expressions:
            query(expression.replace("$__rate_interval", "1m").replace("$ledger", ".*"))
        unknown = set().union(*map(names_in, expressions)) - documented_metrics()
        if unknown:
            sys.exit(f"the dashboard uses metrics that are not in docs/metrics.md: {sorted(unknown)}")
        for name in ["bitacora_ledger_ready", "bitacora_decisions_total", "process_resident_memory_bytes"]:
            if not query(name):
                sys.exit(f"Prometheus has no {name}")
        print(f"ok  prometheus: {len(expressions)} expressions of the dashboard")
    finally:
        prometheus.terminate()
        prometheus.wait()


def all_rules_are_ok(api):
    groups = json.loads(get(f"{api}/rules"))["data"]["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    if broken := [rule["name"] for rule in rules if rule["health"] == "err"]:
        sys.exit(f"rules that Prometheus cannot evaluate: {broken}")
    return rules and all(rule["health"] == "ok" for rule in rules)


def check_runbooks(service):
    """Each command of each section runs, against a service on which nothing is wrong."""
    data = {"BITACORA_DATA": str(service.folder / "data"), "BITACORA_KEYRING": str(service.folder / "keyring")}
    blocks = re.findall(r"^```sh\n(.*?)^```$", RUNBOOKS, re.M | re.S)
    for block in blocks:
        block = block.replace("http://127.0.0.1:7717", service.url)
        run = subprocess.run(["bash", "-euo", "pipefail", "-c", block], env=service.environment | data, capture_output=True, text=True)
        if run.returncode:
            sys.exit(f"runbooks.md: {run.returncode}\n{block}{run.stdout}{run.stderr}")
    print(f"ok  commands of {len(blocks)} runbooks")


def main():
    for needed in ["promtool", "prometheus"]:
        if not shutil.which(needed):
            sys.exit(f"{needed} is missing; it is in Debian's package prometheus")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        service = Service(folder, program())
        try:
            token = service.fill()
            (folder / "metrics.token").write_text(token)
            check_metrics(service, token)
            check_rules(folder)
            check_prometheus(service, folder)
            check_runbooks(service)
        finally:
            service.process.terminate()
            service.process.wait()


main()
