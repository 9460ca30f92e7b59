/** Deciding: only HTTP 200 with the verdict `allow` lets a call begin. */

import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { after, before, test } from "node:test";

import { Client, Denied, guarded, Problem, uuidv7 } from "bitacora-ledger";

import { RealService } from "./service.js";
import { answerJson, closedAddress, startStub, TOKEN } from "./stub.js";

let service: RealService;
before(async () => void (service = await RealService.start()));
after(() => service.end());

test("the ledger allows, reviews and denies, and a repeated question has the first answer", async () => {
  const client = service.client();
  const ask = (path: string, call = uuidv7()) => client.decide({ call, tool: "fs.write", args: { path } });
  const call = uuidv7();
  const allowed = await ask("src/a.ts", call);
  assert.deepEqual([allowed.verdict, allowed.allowed, allowed.mode], ["allow", true, "enforce"]);
  assert.equal((await ask("src/a.ts", call)).position, allowed.position);
  const reviewed = await ask("docs/a.md");
  assert.deepEqual([reviewed.verdict, reviewed.allowed, typeof reviewed.approval?.id], ["review", false, "string"]);
  const denied = await ask("secrets/key");
  assert.deepEqual([denied.verdict, denied.allowed, denied.reasonCode], ["deny", false, "policy-deny"]);
  const unknown = await client.decide({ call: uuidv7(), tool: "nobody.knows", args: {} });
  assert.deepEqual([unknown.allowed, unknown.reasonCode], [false, "tool-unknown"]);
});

test("in mode observe everything is allowed, and the real verdict stands beside it", async () => {
  await service.run("mode", "observe");
  try {
    const decision = await service.client().decide({ call: uuidv7(), tool: "fs.write", args: { path: "secrets/key" } });
    assert.deepEqual(
      [decision.verdict, decision.allowed, decision.mode, decision.wouldBe],
      ["allow", true, "observe", "deny"],
    );
  } finally {
    await service.run("mode", "enforce");
  }
});

test("a wrong token is refused, and stands in no error", async () => {
  const client = service.client({ token: TOKEN });
  const error = await client.decide({ call: uuidv7(), tool: "fs.write", args: {} }).catch((one: unknown) => one);
  assert.ok(error instanceof Problem);
  assert.deepEqual([error.code, error.status], ["unauthorized", 401]);
  for (const shown of [
    String(error),
    JSON.stringify(error),
    error.stack,
    JSON.stringify(client),
    (await import("node:util")).inspect(client, { depth: 9, showHidden: true }),
  ]) {
    assert.ok(!shown?.includes(TOKEN), shown);
  }
});

test("an answer that does not say that it is JSON is none, even if it allows", async (t) => {
  for (const type of [
    "text/html",
    "text/plain; charset=application/json",
    "application/jsonp",
    "application/problem+json",
    "",
  ]) {
    const stub = await startStub(t, (_, response, __, body) => {
      const { call } = JSON.parse(body) as { call: string };
      const allow = { call, verdict: "allow", reasonCode: "x", reason: "y", mode: "enforce", position: "7" };
      response.writeHead(200, type === "" ? {} : { "content-type": type }).end(JSON.stringify(allow));
    });
    const client = new Client({ url: stub.url });
    await assert.rejects(client.decide({ call: uuidv7(), tool: "fs.write", args: {} }), { name: "StrangeAnswer" });
    assert.equal(stub.requests.length, 1, type);
    const tool = guarded("fs.write", () => assert.fail("it ran"), { client });
    await assert.rejects(tool({}), { reasonCode: "undecided" });
  }
  const stub = await startStub(t, (_, response, __, body) => {
    const { call } = JSON.parse(body) as { call: string };
    const allow = { call, verdict: "allow", reasonCode: "x", reason: "y", mode: "enforce", position: "7" };
    answerJson(response, 200, allow, { "content-type": "Application/JSON; charset=utf-8" });
  });
  const client = new Client({ url: stub.url });
  assert.ok((await client.decide({ call: uuidv7(), tool: "fs.write", args: {} })).allowed);
  const page = await startStub(t, (_, response) => {
    const busy = { code: "overloaded", detail: "d", retryable: true, sideEffects: "none", status: 503 };
    answerJson(response, 403, busy, { "content-type": "text/html" });
  });
  await assert.rejects(new Client({ url: page.url }).head(), { name: "StrangeAnswer" });
});

