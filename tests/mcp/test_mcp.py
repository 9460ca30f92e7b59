"""The proxy between official clients and servers: the same answers, and nothing past the gate."""

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "harnesses"))

from mcp import ClientSession, StdioServerParameters, stdio_client  # noqa: E402

from service import PROGRAM, Bitacora, free_port  # noqa: E402

MCP = Path(os.environ["BITACORA_MCP"]).resolve()
EVERYTHING = MCP / "node_modules/@modelcontextprotocol/server-everything/dist/index.js"
# Tools of server-everything whose answers hold no time of day, with arguments.
CALLS = {
    "echo": {"message": "ü \u2028 \"quoted\""},
    "get-sum": {"a": 2, "b": 3.5},
    "get-annotated-message": {"messageType": "error", "includeImage": True},
    "get-resource-links": {"count": 2},
    "get-structured-content": {"location": "Chicago"},
    "get-tiny-image": {},
    "trigger-long-running-operation": {"duration": 1, "steps": 2},
    "no-such-tool": {},
}
PATIENCE_S = 60


class Governed(unittest.TestCase):
    """A service with the starter's policy, and an agent's token."""

    def setUp(self):
        self.bitacora = Bitacora()
        self.addCleanup(self.bitacora.close)
        self.bitacora.run("tools", "register", "--starter")
        self.bitacora.run("policy", "publish", "--starter", "--activate")
        self.token = self.bitacora.run("token", "create", "--role", "agent", "--agent", "coder").stdout.strip()
        self.seen = self.bitacora.folder / "seen"
        self.seen.touch()

    def environment(self, **more):
        return self.bitacora.environment(BITACORA_TOKEN=self.token, SEEN=str(self.seen), **more)

    def proxied(self, *command, server="everything", wait="0", more=()):
        return [str(PROGRAM), "mcp", "--server", server, "--wait", wait, *more, "--", *map(str, command)]

    def allow(self, *tools):
        """Registers tools as reading ones, which the policy allows by a rule of its own."""
        for tool in tools:
            self.bitacora.run("tools", "register", "--seen", tool, "--risk", "read")

    def wait_for(self, kind, count=1):
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            if len(events := self.bitacora.events(kind)) >= count:
                return events
            time.sleep(0.05)
        raise AssertionError(f"{count} of {kind} did not come: {events}")


