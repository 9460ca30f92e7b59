/** A service whose answers are well formed, and about something else than what was asked. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";

import { Client, type EventFilter, StrangeAnswer } from "bitacora-ledger";

import { answerJson, startStub, TOKEN } from "./stub.js";

type Threads = ReturnType<Client["checkpoints"]>;
type Members = Record<string, unknown>;

const ACTS: Record<string, (threads: Threads) => Promise<unknown>> = {
  save: (threads) => threads.save("t", { checkpoint: "c1", step: 1, source: "loop" }),
  write: (threads) => threads.write("t", { checkpoint: "c1" }, { task: "a", writes: [] }),
  copy: (threads) => threads.copy("t", "u"),
  fork: (threads) => threads.fork("t", "c2"),
  delete: (threads) => threads.delete("t", "thread"),
};

test("an act is recorded by the answer that names it", async (t) => {
  for (const [name, act] of Object.entries(ACTS)) {
    for (const change of [{}, { id: undefined }, { id: "other" }, { position: 7 }, { repeated: "no" }]) {
      const stub = await startStub(t, (request, response, _, body) => {
        const inQuery = new URL(request.url ?? "", "http://x").searchParams.get("id");
        const id: unknown = inQuery ?? JSON.parse(body).id;
        answerJson(response, 200, { id, position: "7", repeated: false, ...change });
      });
      const done = act(new Client({ url: stub.url }).checkpoints());
      if (Object.keys(change).length === 0) await done;
      else await assert.rejects(done, StrangeAnswer, `${name} ${JSON.stringify(change)}`);
      assert.equal(stub.requests.length, 1);
    }
  }
});

function saved(changes: Members = {}): Members {
  const place = { thread: "t", namespace: "n", checkpoint: "c1", step: 1, source: "loop", position: "5", time: "t" };
  return { ...place, channelVersions: {}, values: {}, writes: [], metadata: { run_id: "r1", k: 1 }, ...changes };
}

test("another checkpoint is not taken for the one that was asked for", async (t) => {
  for (const change of [{}, { thread: "u" }, { namespace: "" }, { checkpoint: "c2" }, { step: "1" }]) {
    const stub = await startStub(t, (_, response) => answerJson(response, 200, saved(change)));
    const got = new Client({ url: stub.url }).checkpoints().get("t", { namespace: "n", checkpoint: "c1" });
    if (Object.keys(change).length === 0) assert.equal((await got)?.checkpoint, "c1");
    else await assert.rejects(got, StrangeAnswer, JSON.stringify(change));
  }
  const inner = await startStub(t, (_, response) => answerJson(response, 200, saved()));
  await assert.rejects(new Client({ url: inner.url }).checkpoints().get("t"), StrangeAnswer, "of the outermost graph");
});

async function all<T>(found: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const one of found) list.push(one);
  return list;
}

test("a list has no checkpoints of others", async (t) => {
  const filter = { thread: "t", namespace: "n", metadata: { run_id: "r1", k: 1 } };
  for (const change of [{}, { thread: "u" }, { namespace: "" }, { metadata: { run_id: "r2" } }]) {
    const stub = await startStub(t, (_, response) =>
      answerJson(response, 200, { checkpoints: [saved(), saved(change)] }),
    );
    const found = all(new Client({ url: stub.url }).checkpoints().list(filter));
    if (Object.keys(change).length === 0) assert.equal((await found).length, 2);
    else await assert.rejects(found, StrangeAnswer, JSON.stringify(change));
  }
});

test("pages that lead back end", async (t) => {
  const stub = await startStub(t, (_, response, turn) =>
    answerJson(response, 200, { checkpoints: [], next: turn % 2 === 0 ? "a" : "b" }),
  );
  await assert.rejects(all(new Client({ url: stub.url }).checkpoints().list()), StrangeAnswer);
  assert.equal(stub.requests.length, 3);
});

test("content that goes ahead is named by its own pieces", async (t) => {
  const bytes = new Uint8Array(4 * 1024 * 1024);
  for (const told of [{ pieces: ["d1"], bytes: 1 }, { pieces: [], bytes: bytes.length }, { pieces: ["d1"] }]) {
    const stub = await startStub(t, (_, response) => answerJson(response, 200, told));
    const done = new Client({ url: stub.url })
      .checkpoints()
      .save("t", { checkpoint: "c1", step: 1, source: "loop", values: { a: { bytes } } });
    await assert.rejects(done, StrangeAnswer);
    assert.equal(stub.requests.length, 1);
  }
});

function stored(position: string, changes: Members = {}, erased?: boolean): Members {
  const event = { specversion: "1.0", id: "e", source: "s", type: "x.a", subject: "s1", run: "r1", tags: "one two" };
  return {
    position,
    streamVersion: "1",
    recordedAt: "t",
    commitment: "00",
    erased,
    event: { ...event, data_base64: "AAH+/w==", ...changes },
  };
}

test("another event is not the one at a position", async (t) => {
  const stub = await startStub(t, (_, response) => answerJson(response, 200, stored("6")));
  const threads = new Client({ url: stub.url }).checkpoints();
  const large = { kind: "large", size: 4, encoding: undefined } as const;
  assert.equal((await threads.read({ ...large, positions: ["6"] })).kind, "bytes");
  await assert.rejects(threads.read({ ...large, positions: ["5"] }), StrangeAnswer);
});

const FILTER: EventFilter = { type: ["x.a", "x.b"], stream: "s1", run: "r1", tag: "two" };
const ELSEWHERE = [{ type: "x.c" }, { subject: "s2" }, { run: "r2" }, { run: undefined }, { tags: "twofold" }];

test("a page has the events that were asked for, in their order", async (t) => {
  const read = async (events: Members[], options: { after?: string; until?: string; backward?: boolean }) => {
    const stub = await startStub(t, (_, response) =>
      answerJson(response, 200, { events, head: { position: "9", hash: "00" } }),
    );
    const found = await all(new Client({ url: stub.url }).events({ ...FILTER, ...options }));
    return found.map(({ position }) => position);
  };
  const erased = stored("7", { run: undefined, tags: undefined }, true);
  assert.deepEqual(await read([stored("6"), erased], { after: "5", until: "7" }), ["6", "7"]);
  assert.deepEqual(await read([erased, stored("6")], { after: "5", until: "7", backward: true }), ["7", "6"]);
  for (const events of [
    ...ELSEWHERE.map((change) => [stored("6", change)]),
    [stored("5")],
    [stored("8")],
    [stored("7"), stored("6")],
    [stored("6"), stored("6")],
  ])
    await assert.rejects(read(events, { after: "5", until: "7" }), StrangeAnswer, JSON.stringify(events));
  await assert.rejects(read([stored("6"), stored("7")], { backward: true }), StrangeAnswer);
});

test("a follower gives no event of another run", async (t) => {
  for (const change of ELSEWHERE) {
    const stub = await startStub(t, (_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream", "ledger-id": "1" });
      response.write(`id: 6\ndata: ${JSON.stringify(stored("6"))}\n\n`);
      response.write(`id: 7\ndata: ${JSON.stringify(stored("7", change))}\n\n`);
    });
    const given = new Client({ url: stub.url }).follow(FILTER)[Symbol.asyncIterator]();
    assert.equal((await given.next()).value?.position, "6");
    await assert.rejects(given.next(), StrangeAnswer, JSON.stringify(change));
  }
});

test("a refusal that drips ends in time", async (t) => {
  const stub = await startStub(t, (_, response) => {
    response.writeHead(503, { "content-type": "application/problem+json" });
    const drip = setInterval(() => response.write(" "), 20);
    response.on("close", () => clearInterval(drip));
  });
  const client = new Client({ url: stub.url, answerMs: 200, retries: 0 });
  const begun = performance.now();
  await assert.rejects(client.head(), { code: "timeout" });
  await assert.rejects(client.follow({ silenceMs: 200 })[Symbol.asyncIterator]().next(), { code: "timeout" });
  assert.ok(performance.now() - begun < 3_000);
});

test("a small answer does not become a large one", async (t) => {
  const packed = gzipSync(Buffer.alloc(64 * 1024 * 1024, " "));
  const stub = await startStub(t, (_, response) => {
    response.writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" }).end(packed);
  });
  await assert.rejects(new Client({ url: stub.url }).head(), /longer than 16777216 bytes/);
  assert.equal(stub.requests[0]?.headers["accept-encoding"], "identity");
});

test("no cookie is kept", async (t) => {
  const stub = await startStub(t, (_, response) =>
    answerJson(response, 200, { position: "7", hash: "00", time: "t" }, { "set-cookie": "session=1; path=/" }),
  );
  const client = new Client({ url: stub.url, token: TOKEN });
  await client.head();
  await client.head();
  assert.deepEqual(
    stub.requests.map(({ headers }) => headers.cookie),
    [undefined, undefined],
  );
});