test("an answer about something else is none", async (t) => {
  const stub = await startStub(t, (_, response) =>
    answerJson(response, 200, { id: "a2", call: "c2", status: "approved", type: "tool.completed", position: "7" }),
  );
  const client = new Client({ url: stub.url });
  await assert.rejects(client.outcome({ call: "c1", status: "ok" }), { name: "StrangeAnswer" });
  await assert.rejects(client.approval("a1"), { name: "StrangeAnswer" });
});

test("a malformed token is refused without being shown", () => {
  const nearly = `${TOKEN}\nx`;
  assert.throws(
    () => new Client({ url: "http://localhost", token: nearly }),
    (error: Error) => !error.message.includes(TOKEN),
  );
  for (const url of ["ftp://x", "http://user:secret@x", "http://x/y", "http://x?y", "x", ""]) {
    assert.throws(
      () => new Client({ url }),
      (error: Error) => error instanceof TypeError && !error.message.includes("secret"),
      url,
    );
  }
});

/** Answers to `decide` that no tool may run on. */
const NONSENSE: Record<string, (response: ServerResponse, call: string) => void> = {
  "an unknown verdict": (response, call) => answerJson(response, 200, { ...ALLOW, call, verdict: "allowed" }),
  "another letter case": (response, call) => answerJson(response, 200, { ...ALLOW, call, verdict: "Allow" }),
  "a verdict that is no string": (response, call) => answerJson(response, 200, { ...ALLOW, call, verdict: ["allow"] }),
  "no verdict": (response, call) => answerJson(response, 200, { ...ALLOW, call, verdict: undefined }),
  "another call's allow": (response) => answerJson(response, 200, { ...ALLOW, call: "another" }),
  "an allow without a record": (response, call) => answerJson(response, 200, { ...ALLOW, call, position: undefined }),
  "an approval without an id": (response, call) => answerJson(response, 200, { ...ALLOW, call, approval: {} }),
  "obligations that are a text": (response, call) => answerJson(response, 200, { ...ALLOW, call, obligations: "" }),
  "obligations that are a list": (response, call) => answerJson(response, 200, { ...ALLOW, call, obligations: [] }),
  "status 201": (response, call) => answerJson(response, 201, { ...ALLOW, call }),
  "status 206": (response, call) => answerJson(response, 206, { ...ALLOW, call }),
  "status 403": (response, call) => answerJson(response, 403, { ...ALLOW, call }),
  "status 500": (response, call) => answerJson(response, 500, { ...ALLOW, call }),
  "an empty body": (response) => void response.writeHead(200).end(),
  "half a body": (response, call) => void response.writeHead(200).end(JSON.stringify({ ...ALLOW, call }).slice(0, -1)),
  "a cut body": (response, call) => {
    response.writeHead(200, { "content-length": "9999" }).write(JSON.stringify({ ...ALLOW, call }));
    setTimeout(() => response.destroy(), 20);
  },
  "a page": (response) => void response.writeHead(200, { "content-type": "text/html" }).end("<html>allow</html>"),
  "an array": (response, call) => answerJson(response, 200, [{ ...ALLOW, call }]),
  null: (response) => answerJson(response, 200, null),
  "an endless body": (response) => {
    response.writeHead(200);
    const piece = " ".repeat(1 << 20);
    const more = (): void => void (response.destroyed || response.write(piece, more));
    more();
  },
  "an answer that does not come": () => undefined,
  "a body that does not end": (response) => void response.writeHead(200).write("{"),
};
const ALLOW = {
  verdict: "allow",
  reasonCode: "allowed",
  reason: "may run",
  mode: "enforce",
  breaker: "closed",
  deadline: "x",
  trust: {},
  position: "7",
};

