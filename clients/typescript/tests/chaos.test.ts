/** A service that fails in every way it can, and many callers at once: nothing counts that was not done. */

import assert from "node:assert/strict";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { test, type TestContext } from "node:test";
import { setTimeout as pause } from "node:timers/promises";

import { Client, newEvent } from "bitacora-ledger";

const CALLERS = 32;
/** Acts of one caller. */
const ACTS = 12;

/** What becomes of a right answer, or of one that allows and records something else. */
const FAULTS: Record<string, (socket: Socket, right: string, wrong: string) => unknown> = {
  twice: (socket, right) => socket.write(right + right),
  slow: async (socket, right) => {
    for (let at = 0; at < right.length; at += 64) {
      socket.write(right.slice(at, at + 64));
      await pause(1);
    }
  },
  other: (socket, _, wrong) => socket.write(wrong),
  page: (socket, _, wrong) => socket.write(wrong.replace("application/json", "text/html")),
  stall: () => undefined,
  drip: async (socket, _, wrong) => {
    for (let at = 0; at < wrong.length && socket.writable; at += 8) {
      socket.write(wrong.slice(at, at + 8));
      await pause(60);
    }
  },
  end: (socket) => socket.end(),
  cut: (socket, _, wrong) => socket.end(wrong.slice(0, -9)),
  flood: async (socket, _, wrong) => {
    socket.write(wrong.replace("content-length: ", "content-length: 10000000000\r\nx-was: "));
    for (let sent = 0; sent < 64 && socket.writable; sent += 1) {
      socket.write(Buffer.alloc(1 << 20, " "));
      await pause(1);
    }
  },
  "two ends": (socket, _, wrong) => socket.write(wrong.replace("\r\n\r\n", "\r\ntransfer-encoding: chunked\r\n\r\n")),
  "no end": (socket, _, wrong) => socket.write(wrong.replace("content-length", "x-length")),
};

/** Returns numbers from 0 to 1 that are the same for a seed. */
function randoms(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
}

function answer(status: number, members: object): string {
  const body = JSON.stringify(members);
  return `HTTP/1.1 ${status} X\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

function allow(call: string): string {
  return answer(200, { call, verdict: "allow", reasonCode: "x", reason: "y", position: "7", mode: "enforce" });
}

function receipt(id: string): string {
  const results = [{ id, position: "7", streamVersion: "1", commitment: "00", status: "created" }];
  return answer(201, { results, first: "7", last: "7", head: { position: "7", hash: "00" }, derived: [] });
}

/** Starts the service. It allows and records what has an even id. */
async function startChaos(t: TestContext, random: () => number) {
  const [allowed, recorded, faults] = [new Set<string>(), new Set<string>(), new Set<string>()];
  const names = Object.keys(FAULTS);
  const handle = (socket: Socket, body: string): void => {
    const { call, id } = JSON.parse(body) as { call?: string; id?: string };
    const name = call ?? id ?? "";
    const isYes = /[02468]$/.test(name);
    const fault = names[Math.floor(random() * names.length * 1.5)];
    const refused = answer(422, { code: "bad-event", detail: "d", retryable: false, sideEffects: "none", status: 422 });
    const right = isYes ? (call === undefined ? receipt(name) : allow(name)) : refused;
    if (isYes && (fault === undefined || fault === "twice" || fault === "slow"))
      (call === undefined ? recorded : allowed).add(name);
    if (fault === undefined) return void socket.write(right);
    faults.add(fault);
    FAULTS[fault]?.(socket, right, call === undefined ? receipt("of-another") : allow("of-another"));
  };
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    let unread = "";
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("data", (piece) => {
      unread += piece.toString();
      const [head = "", body] = unread.split("\r\n\r\n");
      const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0);
      if (body === undefined || body.length < length) return;
      unread = "";
      handle(socket, body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, allowed, recorded, faults };
}

for (const seed of [1, 2]) {
  test(`nothing counts that was not done, with seed ${seed}`, async (t) => {
    const random = randoms(seed);
    const chaos = await startChaos(t, random);
    const client = new Client({ url: chaos.url, retries: 1, answerMs: 1_000, requestMs: 2_200 });
    const [allowed, recorded] = [new Set<string>(), new Set<string>()];
    const act = async (id: string, isEvent: boolean, signal: AbortSignal): Promise<void> => {
      if (isEvent) {
        await client.append(newEvent({ id, source: "agent/1", type: "x.a", subject: "s" }), { signal });
        recorded.add(id);
      } else if ((await client.decide({ call: id, tool: "add", args: {} }, { signal })).allowed) allowed.add(id);
    };
    const caller = async (number: number): Promise<void> => {
      for (let turn = 0; turn < ACTS; turn += 1) {
        const controller = new AbortController();
        if (random() < 0.25) setTimeout(() => controller.abort(), random() * 20);
        await act(`${number}-${turn}`, turn % 3 === 2, controller.signal).catch(() => undefined);
      }
    };
    await Promise.all(Array.from({ length: CALLERS }, (_, number) => caller(number)));
    assert.deepEqual(
      [...allowed].filter((id) => !chaos.allowed.has(id)),
      [],
    );
    assert.deepEqual(
      [...recorded].filter((id) => !chaos.recorded.has(id)),
      [],
    );
    // Some must succeed; a busy machine is late for many.
    assert.ok(allowed.size > 0 && recorded.size > 0, `${allowed.size} ${recorded.size}`);
    assert.deepEqual([...chaos.faults].sort(), Object.keys(FAULTS).sort());
  });
}
