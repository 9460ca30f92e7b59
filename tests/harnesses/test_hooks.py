"""Real coding agents, governed: what was denied does not run, and what ran is in the ledger once.

Run by `tests/harnesses/run`, which installs the harnesses.
"""

import json
import os
import signal
import threading
import time
import unittest

from harness import Claude, Codex, Gemini
from model_server import ScriptedModel
from service import Bitacora, PATIENCE_S
from settings_tests import ClaudeSettingsTests  # noqa: F401: unittest finds it here
from watch_tests import WatchTests

# The starter denies this push everywhere, reviews programs that it does not know, and allows looking in people's projects only.
ALLOWED = "ls"
REVIEWED = "curl -s http://127.0.0.1:1/x || touch reviewed.txt"
DENIED = "git push --force; touch denied.txt"
# What a terminal or a supervisor sends to all processes of a harness.
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
# The time after which a harness that ended has nothing under way.
SETTLED_S = 1
PARALLEL_SESSIONS = 10
CALLS_A_SESSION = 10


def wait_for(found):
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        value = found()
        if value:
            return value
        time.sleep(0.1)
    raise TimeoutError("waited in vain")


class HookTests(WatchTests):
    """What holds for each harness."""

    harness_type = None

    def setUp(self):
        self.bitacora = Bitacora()
        self.addCleanup(self.bitacora.close)

    def harness(self, *turns):
        model = ScriptedModel(list(turns))
        self.addCleanup(model.close)
        return self.harness_type(self.bitacora, model)

    def connect(self, *options):
        return self.bitacora.run("connect", self.harness_type.name, *options).stdout

    def allow_looking_here(self):
        """Publishes a policy that allows `ls` in the scratch folder, where no starter's rule does."""
        rules = [
            {"id": "look", "match": {"tool": "Bash", "context": "ls"}, "action": "allow", "reason": "for a test",
             "trust": "ignore"},
            {"id": "push", "match": {"tool": "Bash", "context": "git push --force"}, "action": "deny",
             "reason": "for a test"},
        ]
        file = self.bitacora.folder / "policy.json"
        file.write_text(json.dumps({"rules": rules}))
        self.bitacora.run("tools", "register", "--starter")
        self.bitacora.run("policy", "publish", file, "--activate")

    def ran(self, file):
        return (self.bitacora.project / file).exists()

    def test_two_commands_bring_calls_into_the_ledger(self):
        harness = self.harness(["touch ran.txt"], [DENIED])
        self.connect()
        harness.run()
        self.assertTrue(self.ran("ran.txt"))
        requested = wait_for(lambda: len(self.bitacora.events("tool.completed")) == 2 and self.bitacora.events("tool.requested"))
        self.assertEqual([event["data"]["args"]["command"] for event in requested], ["touch ran.txt", DENIED])
        self.assertEqual({event["agent"] for event in requested}, {self.harness_type.name_in_events})
        decisions = self.bitacora.events("decision.made")
        self.assertEqual({decision["data"]["mode"] for decision in decisions}, {"observe"})
        self.assertEqual(decisions[-1]["data"]["verdict"], "deny")
        self.assertEqual(len(self.bitacora.events("session.started")), 1)
        doctor = self.bitacora.run("doctor", self.harness_type.name)
        self.assertNotIn("FAIL", doctor.stdout)

    def test_a_denied_call_does_not_run_and_an_allowed_one_does(self):
        harness = self.harness([ALLOWED], [DENIED])
        self.allow_looking_here()
        self.connect("--enforce", "--wait", "0")
        harness.run()
        self.assertFalse(self.ran("denied.txt"))
        verdicts = [decision["data"]["verdict"] for decision in self.bitacora.events("decision.made")]
        self.assertEqual(verdicts, ["allow", "deny"])
        self.assertEqual(len(self.bitacora.events("tool.completed")), 1)

    def test_a_reviewed_call_waits_and_runs_after_its_approval(self):
        harness = self.harness([REVIEWED])
        self.connect("--enforce", "--wait", "1m")
        process = harness.start()
        self.addCleanup(process.stdout.close)
        approval = wait_for(self.bitacora.pending)[0]
        self.assertFalse(self.ran("reviewed.txt"))
        self.bitacora.run("approvals", "approve", approval)
        process.communicate(timeout=PATIENCE_S * 4)
        self.assertTrue(self.ran("reviewed.txt"))

    def test_a_signal_to_harness_and_hook_lets_no_held_call_run(self):
        self.connect("--enforce", "--wait", "20s")
        for number, name in enumerate(SIGNALS):
            harness = self.harness([f"curl -s http://127.0.0.1:1/{number} || touch reviewed.txt"])
            process = harness.start(own_group=True)
            wait_for(lambda: len(self.bitacora.pending()) > number)
            os.killpg(process.pid, name)
            process.communicate(timeout=PATIENCE_S * 4)
            time.sleep(SETTLED_S)
            self.assertFalse(self.ran("reviewed.txt"), name)

    def test_a_review_that_nobody_answers_never_runs_and_names_its_approval(self):
        harness = self.harness([REVIEWED])
        self.connect("--enforce", "--wait", "1s")
        harness.run()
        self.assertFalse(self.ran("reviewed.txt"))
        said = str(harness.model.requests[-1])
        self.assertIn(f"bitacora approvals approve {self.bitacora.pending()[0]}", said)

    def test_without_the_service_nothing_runs_in_enforce(self):
        harness = self.harness(["touch ran.txt"])
        self.connect("--enforce", "--wait", "0")
        self.bitacora.stop()
        harness.run()
        self.assertFalse(self.ran("ran.txt"))

    def test_without_the_service_everything_runs_in_observe_and_arrives_later_once(self):
        harness = self.harness(["touch ran.txt"], [ALLOWED])
        self.connect()
        self.bitacora.stop()
        harness.run()
        self.assertTrue(self.ran("ran.txt"))
        self.bitacora.start()
        self.harness([ALLOWED]).run()
        commands = [event["data"]["args"]["command"] for event in self.bitacora.events("tool.requested")]
        self.assertEqual(commands, ["touch ran.txt", ALLOWED, ALLOWED])
        self.assertEqual(len(self.bitacora.events("tool.completed")), 3)
        self.assertEqual(len(self.bitacora.events("session.started")), 2)

    def test_calls_of_parallel_sessions_are_each_recorded_once(self):
        self.connect()
        script = [[f"echo {turn} >> $$.txt"] for turn in range(CALLS_A_SESSION)]
        threads = [threading.Thread(target=self.harness(*script).run) for _ in range(PARALLEL_SESSIONS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        expected = PARALLEL_SESSIONS * CALLS_A_SESSION
        for kind in ["tool.requested", "decision.made", "tool.completed"]:
            events = self.bitacora.events(kind)
            self.assertEqual(len(events), expected, kind)
            self.assertEqual(len({event["call"] for event in events}), expected, kind)

    def test_disconnecting_restores_every_byte(self):
        self.harness()
        settings = self.bitacora.home / self.harness_type.settings
        settings.parent.mkdir(exist_ok=True)
        # Codex reads no hook of a file with another member, and for Claude Code each has to be known.
        member = {Codex: "description", Claude: "language", Gemini: "a"}[self.harness_type]
        for before in [None, f'{{"{member}": "x"}}', f'{{\n\t"hooks": {{}},\r\n\t"{member}": "x"\n}}\n\n']:
            if before is None:
                settings.unlink(missing_ok=True)
            else:
                settings.write_text(before, newline="")
            for options in [[], ["--enforce"]]:
                self.connect(*options)
            self.bitacora.run("disconnect", self.harness_type.name)
            with self.subTest(before=before):
                self.assertEqual(settings.read_bytes().decode() if settings.exists() else None, before)


class ClaudeTests(HookTests, unittest.TestCase):
    harness_type = Claude


class CodexTests(HookTests, unittest.TestCase):
    harness_type = Codex


class GeminiTests(HookTests, unittest.TestCase):
    harness_type = Gemini


Claude.name_in_events, Codex.name_in_events, Gemini.name_in_events = "claude-code", "codex", "gemini-cli"

if __name__ == "__main__":
    unittest.main(verbosity=2)
