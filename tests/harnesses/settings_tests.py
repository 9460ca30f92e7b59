"""Settings that `connect --enforce` takes, given to Claude Code itself: it runs the hooks beside each of them.

The samples hold each member, word and form of the table in `harness`, whose unit test writes them.
"""

import json
import os
import time
import unittest
from pathlib import Path

from harness import Claude
from model_server import ScriptedModel
from service import Bitacora, PATIENCE_S

SAMPLES = Path(__file__).with_name("claude_samples.json")
# A root user may not begin in this mode: Claude Code ends, and no call runs.
NOT_FOR_ROOT = "bypassPermissions"
CALL = "touch ran.txt"


class ClaudeSettingsTests(unittest.TestCase):
    def setUp(self):
        self.bitacora = Bitacora()
        self.addCleanup(self.bitacora.close)
        self.model = ScriptedModel([[CALL]])
        self.addCleanup(self.model.close)
        self.harness = Claude(self.bitacora, self.model)
        self.settings = self.bitacora.home / Claude.settings
        self.settings.parent.mkdir()

    def hooks_run(self):
        """Whether a session that starts is told to the ledger. It is ended then: a sample may name no model that answers."""
        before = len(self.bitacora.events("session.started"))
        process = self.harness.start()
        until = time.monotonic() + PATIENCE_S
        try:
            while time.monotonic() < until:
                has_ended = process.poll() is not None
                if len(self.bitacora.events("session.started")) > before:
                    return True
                if has_ended:
                    return False
                time.sleep(0.1)
            return False
        finally:
            process.kill()
            process.communicate()

    def runs_beside(self, sample):
        self.settings.write_text(json.dumps(sample))
        self.bitacora.run("connect", "claude", "--enforce", "--wait", "0")
        try:
            return self.hooks_run()
        finally:
            self.bitacora.run("disconnect", "claude", "--discard")

    def ran(self):
        file = self.bitacora.project / "ran.txt"
        self.harness.run()
        ran = file.exists()
        file.unlink(missing_ok=True)
        return ran

    def faults(self):
        return self.bitacora.run("doctor", "claude", "--wide", check=False).stdout

    def test_hooks_run_beside_each_member_that_enforcing_takes(self):
        samples = json.loads(SAMPLES.read_text())
        self.assertGreater(len(samples), 5)
        for number, sample in enumerate(samples):
            if os.geteuid() == 0 and sample.get("permissions", {}).get("defaultMode") == NOT_FOR_ROOT:
                del sample["permissions"]["defaultMode"]
            # With this Claude Code ends at once where the machine has no sandbox, and no call runs.
            sample.get("sandbox", {}).pop("failIfUnavailable", None)
            if not self.runs_beside(sample):
                alone = [name for name, value in sample.items() if not self.runs_beside({name: value})]
                self.fail(f"sample {number}: no hook runs beside {alone or 'all of them'}")

    def test_a_member_of_another_kind_is_refused_and_found_and_would_let_calls_run(self):
        for member, value in [("language", 7), ("sandbox", {"network": {"allowedDomains": "x"}}), ("spinnerVerbs", {"verbs": ["x"]})]:
            with self.subTest(member=member):
                self.settings.write_text(json.dumps({member: value}))
                refused = self.bitacora.run("connect", "claude", "--enforce", check=False)
                self.assertEqual(refused.returncode, 1)
                self.assertIn(member, refused.stderr)
                self.assertEqual(json.loads(self.settings.read_text()), {member: value})
                self.assertIn("warning", self.bitacora.run("connect", "claude", "--observe").stdout)
                self.bitacora.run("disconnect", "claude")
                # Added behind the connection's back, the call runs unasked, and doctor says so.
                self.settings.unlink()
                self.bitacora.run("connect", "claude", "--enforce", "--wait", "0")
                self.assertFalse(self.ran())
                settings = json.loads(self.settings.read_text())
                self.settings.write_text(json.dumps(settings | {member: value}))
                self.assertTrue(self.ran())
                self.assertIn(member, self.faults())
                self.bitacora.run("disconnect", "claude")

    def test_a_switch_in_another_file_is_refused_and_found_and_would_let_calls_run(self):
        shared = self.bitacora.project / ".claude/settings.json"
        shared.parent.mkdir()
        off, simple = {"disableAllHooks": True}, {"env": {"CLAUDE_CODE_SIMPLE": "1"}}
        for options, file, switch in [
            (["--project"], self.settings, off), (["--project"], self.settings, simple),
            (["--project"], self.settings, {"env": {"CLAUDE_CODE_SAFE_MODE": "1"}}), (["--project"], shared, off), ([], shared, off),
            ([], shared, simple), ([], shared.with_name("settings.local.json"), off),
        ]:
            with self.subTest(options=options, file=file, switch=switch):
                file.write_text(json.dumps(switch))
                refused = self.bitacora.run("connect", "claude", "--enforce", *options, check=False)
                self.assertEqual(refused.returncode, 1, refused.stdout)
                self.assertIn(str(file), refused.stderr)
                file.unlink()
                self.bitacora.run("connect", "claude", "--enforce", "--wait", "0", *options)
                self.assertFalse(self.ran())
                file.write_text(json.dumps(switch))
                self.assertTrue(self.ran())
                self.assertIn("switches hooks off", self.bitacora.run("doctor", "claude", "--wide", *options, check=False).stdout)
                file.unlink()
                self.bitacora.run("disconnect", "claude", *options)
