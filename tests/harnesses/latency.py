"""Prints what a hook adds to a tool call, beside a hook that does nothing, in turns.

Usage: BITACORA_PROGRAM=target/release/bitacora BITACORA_HARNESSES=target/harnesses python3 latency.py [PAIRS]
"""

import json
import subprocess
import sys
import time

from service import PROGRAM, Bitacora

PAIRS = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
WARM_UP = 20


def timed(command, given):
    began = time.perf_counter()
    done = subprocess.run(command, input=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    took = time.perf_counter() - began
    if done.returncode or done.stderr:
        raise AssertionError(done)
    return took * 1000


def percentile(sorted_times, share):
    return sorted_times[min(len(sorted_times) - 1, int(len(sorted_times) * share))]


def main():
    bitacora = Bitacora()
    try:
        bitacora.run("connect", "claude")
        connection = bitacora.home / ".config/bitacora/connections/claude.json"
        hook = [str(PROGRAM.with_name("bitacora-hook")), "claude", "--connection", str(connection)]
        times = {"nothing": [], "hook": []}
        for number in range(PAIRS + WARM_UP):
            call = {
                "session_id": "s", "cwd": "/home/ana/p", "hook_event_name": "PreToolUse", "tool_name": "Bash",
                "tool_input": {"command": "ls"}, "tool_use_id": f"toolu_{number}",
            }
            given = json.dumps(call).encode()
            for name, command in [("nothing", ["/bin/true"]), ("hook", hook)][:: 1 if number % 2 else -1]:
                times[name].append(timed(command, given))
        print(f"{PAIRS} pairs; milliseconds: p50, p99")
        points = {}
        for name, taken in times.items():
            taken = sorted(taken[WARM_UP:])
            points[name] = [percentile(taken, share) for share in (0.5, 0.99)]
            print(f"  {name:8}", *(f"{point:6.2f}" for point in points[name]))
        added = [ours - none for ours, none in zip(points["hook"], points["nothing"])]
        print("  added   ", *(f"{point:6.2f}" for point in added))
    finally:
        bitacora.close()


if __name__ == "__main__":
    main()
