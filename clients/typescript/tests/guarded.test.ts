/** Guarded tools against a real service: approvals, outcomes, interruptions. */

import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { after, before, test, type TestContext } from "node:test";
import { setTimeout as pause } from "node:timers/promises";

import {
  CallTimeout,
  Client,
  Denied,
  guarded,
  type GuardOptions,
  NoAnswer,
  ReviewPending,
  uuidv7,
} from "bitacora-ledger";

import { RealService } from "./service.js";
import { answerJson, type Handler, startStub } from "./stub.js";

let service: RealService;
before(async () => void (service = await RealService.start()));
after(() => service.end());

interface Args {
  path: string;
}

/** Returns a tool that counts its runs. */
function counted(
  options: Partial<GuardOptions<string>> = {},
  body: (args: Args, signal: AbortSignal) => unknown = () => undefined,
) {
  const runs: Args[] = [];
  const tool = guarded<Args, string>(
    "fs.write",
    async (args, { signal }) => {
      runs.push(args);
      await body(args, signal);
      return `wrote ${args.path}`;
    },
    { client: service.client(), ...options },
  );
  return { tool, runs };
}

/** Returns the types of the events that the ledger holds about a call. */
async function eventsOf(call: string): Promise<string[]> {
  const types: string[] = [];
  for await (const { event } of service.client().events({ call })) types.push(event.type);
  return types;
}

/** Returns the data of a call's last event. */
async function lastData(call: string): Promise<Record<string, unknown>> {
  let data: unknown;
  for await (const { event } of service
    .client()
    .events({ call, type: ["tool.completed", "tool.failed", "tool.blocked"] }))
    data = event.data;
  return data as Record<string, unknown>;
}

/** Waits for the approval of a call to be asked for, and returns its id. */
async function pendingApproval(call: string): Promise<string> {
  for (let tries = 0; tries < 100; tries += 1) {
    for (const { id, call: asked } of JSON.parse(await service.run("--json", "approvals")).approvals)
      if (asked === call) return id;
    await pause(50);
  }
  throw new Error(`no approval of ${call}`);
}

test("an allowed tool runs once, and its outcome is recorded", async () => {
  const { tool, runs } = counted({ session: "s1", outcome: () => ({ costUsd: "0.0023" }) });
  const call = uuidv7();
  assert.equal(await tool({ path: "src/a.ts" }, { call }), "wrote src/a.ts");
  assert.deepEqual(runs, [{ path: "src/a.ts" }]);
  const types = await eventsOf(call);
  assert.ok(
    types.includes("tool.requested") && types.includes("decision.made") && types.includes("tool.completed"),
    String(types),
  );
  assert.equal((await lastData(call))["cost_micro_usd"], 2_300);
  await assert.rejects(tool({ path: "src/a.ts" }, { call }), { name: "Denied", reasonCode: "repeated" });
  assert.equal(runs.length, 1);
});

test("a denied tool does not run", async () => {
  const { tool, runs } = counted();
  const error = await tool({ path: "secrets/key" }).catch((one: unknown) => one);
  assert.ok(error instanceof Denied);
  assert.deepEqual(
    [error.code, error.reasonCode, error.sideEffects, runs.length],
    ["denied", "policy-deny", "none", 0],
  );
});

test("a reviewed tool waits and runs once a person approves", async () => {
  const { tool, runs } = counted();
  const call = uuidv7();
  const running = tool({ path: "docs/a.md" }, { call });
  const approval = await pendingApproval(call);
  assert.equal(runs.length, 0);
  await service.run("approvals", "approve", approval, "--note", "fine");
  assert.equal(await running, "wrote docs/a.md");
  assert.equal(runs.length, 1);
});

test("arguments that change during the wait change nothing", async () => {
  const { tool, runs } = counted();
  const call = uuidv7();
  const args = { path: "docs/same.md" };
  const running = tool(args, { call });
  const approval = await pendingApproval(call);
  args.path = "secrets/key";
  await service.run("approvals", "approve", approval);
  await running;
  assert.deepEqual(runs, [{ path: "docs/same.md" }]);
});

test("an approval is found by a client with short bounds", async () => {
  const { tool } = counted({ client: service.client({ answerMs: 300, requestMs: 900 }) });
  const call = uuidv7();
  const running = tool({ path: "docs/short.md" }, { call });
  const approval = await pendingApproval(call);
  await pause(600);
  await service.run("approvals", "approve", approval);
  assert.equal(await running, "wrote docs/short.md");
});