test("nothing but a whole allow about this call lets it begin", async (t) => {
  for (const [name, answer] of Object.entries({
    ...NONSENSE,
    "a whole allow": (response: ServerResponse, call: string) => answerJson(response, 200, { ...ALLOW, call }),
  })) {
    await t.test(name, async (t) => {
      const stub = await startStub(t, (request, response) => {
        if (request.url?.endsWith("/outcome"))
          answerJson(response, 200, { call: "c", type: "tool.completed", position: "8" });
        else answer(response, call);
      });
      const call = uuidv7();
      let runs = 0;
      const tool = guarded("fs.write", () => (runs += 1), {
        client: new Client({ url: stub.url, token: TOKEN, retries: 1, answerMs: 300, requestMs: 900 }),
      });
      if (name === "a whole allow") assert.equal(await tool({}, { call }), 1);
      else await assert.rejects(tool({}, { call }), Denied);
      assert.equal(runs, name === "a whole allow" ? 1 : 0);
    });
  }
});

test("an endless answer is given up", async (t) => {
  const stub = await startStub(t, (_, response) => NONSENSE["an endless body"]?.(response, ""));
  await assert.rejects(new Client({ url: stub.url }).head(), { code: "strange-answer" });
});

test("a missing service denies", async () => {
  let runs = 0;
  const tool = guarded("fs.write", () => (runs += 1), {
    client: new Client({ url: await closedAddress(), retries: 1 }),
  });
  await assert.rejects(tool({}), { name: "Denied", reasonCode: "undecided" });
  assert.equal(runs, 0);
});

test("a redirection is not followed, so the token reaches no other host", async (t) => {
  const other = await startStub(t, (_, response) => answerJson(response, 200, { ...ALLOW, call: "c" }));
  for (const status of [301, 302, 303, 307, 308]) {
    const stub = await startStub(
      t,
      (_, response) => void response.writeHead(status, { location: `${other.url}/v1/ledgers/main/decide` }).end(),
    );
    const client = new Client({ url: stub.url, token: TOKEN });
    await assert.rejects(client.decide({ call: "c", tool: "t", args: {} }), { code: "strange-answer" });
    assert.equal(stub.requests[0]?.headers.authorization, `Bearer ${TOKEN}`);
  }
  assert.equal(other.requests.length, 0);
});

test("a server that repeats the token in its refusal does not bring it into the error", async (t) => {
  const stub = await startStub(t, (request, response) => {
    answerJson(response, 400, {
      code: "bad-header",
      detail: `\u001b[31m${request.headers.authorization}`,
      retryable: false,
      sideEffects: "none",
    });
  });
  const error = await new Client({ url: stub.url, token: TOKEN }).head().catch((one: unknown) => one as Problem);
  assert.ok(error instanceof Problem && error.code === "bad-header");
  assert.ok(!JSON.stringify([error.message, error.details]).includes(TOKEN));
  assert.ok(!error.message.includes("\u001b"), "control characters are escaped");
});

test("a caller that gives up gets its own reason, and every wait ends at its bound", async (t) => {
  const stub = await startStub(t, () => undefined);
  const client = new Client({ url: stub.url, token: TOKEN });
  const reason = new Error("given up");
  const call = { call: "c", tool: "t", args: {} };
  await assert.rejects(client.decide(call, { signal: AbortSignal.abort(reason) }), reason);
  const controller = new AbortController();
  setTimeout(() => controller.abort(reason), 50);
  await assert.rejects(client.decide(call, { signal: controller.signal }), reason);
  await assert.rejects(client.decide(call, { timeoutMs: 50 }), { code: "timeout", sideEffects: "unknown" });
});
