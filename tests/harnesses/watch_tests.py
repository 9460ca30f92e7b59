"""Calls that dodge the gate, found by `bitacora watch` in the transcripts that real coding agents write."""

import json
import time

WITHIN_S = 60


class WatchTests:
    """What holds for each harness."""

    def watch(self):
        process = self.bitacora.spawn("watch", "--json")
        self.addCleanup(self.bitacora.end, process)
        return process

    def gaps(self):
        return self.bitacora.events("coverage.gap")

    def settle(self):
        """Decides about everything that the transcripts show; returns what was told."""
        told = self.bitacora.run("watch", "--once", "--json").stdout
        return [json.loads(line) for line in told.splitlines()]

    def test_a_call_without_hooks_is_a_gap_within_a_minute_and_a_governed_one_is_none(self):
        self.connect()
        self.watch()
        self.harness(["touch governed.txt"], ["false"], ["echo one", "echo two"]).run()
        governed = {event["session"] for event in self.bitacora.events("tool.requested")}
        dodging = self.harness(["touch dodged.txt"])
        dodging.run_without_hooks()
        began = time.monotonic()
        self.assertTrue(self.ran("dodged.txt") and self.ran("governed.txt"))
        while not self.gaps() and time.monotonic() < began + WITHIN_S:
            time.sleep(0.5)
        self.settle()
        [gap] = self.gaps()
        self.assertEqual((gap["data"]["missing"], gap["agent"]), ("decision", self.harness_type.name_in_events))
        self.assertNotIn(gap["session"], governed)
        self.assertIn("Bash", gap["data"]["evidence"])
        self.assertNotIn("dodged.txt", gap["data"]["evidence"], "evidence has no arguments")
        self.assertIn(gap["call"][:12], self.bitacora.run("gaps", "--wide").stdout)
        # Four answers in the governed session, two in the other: each once, with its tokens.
        answers = self.bitacora.events("model.called")
        self.assertEqual(len(answers), 6)
        self.assertTrue(all(answer["data"]["tokens"]["out"] > 0 for answer in answers))
        self.assertEqual({answer["session"] for answer in answers}, governed | {gap["session"]})

    def test_two_watches_and_a_transcript_read_again_record_each_gap_once(self):
        self.connect()
        self.watch()
        self.watch()
        self.harness(["touch dodged.txt"], ["touch dodged.txt"]).run_without_hooks()
        self.settle()
        self.bitacora.forget_positions()
        self.settle()
        self.assertEqual(len(self.gaps()), 2)
        self.assertEqual(len({gap["call"] for gap in self.gaps()}), 2)
        self.assertEqual(len(self.bitacora.events("model.called")), 3)

    def test_the_same_command_with_and_without_hooks_is_one_gap(self):
        self.connect()
        self.harness(["touch same.txt"]).run()
        self.harness(["touch same.txt"]).run_without_hooks()
        self.harness(["touch same.txt"]).run()
        self.settle()
        self.bitacora.forget_positions()
        self.settle()
        self.assertEqual(len(self.gaps()), 1)

    def test_calls_that_the_gate_denied_or_that_waited_in_the_spool_are_no_gaps(self):
        self.connect("--enforce", "--wait", "0")
        self.harness(["git push --force; touch denied.txt"], ["curl -s http://127.0.0.1:1/x"]).run()
        self.bitacora.stop()
        # Nobody can decide: the call is blocked, and nothing of it ran.
        self.harness(["touch blocked.txt"]).run()
        self.bitacora.start()
        self.connect("--observe")
        self.bitacora.stop()
        self.harness(["touch spooled.txt"]).run()
        self.bitacora.start()
        told = self.settle()
        self.assertEqual([ran for ran in ["denied.txt", "blocked.txt", "spooled.txt"] if self.ran(ran)], ["spooled.txt"])
        self.assertEqual(self.gaps(), [], told)
        self.assertIn("delivered", {entry["what"] for entry in told})

    def test_calls_before_the_connection_are_no_gaps(self):
        self.harness(["touch before.txt"]).run()
        self.connect()
        self.settle()
        self.assertEqual(self.gaps(), [])
        self.assertEqual(self.bitacora.events("model.called"), [])