test("a question that the service holds is not asked again", async (t) => {
  const stub = await startStub(t, (_, response, turn) => {
    const answer = (status: string) => answerJson(response, 200, { id: "a1", status, call: "c", position: "7" });
    if (turn === 0) answer("pending");
    else setTimeout(answer, 500, "approved");
  });
  const client = new Client({ url: stub.url, answerMs: 100, requestMs: 100 });
  assert.equal((await client.waitForApproval("a1")).status, "approved");
  assert.deepEqual(
    stub.requests.map(({ url }) => url),
    ["/v1/ledgers/main/approvals/a1?wait=0", "/v1/ledgers/main/approvals/a1?wait=20s"],
  );
});

test("a tool that a person rejects does not run", async () => {
  const { tool, runs } = counted();
  const call = uuidv7();
  const running = tool({ path: "docs/b.md" }, { call });
  await Promise.all([
    assert.rejects(running, { name: "Denied", reasonCode: "approval-rejected" }),
    pendingApproval(call).then((approval) => service.run("approvals", "reject", approval, "--note", "no")),
  ]);
  assert.equal(runs.length, 0);
});

test("without a person the wait ends with the approval's id, and the call runs later with it", async () => {
  const { tool, runs } = counted({ approvalWaitMs: 300 });
  const error = await tool({ path: "docs/c.md" }).catch((one: unknown) => one);
  assert.ok(error instanceof ReviewPending);
  await service.run("approvals", "approve", error.approval);
  assert.equal(runs.length, 0);
  assert.equal(await tool({ path: "docs/c.md" }, { call: error.call, approval: error.approval }), "wrote docs/c.md");
});

test("no wait at all is possible, and the wait survives a restart of the service", async () => {
  await assert.rejects(counted({ approvalWaitMs: 0 }).tool({ path: "docs/d.md" }), ReviewPending);
  const { tool, runs } = counted();
  const call = uuidv7();
  const running = tool({ path: "docs/e.md" }, { call });
  const approval = await pendingApproval(call);
  await service.kill();
  await service.resume();
  await service.run("approvals", "approve", approval);
  await running;
  assert.equal(runs.length, 1);
});

test("a person's edit denies, or runs with the edited arguments where the tool accepts that", async () => {
  for (const acceptEdits of [false, true]) {
    const { tool, runs } = counted({ acceptEdits });
    const call = uuidv7();
    const running = tool({ path: "docs/f.md" }, { call }).catch((error: unknown) => error);
    await service.run("approvals", "edit", await pendingApproval(call), "--args", '{"path":"docs/g.md"}');
    if (acceptEdits) assert.equal(await running, "wrote docs/g.md");
    else assert.equal(((await running) as Denied).reasonCode, "approval-edited");
    assert.deepEqual(runs, acceptEdits ? [{ path: "docs/g.md" }] : []);
  }
});

test("a caller that gives up during the wait gets its reason, and nothing runs", async () => {
  const { tool, runs } = counted();
  const call = uuidv7();
  const controller = new AbortController();
  const running = tool({ path: "docs/h.md" }, { call, signal: controller.signal });
  await Promise.all([
    assert.rejects(running, /given up/),
    pendingApproval(call).then(() => controller.abort(new Error("given up"))),
  ]);
  assert.equal(runs.length, 0);
});

test("an error is recorded and thrown as it is", async () => {
  const { tool } = counted({}, () => {
    throw new RangeError("too far");
  });
  const call = uuidv7();
  await assert.rejects(tool({ path: "src/a.ts" }, { call }), RangeError);
  const data = await lastData(call);
  assert.deepEqual([data["status"] ?? "error", data["error_type"]], ["error", "RangeError"]);
});

test("a tool that takes longer than its registration allows times out, even if it ignores its signal", async () => {
  const call = uuidv7();
  const { tool } = counted({}, () => pause(6_000, undefined, { ref: false }));
  await assert.rejects(tool({ path: "src/a.ts" }, { call }), CallTimeout);
  assert.equal((await lastData(call))["status"], "timeout");
});

test("an interrupted tool is told, and recorded as interrupted", async () => {
  const controller = new AbortController();
  let told = false;
  const { tool } = counted({}, (_, signal) => {
    signal.addEventListener("abort", () => (told = true));
    setTimeout(() => controller.abort(new Error("given up")), 20);
    return pause(1_000);
  });
  const call = uuidv7();
  await assert.rejects(tool({ path: "src/a.ts" }, { call, signal: controller.signal }), /given up/);
  assert.ok(told);
  assert.equal((await lastData(call))["status"], "interrupted");
});

