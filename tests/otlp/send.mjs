// A span and a log record of an agent, sent by OpenTelemetry's JavaScript SDK.
// Usage: node send.mjs ENDPOINT TOKEN json|proto [gzip]. Prints the id of the span.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

// The packages lie in a folder of their own.
const require = createRequire(pathToFileURL(`${process.env.BITACORA_OTLP}/`));
const { BasicTracerProvider, BatchSpanProcessor } = require("@opentelemetry/sdk-trace-node");
const { BatchLogRecordProcessor, LoggerProvider } = require("@opentelemetry/sdk-logs");
const { resourceFromAttributes } = require("@opentelemetry/resources");
const { SpanStatusCode } = require("@opentelemetry/api");

const [endpoint, token, encoding, ...rest] = process.argv.slice(2);
const suffix = encoding === "json" ? "http" : "proto";
const { OTLPTraceExporter } = require(`@opentelemetry/exporter-trace-otlp-${suffix}`);
const { OTLPLogExporter } = require(`@opentelemetry/exporter-logs-otlp-${suffix}`);

const settings = {
  headers: { authorization: `Bearer ${token}` },
  compression: rest.includes("gzip") ? "gzip" : "none",
};
const resource = resourceFromAttributes({ "service.name": `js-${encoding}` });

const traces = new BasicTracerProvider({
  resource,
  spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter({ url: `${endpoint}/v1/traces`, ...settings }))],
});
const span = traces.getTracer("js.agents").startSpan("execute_tool search", {
  attributes: {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "search",
    "gen_ai.tool.call.id": `call-${encoding}`,
    "gen_ai.conversation.id": "conv-js",
    "numbers": [1, 2, 3],
    "ratio": 0.25,
  },
});
span.setStatus({ code: SpanStatusCode.OK });
span.end();
await traces.shutdown();

const logs = new LoggerProvider({
  resource,
  processors: [new BatchLogRecordProcessor({ exporter: new OTLPLogExporter({ url: `${endpoint}/v1/logs`, ...settings }) })],
});
logs.getLogger("js.logs").emit({
  eventName: "gemini_cli.tool_call",
  timestamp: [1_795_000_000, 5],
  attributes: {
    "session.id": `gem-${encoding}`,
    "function_name": "read_file",
    "duration_ms": 12,
    "success": true,
    "function_args": { path: "src/a.rs" },
  },
});
await logs.shutdown();
const { traceId, spanId } = span.spanContext();
console.log(`${traceId}-${spanId}`);
