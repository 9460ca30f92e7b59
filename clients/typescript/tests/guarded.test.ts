/** Guarded tools against a real service: approvals, outcomes, interruptions. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";

import { CallTimeout, Client, Denied, guarded, type GuardOptions, ReviewPending, uuidv7 } from "bitacora";

import { RealService } from "./service.js";
import { answerJson, startStub } from "./stub.js";

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
