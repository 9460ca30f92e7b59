/** An agent of the Vercel AI SDK with a guarded tool and a scripted model. It needs an agent's token in `coder.token`. */

import { readFileSync } from "node:fs";

import { generateText, jsonSchema, stepCountIs, tool } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import { Client } from "bitacora-ledger";

import { guardTools } from "./vercel-ai.mjs";

const client = new Client({
  url: process.env["BITACORA_URL"] ?? "http://127.0.0.1:7717",
  token: readFileSync("coder.token", "utf8"),
});
const bash = tool({
  description: "Runs a command",
  inputSchema: jsonSchema<{ command: string }>({ type: "object", properties: { command: { type: "string" } } }),
  execute: async ({ command }) => `ran ${command}`,
});

type Said = Awaited<ReturnType<MockLanguageModelV3["doGenerate"]>>;

const USAGE: Said["usage"] = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};
const asked = ["ls", "git push --force", "rm notes.txt"].map((command, index): Said => {
  const call = { toolCallId: `call-${index}`, toolName: "Bash", input: JSON.stringify({ command }) };
  const finishReason = { unified: "tool-calls", raw: undefined } as const;
  return { content: [{ type: "tool-call", ...call }], finishReason, usage: USAGE, warnings: [] };
});

const { steps } = await generateText({
  model: new MockLanguageModelV3({ doGenerate: asked }), // your own model
  // Without `approvalWaitMs: 0` a reviewed call waits five minutes for a person.
  tools: guardTools({ Bash: bash }, { client, cwd: process.cwd(), approvalWaitMs: 0 }),
  prompt: "go",
  stopWhen: stepCountIs(asked.length),
});
for (const part of steps.flatMap(({ content }) => content)) {
  if (part.type === "tool-result") console.log(part.output);
  if (part.type === "tool-error") console.log(String(part.error));
}
