"""Spans and log records of an agent, sent by OpenTelemetry's Python SDK. Usage: send.py ENDPOINT TOKEN [gzip].

Prints the ids of the trace and of the spans as JSON.
"""

import json
import logging
import sys

from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import Status, StatusCode, format_span_id, format_trace_id

logging.basicConfig(level=logging.WARNING)
endpoint, token = sys.argv[1], sys.argv[2]
compression = Compression.Gzip if "gzip" in sys.argv[3:] else Compression.NoCompression
settings = {"headers": {"authorization": f"Bearer {token}"}, "compression": compression}
resource = Resource.create({"service.name": "support-bot", "service.version": "1.2"})

traces = TracerProvider(resource=resource)
traces.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(f"{endpoint}/v1/traces", **settings)))
tracer = traces.get_tracer("support.agents", "0.3")
ids = {}


def remember(name, span):
    context = span.get_span_context()
    ids[name] = f"{format_trace_id(context.trace_id)}-{format_span_id(context.span_id)}"


with tracer.start_as_current_span("invoke_agent planner") as agent:
    remember("agent", agent)
    agent.set_attributes({
        "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "planner", "gen_ai.agent.id": "a-7",
        "gen_ai.conversation.id": "conv-1", "gen_ai.provider.name": "openai",
    })
    with tracer.start_as_current_span("chat gpt-5") as chat:
        remember("chat", chat)
        chat.set_attributes({
            "gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "gpt-5",
            "gen_ai.usage.input_tokens": 1200, "gen_ai.usage.output_tokens": 80, "gen_ai.conversation.id": "conv-1",
            "gen_ai.response.finish_reasons": ["tool_calls"], "gen_ai.request.temperature": 0.5,
        })
    with tracer.start_as_current_span("gpt-4 completion") as old:
        remember("old", old)
        old.set_attributes({
            "gen_ai.system": "openai", "gen_ai.request.model": "gpt-4", "gen_ai.usage.prompt_tokens": 7,
            "gen_ai.usage.completion_tokens": 3,
        })
    with tracer.start_as_current_span("execute_tool get_weather") as tool:
        remember("tool", tool)
        tool.set_attributes({
            "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "get_weather", "gen_ai.tool.call.id": "call_1",
            "gen_ai.tool.call.arguments": '{"city":"Bilbao","key":"AKIAIOSFODNN7EXAMPLE"}', "error.type": "timeout",
            "gen_ai.conversation.id": "conv-1", "big": 2**60,
        })
        tool.set_status(Status(StatusCode.ERROR, "no answer"))
    with tracer.start_as_current_span("GET /weather") as skipped:
        skipped.set_attribute("http.request.method", "GET")
traces.shutdown()

logs = LoggerProvider(resource=resource)
logs.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter(f"{endpoint}/v1/logs", **settings)))
logger = logs.get_logger("support.logs")


def emit(**record):
    logger.emit(LogRecord(severity_number=SeverityNumber.INFO, **record))


emit(
    timestamp=1_795_000_000_000_000_001, body="claude_code.tool_decision",
    attributes={
        "event.name": "tool_decision", "session.id": "s-9", "tool_name": "Bash", "decision": "reject",
        "source": "user_reject",
    },
)
emit(
    timestamp=1_795_000_000_000_000_002, event_name="codex.tool_result", body=None,
    attributes={
        "conversation.id": "c-3", "tool_name": "shell", "call_id": "call_9", "duration_ms": "41", "success": "false",
        "arguments": {"command": ["ls", "-l"]},
    },
)
emit(timestamp=1_795_000_000_000_000_003, body="an ordinary line", attributes={"module": "x"})
logs.shutdown()
print(json.dumps(ids))
