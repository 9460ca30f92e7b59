/** Following: every event once, in order, across restarts and broken streams. */

import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";

import { Client, type FollowState, MemoryCursor, newEvent, StrangeAnswer } from "bitacora-ledger";
import { FileCursor } from "bitacora-ledger/node";

import { RealService } from "./service.js";
import { answerJson, closedAddress, startStub } from "./stub.js";

let service: RealService;
before(async () => void (service = await RealService.start()));
after(() => service.end());

async function append(stream: string, ...data: unknown[]): Promise<void> {
  await service
    .client()
    .append(data.map((one) => newEvent({ source: "tests", type: "x.test", subject: stream, data: one })));
}

test("a follower gives what was and what comes, across restarts of the service, each event once", async () => {
  const states: string[] = [];
  const follower = service.client().follow({ stream: "restarts", onState: ({ state }) => states.push(state) });
  await append("restarts", 0, 1, 2);
  const found: unknown[] = [];
  for await (const { event, line, position } of follower) {
    assert.deepEqual(JSON.parse(line).event, event);
    assert.equal(follower.seen, position);
    const count = found.push(event.data);
    if (count === 3 || count === 5) {
      await service.kill();
      await service.resume();
      await append("restarts", count, count + 1);
    }
    if (count === 7) break;
  }
  assert.deepEqual(found, [0, 1, 2, 3, 4, 5, 6]);
  assert.deepEqual(
    states.filter((state) => state !== "caught-up"),
    ["away", "back", "away", "back"],
  );
});

test("a file's cursor resumes past what was handled, and events not handled come again", async () => {
  const cursor = new FileCursor(join(service.folder, "cursor"));
  await append("cursor", 0, 1, 2, 3);
  const take = async (count: number, handles: number): Promise<unknown[]> => {
    const follower = service.client().follow({ stream: "cursor", cursor });
    const found: unknown[] = [];
    for await (const { event } of follower) {
      found.push(event.data);
      if (found.length <= handles) await follower.handled();
      if (found.length === count) break;
    }
    return found;
  };
  assert.deepEqual(await take(3, 2), [0, 1, 2]);
  assert.deepEqual(await take(2, 2), [2, 3]);
});

test("another ledger's cursor is refused", async () => {
  const cursor = new MemoryCursor();
  await cursor.save({ ledger: "0".repeat(32), after: "1" });
  await assert.rejects(service.client().follow({ cursor })[Symbol.asyncIterator]().next(), { code: "other-ledger" });
});

test("a file that holds no cursor is refused, and a link in the way of a new one is not written through", async () => {
  const path = join(service.folder, "bad-cursor");
  for (const text of [
    "",
    "{}",
    '{"ledger":"a","after":7}',
    '{"ledger":"a","after":"-1"}',
    `{"ledger":"a","after":"1"}${" ".repeat(9_000)}`,
  ]) {
    await writeFile(path, text);
    await assert.rejects(new FileCursor(path).load(), { code: "bad-cursor" }, text.slice(0, 20));
  }
  await assert.rejects(new FileCursor(service.folder).load(), { code: "bad-cursor" });
  await symlink(join(service.folder, "victim"), `${path}.new`);
  await new FileCursor(path).save({ ledger: "a", after: "18446744073709551615" });
  assert.deepEqual(await new FileCursor(path).load(), { ledger: "a", after: "18446744073709551615" });
  const shared = new FileCursor(path);
  await Promise.all(["7", "8", "9"].map((after) => shared.save({ ledger: "a", after })));
  assert.deepEqual(await shared.load(), { ledger: "a", after: "9" });
  await assert.rejects(
    new FileCursor(join(service.folder, "victim")).load().then((found) => assert.ok(found)),
    assert.AssertionError,
  );
});

test("before the first answer a missing service is an error, and afterwards a bound ends the wait", async () => {
  const missing = new Client({ url: await closedAddress() });
  await assert.rejects(missing.follow()[Symbol.asyncIterator]().next(), { code: "unreachable" });
  const cursor = new MemoryCursor();
  await cursor.save({ ledger: "1", after: "1" });
  await assert.rejects(missing.follow({ cursor, awayMs: 250 })[Symbol.asyncIterator]().next(), { code: "unreachable" });
});

