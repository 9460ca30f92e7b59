"""Real exporters against a real service: what they send is recorded, once, and nothing follows from it."""

import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "harnesses"))

from differential import compare_all  # noqa: E402
from harness import Claude  # noqa: E402
from model_server import ScriptedModel  # noqa: E402
from service import HARNESSES, Bitacora  # noqa: E402

PATIENCE_S = 120


class OtlpTests(unittest.TestCase):
    def setUp(self):
        self.bitacora = Bitacora()
        self.addCleanup(self.bitacora.close)
        made = self.bitacora.run("token", "create", "--role", "agent", "--agent", "support")
        self.token = made.stdout.strip()

    def send(self, *command):
        done = subprocess.run(
            [*map(str, command)], capture_output=True, text=True, timeout=PATIENCE_S, env=os.environ | {"NO_PROXY": "*"}
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotRegex(done.stderr.lower(), "error|fail|exception|warn")
        return done.stdout

    def one(self, kind, **wanted):
        found = [
            event for event in self.bitacora.events(kind)
            if all(event.get(name) == value or event["data"].get(name) == value for name, value in wanted.items())
        ]
        self.assertEqual(len(found), 1, (kind, wanted, self.bitacora.events(kind)))
        return found[0]

    def nothing_follows(self):
        for kind in ["decision.made", "trust.observed", "coverage.gap", "budget.charged", "breaker.opened"]:
            self.assertEqual(self.bitacora.events(kind), [], kind)


class PythonTests(OtlpTests):
    def send_all(self, *options):
        sent = self.send(sys.executable, HERE / "send.py", self.endpoint, self.token, *options)
        return json.loads(sent)

    @property
    def endpoint(self):
        return self.bitacora.url

    def test_spans_and_log_records_are_recorded(self):
        ids = self.send_all()
        tool = self.one("telemetry.tool", id=ids["tool"])
        data = tool["data"]
        self.assertEqual((data["tool"], data["call"], data["status"]), ("get_weather", "call_1", "error"))
        self.assertEqual((data["error_type"], data["body"]), ("timeout", "no answer"))
        self.assertEqual((data["assurance"], data["signal"]), ("self_reported", "span"))
        self.assertEqual((data["service"], data["scope"]), ("support-bot", "support.agents"))
        self.assertEqual(data["attributes"]["big"], str(2**60))
        self.assertNotIn("AKIAIOSFODNN7EXAMPLE", json.dumps(tool))
        self.assertIn("Bilbao", data["attributes"]["gen_ai.tool.call.arguments"])
        trace, span = ids["tool"].split("-")
        self.assertEqual((tool["run"], tool["call"], tool["agent"]), (trace, "call_1", "support"))
        self.assertEqual(tool["traceparent"].split("-")[1:3], [trace, span])
        self.assertEqual(data["parent"], ids["agent"].split("-")[1])
        self.assertEqual((tool["session"], tool["subject"]), ("conv-1", "telemetry/conv-1"))
        chat = self.one("telemetry.model", id=ids["chat"])["data"]
        self.assertEqual((chat["model"], chat["provider"], chat["tokens"]), ("gpt-5", "openai", {"in": 1200, "out": 80}))
        self.assertEqual(chat["attributes"]["gen_ai.response.finish_reasons"], ["tool_calls"])
        old = self.one("telemetry.model", id=ids["old"])["data"]
        self.assertEqual((old["model"], old["provider"], old["tokens"]), ("gpt-4", "openai", {"in": 7, "out": 3}))
        agent = self.one("telemetry.agent", id=ids["agent"])["data"]
        self.assertEqual((agent["agent"], agent["agent_id"], agent["operation"]), ("planner", "a-7", "invoke_agent"))
        decision = self.one("telemetry.decision", session="s-9")
        self.assertEqual(
            (decision["data"]["decision"], decision["data"]["by"], decision["data"]["tool"]),
            ("reject", "user_reject", "Bash"),
        )
        self.assertEqual(decision["time"], "2026-11-18T11:06:40.000000001Z")
        shell = self.one("telemetry.tool", session="c-3")["data"]
        self.assertEqual((shell["call"], shell["status"], shell["duration_ms"]), ("call_9", "error", 41))
        self.assertEqual(shell["attributes"]["arguments"], {"command": ["ls", "-l"]})
        self.assertEqual(len(self.bitacora.events("telemetry.event")), 0, "what tells nothing of an agent is skipped")
        self.nothing_follows()

    def test_compressed_requests_are_taken(self):
        ids = self.send_all("gzip")
        self.one("telemetry.tool", id=ids["tool"])

    def test_log_records_sent_twice_are_recorded_once_also_after_a_restart(self):
        self.send_all()
        self.bitacora.stop()
        self.bitacora.start()
        self.send_all()
        self.one("telemetry.decision", session="s-9")
        self.assertEqual(len(self.bitacora.events("telemetry.agent")), 2, "two traces")


class LedgerPathTests(PythonTests):
    """The same below a ledger."""

    @property
    def endpoint(self):
        return f"{self.bitacora.url}/v1/ledgers/main/otlp"


class JavaScriptTests(OtlpTests):
    def check(self, encoding, *options):
        sent = self.send("node", HERE / "send.mjs", self.bitacora.url, self.token, encoding, *options)
        tool = self.one("telemetry.tool", id=sent.strip())
        data = tool["data"]
        self.assertEqual((data["tool"], data["call"], data["status"]), ("search", f"call-{encoding}", "ok"))
        self.assertEqual((data["attributes"]["numbers"], data["attributes"]["ratio"]), ([1, 2, 3], 0.25))
        self.assertEqual(tool["session"], "conv-js")
        log = self.one("telemetry.tool", session=f"gem-{encoding}")
        self.assertEqual((log["data"]["tool"], log["data"]["duration_ms"]), ("read_file", 12))
        self.assertEqual(log["data"]["attributes"]["function_args"], {"path": "src/a.rs"})
        self.assertEqual(log["time"], "2026-11-18T11:06:40.000000005Z")
        self.nothing_follows()

    def test_json(self):
        self.check("json")

    def test_json_compressed(self):
        self.check("json", "gzip")

    def test_protobuf(self):
        self.check("proto")

    def test_protobuf_compressed(self):
        self.check("proto", "gzip")


class RefusalTests(OtlpTests):
    def test_an_exporter_without_a_token_is_told_so(self):
        done = subprocess.run(
            [sys.executable, str(HERE / "send.py"), self.bitacora.url, "bt_none"], capture_output=True, text=True,
            timeout=PATIENCE_S,
        )
        self.assertIn("401", done.stderr)
        self.assertEqual(self.bitacora.events("telemetry.tool"), [])


class DifferentialTests(OtlpTests):
    def test_generated_requests_are_read_as_opentelemetrys_own_protobuf_reads_them(self):
        counts = compare_all(self.bitacora, 600, 27)
        self.assertTrue(all(counts[kind] for kind in ["taken", "refused", "records", "rejected"]), counts)


class MeteredClaude(Claude):
    protocol = None

    def variables(self):
        return super().variables() | {
            "CLAUDE_CODE_ENABLE_TELEMETRY": "1", "OTEL_LOGS_EXPORTER": "otlp", "OTEL_METRICS_EXPORTER": "otlp",
            "OTEL_EXPORTER_OTLP_PROTOCOL": self.protocol, "OTEL_EXPORTER_OTLP_ENDPOINT": self.bitacora.url,
            "OTEL_EXPORTER_OTLP_HEADERS": f"Authorization=Bearer {self.bitacora.agent_token}",
            "OTEL_LOGS_EXPORT_INTERVAL": "500", "OTEL_METRIC_EXPORT_INTERVAL": "500",
        }


@unittest.skipUnless((HARNESSES / "node_modules/.bin/claude").exists(), "tests/harnesses/run installs Claude Code")
class ClaudeTests(OtlpTests):
    def check(self, protocol):
        model = ScriptedModel([["echo telemetry-was-here"], "done"])
        self.bitacora.agent_token = self.token
        claude = MeteredClaude(self.bitacora, model)
        claude.protocol = protocol
        output = claude.run()
        tool = self.one("telemetry.tool", tool="Bash")
        self.assertEqual((tool["data"]["name"], tool["data"]["status"]), ("claude_code.tool_result", "ok"), output)
        self.assertEqual((tool["data"]["service"], tool["agent"]), ("claude-code", "support"))
        self.assertTrue(tool["session"] and tool["data"]["duration_ms"] >= 0)
        decision = self.one("telemetry.decision", tool="Bash")
        self.assertEqual((decision["data"]["decision"], decision["session"]), ("accept", tool["session"]))
        answers = self.bitacora.events("telemetry.model")
        self.assertTrue(any(answer["data"].get("tokens") for answer in answers), answers)
        prompts = [event["data"]["name"] for event in self.bitacora.events("telemetry.event")]
        self.assertIn("claude_code.user_prompt", prompts)
        self.nothing_follows()

    def test_protobuf(self):
        self.check("http/protobuf")

    def test_json(self):
        self.check("http/json")


if __name__ == "__main__":
    unittest.main(verbosity=2)