test("a lost outcome does not hide the result", async () => {
  const lost: unknown[] = [];
  const { tool } = counted({ outcome: () => ({ costUsd: "no number" }), onUnrecorded: (error) => lost.push(error) });
  assert.equal(await tool({ path: "src/a.ts" }), "wrote src/a.ts");
  assert.equal(lost.length, 1);
});

/** Returns the answers of a stub that allows every call and keeps what is reported. */
function allowing(reports: Record<string, unknown>[], obligations: object = {}): Handler {
  return (request, response, _, body) => {
    const { call, ...rest } = JSON.parse(body) as Record<string, unknown>;
    if (request.url?.endsWith("/outcome")) {
      reports.push(rest);
      return answerJson(response, 200, { call, type: "tool.completed", position: "8" });
    }
    const allow = { verdict: "allow", reasonCode: "allowed", reason: "r", mode: "enforce", position: "7" };
    answerJson(response, 200, { call, ...allow, obligations });
  };
}

/** Takes all pieces. */
async function all<T>(pieces: AsyncIterable<T>): Promise<T[]> {
  const taken: T[] = [];
  for await (const piece of pieces) taken.push(piece);
  return taken;
}

/** Returns a guarded tool that makes pieces, the reports about it, and what became of its source. */
async function streaming(t: TestContext, end: () => unknown = () => undefined, obligations: object = {}) {
  const reports: Record<string, unknown>[] = [];
  const stub = await startStub(t, allowing(reports, obligations));
  const source = { released: false };
  const tool = guarded<object, AsyncIterable<number>>(
    "count",
    async function* () {
      try {
        yield 1;
        yield 2;
        await end();
      } finally {
        source.released = true;
      }
    },
    { client: new Client({ url: stub.url }) },
  );
  return { tool, reports, source, statuses: () => reports.map(({ status }) => status) };
}

test("a tool that makes pieces is reported once the last one was taken", async (t) => {
  const { tool, reports, statuses } = await streaming(t);
  const taken: number[] = [];
  const pieces = await tool({});
  for await (const piece of pieces) {
    assert.deepEqual(reports, []);
    taken.push(piece);
  }
  assert.deepEqual([taken, statuses()], [[1, 2], ["ok"]]);
  assert.equal((await pieces[Symbol.asyncIterator]().next()).done, true);
  assert.equal(reports.length, 1);
});

test("a tool that fails between its pieces is reported as failed, and its error is thrown as it is", async (t) => {
  const { tool, reports, statuses } = await streaming(t, () => {
    throw new RangeError("too far");
  });
  await assert.rejects(all(await tool({})), RangeError);
  assert.deepEqual([statuses(), reports[0]?.["errorType"]], [["error"], "RangeError"]);
});

test("a consumer that stops early interrupts the tool", async (t) => {
  const { tool, reports, source, statuses } = await streaming(t);
  for await (const piece of await tool({})) if (piece === 1) break;
  assert.ok(source.released);
  assert.deepEqual([statuses(), reports[0]?.["errorType"]], [["interrupted"], "StoppedEarly"]);
  const unread = await tool({});
  await (unread as AsyncGenerator<number>).return(undefined);
  assert.deepEqual(statuses(), ["interrupted", "interrupted"]);
});

test("the time of a tool and its caller's signal bound the pieces too", async (t) => {
  const slow = await streaming(t, () => pause(5_000, undefined, { ref: false }), { timeoutMs: 100 });
  await assert.rejects(all(await slow.tool({})), CallTimeout);
  assert.deepEqual(slow.statuses(), ["timeout"]);
  await slow.tool({});
  await pause(300);
  assert.deepEqual(slow.statuses(), ["timeout", "timeout"], "nobody took a piece");
  const given = await streaming(t, () => pause(5_000, undefined, { ref: false }));
  const controller = new AbortController();
  const pieces = await given.tool({}, { signal: controller.signal });
  setTimeout(() => controller.abort(new Error("given up")), 50);
  await assert.rejects(all(pieces), /given up/);
  assert.deepEqual(given.statuses(), ["interrupted"]);
});