test("a caller that gives up gets its reason", async () => {
  const controller = new AbortController();
  const iterator = service.client().follow({ stream: "nothing", signal: controller.signal })[Symbol.asyncIterator]();
  setTimeout(() => controller.abort(new Error("given up")), 100);
  await assert.rejects(iterator.next(), /given up/);
});

/** Begins the stream of a ledger. */
function begin(response: ServerResponse, ledger = "ledger-1"): ServerResponse {
  return response.writeHead(200, { "content-type": "text/event-stream", "ledger-id": ledger });
}

function message(position: string): string {
  const event = { specversion: "1.0", id: position, source: "s", type: "x.t", subject: "s" };
  return `id: ${position}\ndata: ${JSON.stringify({ position, streamVersion: "1", recordedAt: "t", commitment: "00", event })}\n\n`;
}

async function follow(url: string, count: number, onState?: (state: FollowState) => void): Promise<string[]> {
  const found: string[] = [];
  const client = new Client({ url });
  for await (const { position } of client.follow({ silenceMs: 200, awayMs: 3_000, ...(onState ? { onState } : {}) }))
    if (found.push(position) === count) break;
  return found;
}

test("a stream that is cut in a message goes on past the last whole one", async (t) => {
  const stub = await startStub(t, (_, response, turn) => {
    if (turn === 0) begin(response).end(message("1") + message("2").slice(0, -1));
    else if (turn === 1) response.destroy();
    else if (turn === 2) begin(response).end(`${message("2")}event: closing\nretry: 1000\n\n`);
    else begin(response).write(`id: 6\n\n:\n\n${message("7")}`);
  });
  const states: string[] = [];
  assert.deepEqual(await follow(stub.url, 3, ({ state }) => states.push(state)), ["1", "2", "7"]);
  assert.deepEqual(states, ["away", "back", "away", "back"]);
  assert.deepEqual(
    stub.requests.map(({ headers }) => headers["last-event-id"]),
    [undefined, "ledger-1:1", "ledger-1:1", "ledger-1:2"],
  );
});

test("a service that ends every stream at once is asked with growing pauses", async (t) => {
  const stub = await startStub(t, (_, response) => void begin(response).end());
  const signal = AbortSignal.timeout(500);
  const iterator = new Client({ url: stub.url }).follow({ signal })[Symbol.asyncIterator]();
  await assert.rejects(iterator.next(), { name: "TimeoutError" });
  assert.ok(stub.requests.length >= 2 && stub.requests.length <= 4, `${stub.requests.length} requests`);
});

test("a silent stream is connected again", async (t) => {
  const stub = await startStub(
    t,
    (_, response, turn) => void begin(response).write(turn === 0 ? message("1") : message("2")),
  );
  const states: string[] = [];
  assert.deepEqual(await follow(stub.url, 2, ({ state }) => states.push(state)), ["1", "2"]);
  assert.deepEqual(states, ["away", "back"]);
});

test("messages come out whole however their bytes came in", async (t) => {
  const text = `retry: 1000\r\n\r\n:\n\n${message("1").replaceAll("\n", "\r\n")}event: new\ndata: {}\n\n${message("2")}${message("3").replaceAll("x.t", "x.ñ€😀")}`;
  for (const size of [1, 2, 5, 1_000]) {
    const stub = await startStub(t, async (_, response) => {
      begin(response);
      const bytes = Buffer.from(text);
      for (let at = 0; at < bytes.length; at += size) {
        response.write(bytes.subarray(at, at + size));
        if (size > 2 || at % 97 === 0) await new Promise((resolve) => setImmediate(resolve));
      }
    });
    assert.deepEqual(await follow(stub.url, 3), ["1", "2", "3"], `in pieces of ${size}`);
  }
});

test("a message is the same in pieces of any size", async () => {
  const { MessageParser } = await import(new URL("event-stream.js", import.meta.resolve("bitacora-ledger")).href);
  const text =
    ": heartbeat\r\n\r\nid: 1\r\ndata: a: b\r\ndata:c\r\n\r\nevent: caught-up\nid: 2\n\nid: 3\rdata\r\rid: 4";
  const expected = [
    { kind: "", id: "1", data: "a: b\nc" },
    { kind: "caught-up", id: "2", data: undefined },
    { kind: "", id: "3", data: "" },
  ];
  for (const size of [1, 2, 3, 7, 1_000]) {
    const parser = new MessageParser();
    const found: unknown[] = [];
    for (let at = 0; at < text.length; at += size) found.push(...parser.push(text.slice(at, at + size)));
    assert.deepEqual(found, expected, `in pieces of ${size}`);
  }
});

