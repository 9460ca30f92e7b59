/** The example for the Vercel AI SDK, with the SDK's own mock of a model and a real service. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { generateText, jsonSchema, stepCountIs, tool } from "ai";
import { MockLanguageModelV3 } from "ai/test";

import { guardTools } from "../examples/vercel-ai.mjs";
import { RealService } from "./service.js";

let service: RealService;
before(async () => void (service = await RealService.start()));
after(() => service.end());

type Generated = Awaited<ReturnType<MockLanguageModelV3["doGenerate"]>>;

const USAGE: Generated["usage"] = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

/** A model that calls `fs.write` on these paths at once, and then ends. */
function modelThatWrites(...paths: string[]): MockLanguageModelV3 {
  const calls: Generated = {
    content: paths.map((path, index) => ({
      type: "tool-call",
      toolCallId: `call-${index}`,
      toolName: "fs.write",
      input: JSON.stringify({ path }),
    })),
    finishReason: { unified: "tool-calls", raw: undefined },
    usage: USAGE,
    warnings: [],
  };
  const end: Generated = {
    content: [{ type: "text", text: "done" }],
    finishReason: { unified: "stop", raw: undefined },
    usage: USAGE,
    warnings: [],
  };
  return new MockLanguageModelV3({ doGenerate: [calls, end] });
}

test("the SDK's tools run only if the ledger allows them, and the model reads why not", async () => {
  const written: string[] = [];
  const write = tool({
    description: "writes a file",
    inputSchema: jsonSchema<{ path: string }>({
      type: "object",
      properties: { path: { type: "string" } },
      required: ["path"],
    }),
    execute: async ({ path }) => `wrote ${written.push(path)}`,
  });
  const client = service.client();
  const model = modelThatWrites("src/a.ts", "secrets/key", "docs/a.md");
  const tools = guardTools({ "fs.write": write }, { client, session: "ai", approvalWaitMs: 0 });
  const { steps, text } = await generateText({ model, tools, prompt: "write", stopWhen: stepCountIs(2) });
  assert.deepEqual(written, ["src/a.ts"]);
  assert.equal(text, "done");
  const told = steps[0]?.content.flatMap((part) =>
    part.type === "tool-result" ? [part.output] : part.type === "tool-error" ? [String(part.error)] : [],
  );
  assert.equal(told?.[0], "wrote 1");
  assert.match(String(told?.[1]), /Denied: denied \(policy-deny\).*secrets are not for agents/);
  assert.match(String(told?.[2]), /ReviewPending: approval \w+ waits for a person/);
  // The model is told the same.
  assert.match(JSON.stringify(model.doGenerateCalls[1]?.prompt), /secrets are not for agents/);
  const types: string[] = [];
  for await (const { event } of client.events({ session: "ai" })) types.push(event.type);
  assert.equal(types.filter((type) => type === "tool.requested").length, 3);
  assert.equal(types.filter((type) => type === "tool.completed").length, 1);
});

test("a reviewed tool of the SDK runs once a person approves", async () => {
  const written: string[] = [];
  const write = tool({
    inputSchema: jsonSchema<{ path: string }>({ type: "object" }),
    execute: async ({ path }) => written.push(path),
  });
  const tools = guardTools({ "fs.write": write }, { client: service.client() });
  const generating = generateText({ model: modelThatWrites("docs/b.md"), tools, prompt: "write" });
  let pending: { id: string }[] = [];
  while (pending.length === 0) {
    pending = JSON.parse(await service.run("--json", "approvals")).approvals.filter(
      ({ args }: { args: { path: string } }) => args.path === "docs/b.md",
    );
  }
  assert.deepEqual(written, []);
  await service.run("approvals", "approve", pending[0]?.id ?? "");
  await generating;
  assert.deepEqual(written, ["docs/b.md"]);
});

test("the SDK takes the pieces of a tool that makes them, and its outcome follows the last one", async () => {
  const write = tool({
    inputSchema: jsonSchema<{ path: string }>({ type: "object" }),
    async *execute({ path }) {
      yield `writing ${path}`;
      yield `wrote ${path}`;
    },
  });
  const client = service.client();
  const tools = guardTools({ "fs.write": write }, { client, session: "ai-pieces", approvalWaitMs: 0 });
  const model = modelThatWrites("src/a.ts", "secrets/key");
  const { steps } = await generateText({ model, tools, prompt: "write", stopWhen: stepCountIs(2) });
  const told = steps[0]?.content.flatMap((part) =>
    part.type === "tool-result" ? [part.output] : part.type === "tool-error" ? [String(part.error)] : [],
  );
  assert.equal(told?.[0], "wrote src/a.ts");
  assert.match(String(told?.[1]), /denied \(policy-deny\)/);
  const types: string[] = [];
  for await (const { event } of client.events({ session: "ai-pieces" })) types.push(event.type);
  assert.equal(types.filter((type) => type === "tool.completed").length, 1);
});