test("a stream stays one, and is reported when it ends or is cancelled; a generator is refused", async (t) => {
  const reports: Record<string, unknown>[] = [];
  const stub = await startStub(t, allowing(reports));
  const client = new Client({ url: stub.url });
  let cancelled = false;
  const made = (): ReadableStream<number> =>
    new ReadableStream<number>({
      start: (controller) => [1, 2].forEach((piece) => controller.enqueue(piece)),
      pull: (controller) => controller.close(),
      cancel: () => void (cancelled = true),
    });
  const tool = guarded<object, ReadableStream<number>>("count", made, { client });
  const reader = (await tool({})).getReader();
  assert.deepEqual(
    [await reader.read(), await reader.read()].map(({ value }) => value),
    [1, 2],
  );
  assert.equal(reports.length, 0);
  assert.equal((await reader.read()).done, true);
  assert.equal(reports[0]?.["status"], "ok");
  await (await tool({})).cancel("enough");
  assert.deepEqual([cancelled, reports[1]?.["status"]], [true, "interrupted"]);
  const lazy = guarded<object, Iterable<number>>(
    "count",
    function* () {
      yield 1;
    },
    { client },
  );
  await assert.rejects(lazy({}), /async generator/);
  assert.equal(reports[2]?.["status"], "error");
});

/** Answers every question about an approval at once, and returns the times of the questions. */
async function questions(
  t: TestContext,
  waitMs: number,
  answer: (response: ServerResponse) => void,
): Promise<number[]> {
  const times: number[] = [];
  const stub = await startStub(t, (_, response) => {
    times.push(performance.now());
    answer(response);
  });
  const client = new Client({ url: stub.url, retries: 0 });
  await client.waitForApproval("a1", { waitMs }).catch((error: unknown) => assert.ok(error instanceof NoAnswer));
  return times;
}

test("an approval that is not held back, or refused for now, is asked for ever less often", async (t) => {
  const pending = { id: "a1", status: "pending", call: "c", position: "7" };
  assert.ok((await questions(t, 1_500, (response) => answerJson(response, 200, pending))).length <= 6);
  const busy = { code: "overloaded", detail: "d", retryable: true, sideEffects: "none", status: 503 };
  assert.ok((await questions(t, 1_500, (response) => answerJson(response, 503, busy))).length <= 6);
  const times = await questions(t, 2_500, (response) => answerJson(response, 503, busy, { "retry-after": "1" }));
  assert.ok(times.length >= 2 && times.length <= 3 && (times[1] ?? 0) - (times[0] ?? 0) > 950, String(times));
});

test("a clock that is set back does not make the wait longer", async (t) => {
  const stub = await startStub(t, (_, response) =>
    answerJson(response, 200, { id: "a1", status: "pending", call: "c", position: "7" }),
  );
  const client = new Client({ url: stub.url });
  const real = Date.now;
  let calls = 0;
  t.mock.method(Date, "now", () => real() - 3_600_000 * (calls += 1));
  const begun = performance.now();
  assert.equal((await client.waitForApproval("a1", { waitMs: 400 })).status, "pending");
  assert.ok(performance.now() - begun < 2_000);
  assert.ok(
    stub.requests.slice(1).every(({ url }) => url.endsWith("?wait=1s")),
    JSON.stringify(stub.requests.map(({ url }) => url)),
  );
});

test("an obligation that the tool does not keep blocks the call", async (t) => {
  for (const [obligation, value] of Object.entries({
    excludeSecretFiles: true,
    somethingNew: true,
    timeoutMs: "soon",
  })) {
    const stub = await startStub(t, (request, response, turn) => {
      const { call } = JSON.parse(stub.requests[turn]?.body ?? "{}");
      if (request.url?.endsWith("/outcome")) answerJson(response, 200, { call, type: "tool.blocked", position: "8" });
      else
        answerJson(response, 200, {
          call,
          verdict: "allow",
          reasonCode: "allowed",
          reason: "r",
          mode: "enforce",
          position: "7",
          obligations: { timeoutMs: 50, [obligation]: value },
        });
    });
    const client = new Client({ url: stub.url });
    const { tool, runs } = counted({ client });
    await assert.rejects(tool({ path: "src/a.ts" }), { name: "Denied", reasonCode: "obligation-unmet" });
    assert.equal(JSON.parse(stub.requests[1]?.body ?? "{}").status, "blocked");
    assert.equal(runs.length, 0);
    const keeps = counted({ client, excludesSecretFiles: true });
    if (obligation === "excludeSecretFiles") await keeps.tool({ path: "src/a.ts" });
    else await assert.rejects(keeps.tool({ path: "src/a.ts" }), Denied);
  }
});
