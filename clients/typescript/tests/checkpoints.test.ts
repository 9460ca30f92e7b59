/** Checkpoints against a real service. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Client, type SavedCheckpoint } from "bitacora-ledger";

import { RealService } from "./service.js";
import { closedAddress, startStub } from "./stub.js";

let service: RealService;
before(async () => void (service = await RealService.start()));
after(() => service.end());

async function all(checkpoints: AsyncIterable<SavedCheckpoint>): Promise<string[]> {
  const found: string[] = [];
  for await (const { thread, checkpoint } of checkpoints) found.push(`${thread}/${checkpoint}`);
  return found;
}

test("a thread is saved step by step, found after a crash, forked, copied, listed and deleted", async () => {
  const threads = service.client().checkpoints();
  const first = await threads.save("t/1 ñ", {
    checkpoint: "c1",
    step: -1,
    source: "input",
    metadata: { run_id: "r1" },
    document: { v: 4 },
    channelVersions: { plan: 1, messages: 1, bytes: "1.a" },
    values: {
      plan: { json: ["read", "test"] },
      messages: { json: null },
      bytes: { bytes: new Uint8Array([0, 255, 10]), encoding: "msgpack" },
    },
  });
  assert.equal(first.repeated, false);
  await threads.write(
    "t/1 ñ",
    { checkpoint: "c1" },
    { task: "a", writes: [{ channel: "messages", value: { json: "done" } }] },
  );
  await threads.save("t/1 ñ", {
    checkpoint: "c2",
    parent: "c1",
    step: 0,
    source: "loop",
    channelVersions: { plan: 1, messages: 2 },
    values: { messages: { json: [1] } },
  });
  await service.kill();
  await service.resume();
  const newest = await threads.get("t/1 ñ");
  assert.equal(newest?.checkpoint, "c2");
  assert.deepEqual(newest?.values, {
    plan: { kind: "json", json: ["read", "test"] },
    messages: { kind: "json", json: [1] },
  });
  assert.equal(newest?.parentFound, true);
  const older = await threads.get("t/1 ñ", { checkpoint: "c1" });
  assert.deepEqual(older?.values["bytes"], { kind: "bytes", bytes: new Uint8Array([0, 255, 10]), encoding: "msgpack" });
  assert.deepEqual(older?.document, { v: 4 });
  assert.deepEqual(
    older?.writes.map(({ task, channel, value }) => [task, channel, value]),
    [["a", "messages", { kind: "json", json: "done" }]],
  );
  await threads.fork("t/1 ñ", "c3", { checkpoint: "c1", metadata: { run_id: "r2" } });
  await threads.copy("t/1 ñ", "t2", { checkpoint: "c2" });
  assert.deepEqual(await all(threads.list({ thread: "t/1 ñ", limit: 1 })), ["t/1 ñ/c3", "t/1 ñ/c2", "t/1 ñ/c1"]);
  assert.deepEqual(await all(threads.list({ metadata: { run_id: "r2" } })), ["t/1 ñ/c3"]);
  await assert.rejects(threads.copy("t/1 ñ", "t2"), { code: "thread-taken" });
  await threads.delete("t/1 ñ", { checkpoint: "c3" });
  await threads.delete("t/1 ñ", "all-but-newest");
  assert.deepEqual(await all(threads.list({ thread: "t/1 ñ" })), ["t/1 ñ/c2"]);
  await threads.delete("t2", "thread");
  assert.equal(await threads.get("t2"), undefined);
});

test("contents larger than a request go ahead, and are read back in pieces", async () => {
  const threads = service.client().checkpoints();
  const bytes = new Uint8Array(5 * 1024 * 1024).map((_, index) => (index * 2_654_435_761) >>> 13);
  await threads.save("large", {
    checkpoint: "c1",
    step: 0,
    source: "loop",
    channelVersions: { big: 1, small: 1, text: 1 },
    values: { big: { bytes, encoding: "raw" }, small: { json: 1 }, text: { json: "é".repeat(2_500_000) } },
  });
  const found = await threads.get("large");
  assert.deepEqual(found?.values["small"], { kind: "json", json: 1 });
  const { big, text } = found?.values ?? {};
  assert.ok(big?.kind === "large" && text?.kind === "large");
  assert.deepEqual(await threads.read(big), { kind: "bytes", bytes, encoding: "raw" });
  const read = await threads.read(text);
  assert.ok(read.kind === "bytes" && read.encoding === "application/json");
  assert.equal(JSON.parse(new TextDecoder().decode(read.bytes)), "é".repeat(2_500_000));
});

test("bytes within a request come back as they were", async () => {
  const threads = service.client().checkpoints();
  const bytes = new Uint8Array(20_001).map((_, index) => (index * 2_654_435_761) >>> 13);
  const checkpoint = { checkpoint: "c1", step: 0, source: "loop", channelVersions: { a: 1, b: 1 } } as const;
  await threads.save("bytes", { ...checkpoint, values: { a: { bytes }, b: { bytes: new Uint8Array() } } });
  const { a, b } = (await threads.get("bytes"))?.values ?? {};
  assert.deepEqual(a, { kind: "bytes", bytes, encoding: undefined });
  assert.deepEqual(b, { kind: "bytes", bytes: new Uint8Array(), encoding: undefined });
});

test("a content that is too large is refused before anything is sent", async () => {
  const threads = new Client({ url: await closedAddress() }).checkpoints();
  const values = { big: { bytes: new Uint8Array(64 * 1024 * 1024 + 1) } };
  const saved = threads.save("large", {
    checkpoint: "c1",
    step: 1,
    source: "loop",
    channelVersions: { big: 2 },
    values,
  });
  await assert.rejects(saved, { code: "content-too-large", sideEffects: "none" });
});

test("an act that lost its answer is sent again under its id, and done once", async (t) => {
  const proxied: string[] = [];
  const stub = await startStub(t, async (request, response, turn) => {
    const { body, headers, method, url } = stub.requests[turn] ?? assert.fail();
    proxied.push(JSON.parse(body).id);
    const answer = await fetch(service.url + url, {
      method,
      body,
      headers: { "content-type": "application/json", authorization: headers.authorization ?? "" },
    });
    const text = await answer.text();
    if (turn === 0) response.destroy();
    else response.writeHead(answer.status, { "content-type": "application/json" }).end(text);
    void request;
  });
  const threads = new Client({ url: stub.url, token: service.agentToken }).checkpoints();
  const answer = await threads.save("lost", { checkpoint: "c1", step: 0, source: "loop" });
  assert.equal(answer.repeated, true);
  assert.equal(proxied.length, 2);
  assert.match(proxied[0] ?? "", /^[0-9a-f-]{36}$/);
  assert.equal(proxied[0], proxied[1]);
});