test("a service that repeats, goes back, or answers nonsense is refused", async (t) => {
  const wrong: Record<string, (response: ServerResponse) => void> = {
    "a repeated event": (response) => begin(response).write(message("2") + message("2")),
    "an earlier event": (response) => begin(response).write(message("2") + message("1")),
    "an id that is no position": (response) => begin(response).write("id: -1\n\n"),
    "an event that is not JSON": (response) => begin(response).write("id: 1\ndata: {\n\n"),
    "another event than its id": (response) => begin(response).write(message("2").replace("id: 2", "id: 3")),
    "no ledger": (response) => response.writeHead(200, { "content-type": "text/event-stream" }).write(message("1")),
    "a page": (response) => response.writeHead(200, { "content-type": "text/html", "ledger-id": "1" }).end("<html>"),
    "a failure that is no problem": (response) => begin(response).write("event: failed\ndata: {}\n\n"),
  };
  for (const [name, answer] of Object.entries(wrong)) {
    const stub = await startStub(t, (_, response) => answer(response));
    await assert.rejects(follow(stub.url, 9), StrangeAnswer, name);
    assert.equal(stub.requests.length, 1, name);
  }
});

test("a lasting failure ends the stream, a passing one does not, and another ledger is refused", async (t) => {
  const failed = (retryable: boolean) =>
    `event: failed\ndata: ${JSON.stringify({ code: "c", detail: "d", status: 500, retryable, sideEffects: "none" })}\n\n`;
  const lasting = await startStub(t, (_, response) => void begin(response).write(message("1") + failed(false)));
  await assert.rejects(follow(lasting.url, 2), { name: "Problem", code: "c" });
  const passing = await startStub(
    t,
    (_, response, turn) => void begin(response).write(turn === 0 ? message("1") + failed(true) : message("2")),
  );
  assert.deepEqual(await follow(passing.url, 2), ["1", "2"]);
  const other = await startStub(
    t,
    (_, response, turn) => void begin(response, `ledger-${turn}`).end(message(String(turn + 1))),
  );
  await assert.rejects(follow(other.url, 2), { code: "other-ledger" });
});

test("positions past 2^53 stay exact, followed, read and appended", async (t) => {
  const positions = ["9007199254740993", "9007199254740995", "18446744073709551615"];
  const stored = (position: string) => JSON.parse(message(position).split("data: ")[1] ?? "");
  const stub = await startStub(t, (request, response) => {
    if (request.headers.accept === "text/event-stream") begin(response).write(positions.map(message).join(""));
    else answerJson(response, 200, { events: positions.map(stored), head: { position: positions[2], hash: "00" } });
  });
  const cursor = new MemoryCursor();
  const client = new Client({ url: stub.url });
  const follower = client.follow({ cursor, after: 2n ** 53n });
  const found: string[] = [];
  for await (const { position } of follower) {
    await follower.handled();
    if (found.push(position) === 3) break;
  }
  assert.deepEqual(found, positions);
  assert.match(stub.requests[0]?.url ?? "", /after=9007199254740992$/);
  assert.deepEqual(await cursor.load(), { ledger: "ledger-1", after: "18446744073709551615" });
  const read: string[] = [];
  for await (const { position } of client.events({ after: "9007199254740992" })) read.push(position);
  assert.deepEqual(read, positions);
  assert.throws(() => client.follow({ after: 7 as never }), TypeError);
  assert.throws(() => client.follow({ after: 2n ** 64n }), TypeError);
});

test("a page that leads nowhere is refused", async (t) => {
  const stub = await startStub(t, (_, response) =>
    answerJson(response, 200, { events: [], next: "7", head: { position: "9", hash: "00" } }),
  );
  await assert.rejects(async () => {
    for await (const _ of new Client({ url: stub.url }).pages());
  }, StrangeAnswer);
  assert.equal(stub.requests.length, 2);
});
