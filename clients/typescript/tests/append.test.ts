/** Appending: each event once, whatever happens to the service. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Client, type CloudEvent, newEvent, NoAnswer, Problem } from "bitacora-ledger";

import { RealService } from "./service.js";
import { answerJson, closedAddress, startStub, TOKEN } from "./stub.js";

let service: RealService;
before(async () => void (service = await RealService.start()));
after(() => service.end());

function event(stream: string, data: unknown = {}): CloudEvent {
  return newEvent({ source: "tests", type: "x.test", subject: stream, data });
}

async function streamData(client: Client, stream: string): Promise<unknown[]> {
  const found: unknown[] = [];
  for await (const stored of client.events({ stream, limit: 7 })) found.push(stored.event.data);
  return found;
}

test("one event and several are appended, and come back in pages", async () => {
  const client = service.client();
  const one = await client.append(event("pages", 0));
  assert.equal(one.results[0]?.status, "created");
  const many = await client.append(Array.from({ length: 20 }, (_, index) => event("pages", index + 1)));
  assert.equal(many.results.length, 20);
  const expected = Array.from({ length: 21 }, (_, index) => index);
  assert.deepEqual(await streamData(client, "pages"), expected);
  const backward: unknown[] = [];
  for await (const stored of client.events({ stream: "pages", limit: 6, backward: true }))
    backward.push(stored.event.data);
  assert.deepEqual(backward, expected.reverse());
});

test("a repeated event has its first receipt, and other contents under its id are refused", async () => {
  const client = service.client();
  const repeated = event("repeated");
  const first = await client.append(repeated);
  const second = await client.append(repeated);
  assert.equal(second.results[0]?.status, "duplicate");
  assert.equal(second.first, first.first);
  const refusal = await client.append({ ...repeated, data: "other" }).catch((error: unknown) => error);
  assert.ok(refusal instanceof Problem);
  assert.deepEqual(
    [refusal.code, refusal.status, refusal.retryable, refusal.sideEffects],
    ["id-reused", 409, false, "none"],
  );
});

test("a condition that does not hold appends nothing, and a retry of one that held is a repetition", async () => {
  const client = service.client();
  const first = event("conditions");
  await client.append(first, { condition: { streamIsNew: true } });
  await assert.rejects(client.append(event("conditions"), { condition: { streamIsNew: true } }), {
    code: "condition-failed",
  });
  const second = event("conditions");
  await client.append(second, { condition: { streamVersion: "1" } });
  const again = await client.append(second, { condition: { streamVersion: "1" } });
  assert.equal(again.results[0]?.status, "duplicate");
  const tagged = { ...event("conditions"), tags: "mañana" };
  const condition = { failIfEventsMatch: { tags: ["mañana"] } };
  await client.append(tagged, { condition });
  await assert.rejects(client.append(event("conditions"), { condition }), { code: "condition-failed" });
});

test("an appender gives each caller its own receipt, and a refused event fails alone", async () => {
  const appender = service.client().appender({ batchEvents: 16 });
  const events = Array.from({ length: 50 }, (_, index) => event("appender", index));
  const bad = { ...event("appender", "bad"), type: "ledger.created" };
  events.splice(20, 0, bad);
  const receipts = await Promise.allSettled(events.map((one) => appender.append(one)));
  await appender.close();
  receipts.forEach((receipt, index) => {
    if (events[index] === bad) assert.equal((receipt as PromiseRejectedResult).reason.code, "reserved-type");
    else assert.equal((receipt as PromiseFulfilledResult<{ id: string }>).value.id, events[index]?.id);
  });
  assert.deepEqual(
    await streamData(service.client(), "appender"),
    Array.from({ length: 50 }, (_, index) => index),
  );
  await assert.rejects(appender.append(event("appender")), { code: "appender-closed" });
});

test("an appender's queue is bounded, and a caller that gives up takes its event out", async () => {
  const appender = service.client().appender({ queueEvents: 2, batchEvents: 1 });
  const controller = new AbortController();
  const first = appender.append(event("queue", "first"));
  const second = appender.append(event("queue", "second"), { signal: controller.signal });
  await assert.rejects(appender.append(event("queue", "third")), { code: "queue-full", sideEffects: "none" });
  controller.abort(new Error("given up"));
  await assert.rejects(second, /given up/);
  await first;
  await appender.ready();
  await appender.append(event("queue", "fourth"));
  await appender.close();
  assert.deepEqual(await streamData(service.client(), "queue"), ["first", "fourth"]);
});

test("a service that is killed and started again has each event once, in order", async () => {
  const appender = service.client().appender({ batchEvents: 5 });
  const events = Array.from({ length: 200 }, (_, index) => event("killed", index));
  const receipts = events.map((one) => appender.append(one));
  for (let kills = 0; kills < 3; kills += 1) {
    await receipts[kills * 60];
    await service.kill();
    await service.resume();
  }
  const positions = (await Promise.all(receipts)).map(({ position }) => BigInt(position));
  await appender.close();
  assert.deepEqual(
    positions,
    [...positions].sort((a, b) => (a < b ? -1 : 1)),
  );
  assert.deepEqual(
    await streamData(service.client(), "killed"),
    Array.from({ length: 200 }, (_, index) => index),
  );
});

test("a lost answer is asked for again with the same bytes", async (t) => {
  const receipt = { id: "e1", position: "7", streamVersion: "1", commitment: "00", status: "created" };
  const stub = await startStub(t, (_, response, turn) => {
    if (turn === 0) response.destroy();
    else if (turn === 1)
      answerJson(response, 503, { code: "queue-full", detail: "full", retryable: true, sideEffects: "none" });
    else
      answerJson(response, 201, {
        first: "7",
        last: "7",
        results: [receipt],
        derived: [],
        head: { position: "7", hash: "00" },
      });
  });
  const answer = await new Client({ url: stub.url, token: TOKEN }).append({ ...event("lost"), id: "e1" });
  assert.equal(answer.first, "7");
  assert.equal(stub.requests.length, 3);
  assert.equal(new Set(stub.requests.map(({ body }) => body)).size, 1);
});

test("retries are bounded, and an answer without all receipts is refused", async (t) => {
  const stub = await startStub(t, (_, response) => answerJson(response, 201, { first: "7", last: "7", results: [] }));
  await assert.rejects(new Client({ url: stub.url }).append(event("short")), {
    code: "strange-answer",
    sideEffects: "unknown",
  });
  assert.equal(stub.requests.length, 1);
  const gone = new Client({ url: await closedAddress(), retries: 2 });
  const error = await gone.append(event("gone")).catch((one: unknown) => one);
  assert.ok(error instanceof NoAnswer);
  assert.deepEqual([error.code, error.retryable, error.sideEffects], ["unreachable", true, "none"]);
});

test("an error after a lost answer does not claim that nothing was kept", async (t) => {
  const stub = await startStub(t, (_, response, turn) => {
    if (turn === 0) response.destroy();
    else answerJson(response, 503, { code: "queue-full", detail: "full", retryable: true, sideEffects: "none" });
  });
  const client = new Client({ url: stub.url, retries: 1 });
  await assert.rejects(client.append(event("unknown")), { code: "queue-full", sideEffects: "unknown" });
  const hanging = await startStub(t, (_, response, turn) => {
    if (turn === 0)
      answerJson(response, 503, { code: "queue-full", detail: "full", retryable: true, sideEffects: "none" });
  });
  await assert.rejects(new Client({ url: hanging.url }).append(event("unknown"), { timeoutMs: 300 }), {
    code: "queue-full",
    sideEffects: "unknown",
  });
});