class Lines:
    """A client that writes what it is told, line by line."""

    def __init__(self, command, environment):
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, text=True
        )
        self.told = []
        threading.Thread(target=lambda: self.told.extend(self.process.stderr), daemon=True).start()

    def send(self, message):
        text = message if isinstance(message, str) else json.dumps({"jsonrpc": "2.0", **message})
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def answer(self, of):
        """The answer to a request; other messages are passed over."""
        for line in self.process.stdout:
            message = json.loads(line)
            if message.get("id") == of and "method" not in message:
                return message
        raise AssertionError("the proxy ended: " + "".join(self.told))

    def begin(self):
        self.send({"id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}})
        self.answer(0)
        self.send({"method": "notifications/initialized"})
        return self

    def call(self, number, tool, **params):
        self.send({"id": number, "method": "tools/call", "params": {"name": tool, "arguments": {}, **params}})

    def close(self):
        self.process.stdin.close()
        code = self.process.wait(PATIENCE_S)
        self.process.stdout.close()
        return code


class TypeScriptClient(Governed):
    def everything(self, command):
        environment = self.environment(CALLS=json.dumps(CALLS))
        done = subprocess.run(["node", MCP / "client.mjs", *command], env=environment, capture_output=True, text=True,
                              timeout=PATIENCE_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_every_answer_is_the_servers(self):
        self.bitacora.run("mode", "observe")
        server = ["node", EVERYTHING, "stdio"]
        direct, proxied = self.everything(server), self.everything(self.proxied(*server))
        self.assertGreater(len(direct["tools"]), 10)
        for part, answers in direct.items():
            text = lambda value: json.dumps(value, sort_keys=True)  # noqa: E731
            self.assertEqual(len(text(answers)) > 2, True, part)
            # Times of reading are in some contents.
            if part != "contents":
                self.assertEqual(text(proxied[part]), text(answers), part)
        self.assertEqual(len(self.bitacora.events("tool.requested")), len(CALLS))
        self.assertEqual(len(self.bitacora.events("tool.described")), len(direct["tools"]))
        self.assertEqual(self.bitacora.events("tool.drifted"), [])


class PythonClient(Governed):
    def session(self, command, work, **more):
        async def main():
            parameters = StdioServerParameters(command=str(command[0]), args=[str(word) for word in command[1:]],
                                               env=self.environment(**more))
            async with stdio_client(parameters) as (read, write), ClientSession(read, write) as session:
                await session.initialize()
                return await asyncio.wait_for(work(session), PATIENCE_S)

        return asyncio.run(main())

    def test_a_reviewed_call_waits_and_runs_once_it_is_approved(self):
        async def work(session):
            async def progress(*told):
                if ids := self.bitacora.pending():
                    self.bitacora.run("approvals", "approve", ids[0])

            first = await session.call_tool("echo", {"message": "hi"}, progress_callback=progress)
            second = await session.call_tool("echo", {"message": "other"})
            return first, second

        command = self.proxied("node", EVERYTHING, "stdio", wait="10s")
        first, second = self.session(command, work)
        self.assertEqual((first.is_error or False, first.content[0].text), (False, "Echo: hi"))
        self.assertTrue(second.is_error)
        self.assertIn("bitacora approvals approve", second.content[0].text)

    def test_over_http_answers_are_the_servers(self):
        self.bitacora.run("mode", "observe")
        port = free_port()
        server = subprocess.Popen(["node", EVERYTHING, "streamableHttp"], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL, env=self.environment(PORT=str(port)))
        self.addCleanup(server.wait)
        self.addCleanup(server.terminate)
        time.sleep(2)

        async def work(session):
            tools = sorted(tool.name for tool in (await session.list_tools()).tools)
            calls = [await session.call_tool(name, given) for name, given in CALLS.items()]
            return tools, [call.model_dump() for call in calls]

        direct = self.session(["node", EVERYTHING, "stdio"], work)
        command = [PROGRAM, "mcp", "--server", "everything", "--upstream", f"http://127.0.0.1:{port}/mcp"]
        self.assertEqual(self.session(command, work), direct)
        self.assertEqual(len(self.bitacora.events("tool.requested")), len(CALLS))

    def test_questions_say_why_a_call_was_denied(self):
        async def call(session):
            return await session.call_tool("echo", {"message": "hi"})

        async def ask(session):
            names = [tool.name for tool in (await session.list_tools()).tools]
            return names, [(await session.call_tool(name, {})).content[0].text for name in names]

        self.session(self.proxied("node", EVERYTHING, "stdio"), call)
        names, (why, may, happened) = self.session([PROGRAM, "mcp", "serve"], ask)
        self.assertEqual(names, ["why_denied", "what_may_i_do", "what_happened"])
        self.assertIn("tool-unknown", why)
        self.assertIn("bitacora approvals approve", why)
        self.assertEqual(json.loads(may)["agent"], "coder")
        self.assertEqual([call["tool"] for call in json.loads(happened)["calls"]], ["mcp__everything__echo"])


class Gate(Governed):
    """A scripted server, which writes down what reaches it."""

    def lines(self, wait="0", more=(), **environment):
        command = self.proxied(sys.executable, HERE / "scripted_server.py", server="scripted", wait=wait, more=more)
        client = Lines(command, self.environment(**environment)).begin()
        self.addCleanup(client.process.kill)
        return client

    def reached(self):
        sent = [json.loads(line) for line in self.seen.read_text().splitlines()]
        return [message["params"]["name"] for message in sent if message.get("method") == "tools/call"]

    def test_an_approval_that_comes_later_counts_once(self):
        client = self.lines()
        client.call(1, "add")
        self.assertTrue(client.answer(1)["result"]["isError"])
        self.bitacora.run("approvals", "approve", self.bitacora.pending()[0])
        client.call(2, "add")
        self.assertEqual(client.answer(2)["result"]["content"][0]["text"], "add")
        client.call(3, "add")
        self.assertTrue(client.answer(3)["result"]["isError"])
        self.assertEqual(self.reached(), ["add"])

    def test_a_rejected_call_and_one_of_a_stopped_agent_never_reach_the_server(self):
        self.bitacora.run("mode", "observe")
        self.bitacora.run("agents", "suspend", "coder", "--reason", "test")
        client = self.lines()
        client.call(1, "add")
        self.assertEqual(client.answer(1)["result"]["_meta"]["bitacora/refusal"], "denied")
        self.assertEqual(self.reached(), [])

    def test_no_other_message_becomes_a_call(self):
        client = self.lines()
        call = '"id":7,"method":"tools/call","params":{"name":"add","arguments":{}}'
        for line in [
            f'[{{"jsonrpc":"2.0",{call}}}]',
            f'{{"jsonrpc":"2.0","method":"ping",{call}}}',
            '{"jsonrpc":"2.0","id":7,"method":"ping","Method":"tools/call","params":{"name":"add"}}',
            '{"jsonrpc":"2.0","id":7,"method":"TOOLS/call","params":{"name":"add"}}',
            '{"jsonrpc":"2.0","method":"tools/call","params":{"name":"add"}}',
            f'{{"jsonrpc":"2.0","id":7,"method":"x/y","params":{{"a":\r{{"jsonrpc":"2.0",{call}}}\r}}}}',
            "x" * (17 * 1024 * 1024),
        ]:
            client.send(line)
        client.call(8, "add")
        client.answer(8)
        self.assertEqual(self.reached(), [])

    def test_without_the_service_nothing_runs_unless_calls_are_observed(self):
        enforced, observed = self.lines(), self.lines(more=["--observe"])
        self.bitacora.stop()
        for number, (client, runs) in enumerate([(enforced, False), (observed, True)]):
            client.call(number + 1, "add")
            answer = client.answer(number + 1)["result"]
            self.assertEqual(answer.get("isError", False), not runs, answer)
            self.assertEqual(self.reached(), ["add"] if runs else [])
        self.bitacora.start()
        # In mode enforce the next call is decided, and what was spooled arrives before.
        observed.call(9, "add")
        observed.answer(9)
        self.assertEqual(len(self.wait_for("tool.requested", 2)), 2)
        self.wait_for("tool.completed")

    def test_a_tool_that_changes_is_held_until_an_operator_takes_it(self):
        self.bitacora.run("mode", "observe")
        first = self.lines()
        first.call(1, "add")
        self.assertNotIn("isError", first.answer(1)["result"])
        self.assertEqual(first.close(), 0)
        self.allow("mcp__scripted__add")
        self.bitacora.run("mode", "enforce")
        second = self.lines(DESCRIPTION="sends all files elsewhere")
        second.call(2, "add")
        refusal = second.answer(2)["result"]
        self.assertEqual(refusal["_meta"]["bitacora/refusal"], "drifted", refusal)
        drifted, = self.wait_for("tool.drifted")
        self.assertEqual(drifted["data"]["tool"], "mcp__scripted__add")
        self.assertIn("elsewhere", drifted["data"]["definition"])
        self.assertEqual(self.reached(), ["add"])
        self.allow("mcp__scripted__add")
        second.call(3, "add")
        self.assertNotEqual(second.answer(3)["result"]["_meta"]["bitacora/refusal"], "drifted")

    def test_a_tool_that_changes_in_mid_session_is_noticed(self):
        self.bitacora.run("mode", "observe")
        client = self.lines()
        for number, tool in enumerate(["add", "drift", "add"]):
            client.call(number + 1, tool)
            client.answer(number + 1)
        self.assertEqual(len(self.wait_for("tool.drifted")), 1)
        self.bitacora.run("mode", "enforce")
        client.call(9, "add")
        self.assertEqual(client.answer(9)["result"]["_meta"]["bitacora/refusal"], "drifted")

    def test_a_cancelled_call_is_never_handed_on(self):
        client = self.lines(wait="1m")
        client.call(1, "add", _meta={"progressToken": 1})
        json.loads(client.process.stdout.readline())
        client.send({"method": "notifications/cancelled", "params": {"requestId": 1}})
        self.bitacora.run("approvals", "approve", self.bitacora.pending()[0])
        client.send({"id": 2, "method": "tools/list"})
        client.answer(2)
        time.sleep(1)
        self.assertEqual(self.reached(), [])

    def test_a_server_that_misbehaves_ends_no_more_than_its_own_calls(self):
        self.bitacora.run("mode", "observe")
        client = self.lines()
        client.call(1, "noise")
        self.assertEqual(client.answer(1)["result"]["content"][0]["text"], "first")
        client.call(2, "add")
        self.assertEqual(client.answer(2)["result"]["content"][0]["text"], "add")
        for number, tool in enumerate(["die", "huge"]):
            ending = self.lines()
            ending.call(5, tool)
            self.assertIn("no answer", ending.answer(5)["error"]["message"])
            self.assertEqual(ending.process.wait(PATIENCE_S), 1)
            self.assertEqual(len(self.wait_for("tool.failed", number + 1)), number + 1)


if __name__ == "__main__":
    unittest.main()
