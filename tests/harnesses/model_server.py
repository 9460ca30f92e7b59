"""A model that answers from a script, in the languages of three providers, on loopback.

A script is a list of turns. A turn is a list of shell commands that the model asks its harness to run, or a text that ends
the conversation. Past the script's end the model says "done".
"""

import json
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

DONE = "done"


class ScriptedModel:
    """Serves `script` to harnesses; `url` is its address."""

    def __init__(self, script):
        self.script = script
        self.requests = []
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                self.send_json({"models": [], "data": []})

            do_HEAD = do_GET

            def do_POST(self):
                length = int(self.headers.get("content-length") or 0)
                body = json.loads(self.rfile.read(length) or b"{}")
                model.requests.append(body)
                if "count" in self.path:
                    self.send_json({"input_tokens": 1, "totalTokens": 1})
                elif "/messages" in self.path:
                    self.send_events(anthropic(model.turn(anthropic_turns(body), body.get("tools"))), body)
                elif "/responses" in self.path:
                    self.send_events(openai(model.turn(openai_turns(body), body.get("tools"))), body)
                else:
                    self.send_gemini(gemini(model.turn(gemini_turns(body), body.get("tools"))))

            def send_json(self, value):
                out = json.dumps(value).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(out)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(out)

            def begin_stream(self):
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.send_header("connection", "close")
                self.end_headers()
                self.close_connection = True

            def send_events(self, events, _):
                self.begin_stream()
                for event in events:
                    self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())

            def send_gemini(self, answer):
                if "stream" not in self.path:
                    self.send_json(answer)
                    return
                self.begin_stream()
                self.wfile.write(f"data: {json.dumps(answer)}\r\n\r\n".encode())

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def turn(self, number, tools):
        """The commands of a turn, or a text. A request without tools is a side question of the harness."""
        if not tools or number >= len(self.script):
            return DONE
        return self.script[number]

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def anthropic_turns(body):
    return sum(message["role"] == "assistant" for message in body["messages"])


def openai_turns(body):
    """Codex sends the whole conversation each time: one output for each call, several calls a turn count once."""
    turns, in_outputs = 0, False
    for item in body.get("input", []):
        is_output = "output" in item.get("type", "")
        turns += is_output and not in_outputs
        in_outputs = is_output
    return turns


def gemini_turns(body):
    return sum(
        any("functionResponse" in part for part in content.get("parts", [])) for content in body.get("contents", [])
    )


def anthropic(turn):
    usage = {"input_tokens": 10, "output_tokens": 1, "cache_read_input_tokens": 3, "cache_creation_input_tokens": 2}
    message = {
        "id": f"msg_{uuid.uuid4().hex}", "type": "message", "role": "assistant", "model": "claude-opus-4-8",
        "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage,
    }
    yield {"type": "message_start", "message": message}
    if isinstance(turn, str):
        yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
        yield {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": turn}}
        yield {"type": "content_block_stop", "index": 0}
    else:
        for index, command in enumerate(turn):
            block = {"type": "tool_use", "id": f"toolu_{uuid.uuid4().hex[:24]}", "name": "Bash", "input": {}}
            given = json.dumps({"command": command, "description": "a scripted command"})
            yield {"type": "content_block_start", "index": index, "content_block": block}
            yield {
                "type": "content_block_delta", "index": index,
                "delta": {"type": "input_json_delta", "partial_json": given},
            }
            yield {"type": "content_block_stop", "index": index}
    reason = "end_turn" if isinstance(turn, str) else "tool_use"
    yield {
        "type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": {"output_tokens": 20},
    }
    yield {"type": "message_stop"}


def openai(turn):
    response = f"resp_{uuid.uuid4().hex}"
    yield {"type": "response.created", "response": {"id": response}}
    if isinstance(turn, str):
        content = [{"type": "output_text", "text": turn}]
        item = {"type": "message", "id": f"msg_{uuid.uuid4().hex}", "role": "assistant", "content": content}
        yield {"type": "response.output_item.done", "item": item}
    else:
        for command in turn:
            item = {
                "type": "function_call", "id": f"fc_{uuid.uuid4().hex}", "call_id": f"call_{uuid.uuid4().hex[:24]}",
                "name": "exec_command", "arguments": json.dumps({"cmd": command}),
            }
            yield {"type": "response.output_item.done", "item": item}
    usage = {
        "input_tokens": 5, "input_tokens_details": None, "output_tokens": 3, "output_tokens_details": None,
        "total_tokens": 8,
    }
    yield {"type": "response.completed", "response": {"id": response, "usage": usage}}


def gemini(turn):
    if isinstance(turn, str):
        parts = [{"text": turn}]
    else:
        parts = [{"functionCall": {"name": "run_shell_command", "args": {"command": command}}} for command in turn]
    return {
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 3, "totalTokenCount": 8},
        "modelVersion": "gemini-2.5-flash",
    }
