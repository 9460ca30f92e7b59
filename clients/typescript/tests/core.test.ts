/** The core entry runs in browsers: it imports nothing of Node, and works in headless Chromium. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { accessSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";

import { RealService } from "./service.js";

const ENTRY = fileURLToPath(import.meta.resolve("bitacora-ledger"));
const BROWSER_TIMEOUT_MS = 40_000;

/** Returns the text of every module that a module imports, itself included, by path; other imports fail. */
async function modulesOf(path: string, found = new Map<string, string>()): Promise<Map<string, string>> {
  if (found.has(path)) return found;
  const text = await readFile(path, "utf8");
  found.set(path, text);
  for (const [, specifier = ""] of text.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*["']([^"']+)["']/g)) {
    assert.match(specifier, /^\.\//, `${path} imports ${specifier}`);
    await modulesOf(resolve(dirname(path), specifier), found);
  }
  return found;
}

test("the core entry imports its own modules alone", async () => {
  const modules = await modulesOf(ENTRY);
  assert.ok(modules.size > 15 && ![...modules.keys()].some((path) => path.includes("file-cursor")));
  for (const [path, text] of modules) assert.doesNotMatch(text, /\bnode:/, path);
  await assert.rejects(modulesOf(fileURLToPath(import.meta.resolve("bitacora-ledger/node"))), /imports node:/);
});

/** The page's own program: it uses the client and reports what it saw. */
const PAGE_PROGRAM = `
import { Client, guarded, newEvent, Denied, Problem } from "/index.js";
const { url, token } = await (await fetch("/config")).json();
const seen = {};
try {
  const client = new Client({ url, token });
  const following = client.follow({ stream: "browser" })[Symbol.asyncIterator]();
  const next = following.next();
  seen.appended = (await client.append(newEvent({ source: "page", type: "x.test", subject: "browser", data: { text: "ñ" } }))).results[0].status;
  seen.followed = (await next).value.event.data;
  await following.return();
  const write = guarded("fs.write", ({ path }) => "wrote " + path, { client });
  seen.allowed = await write({ path: "src/a" });
  seen.denied = await write({ path: "secrets/a" }).catch((error) => error instanceof Denied && error.reasonCode);
  const threads = client.checkpoints();
  await threads.save("browser", { checkpoint: "c1", step: 0, source: "loop", channelVersions: { a: 1 }, values: { a: { bytes: new Uint8Array([0, 255]) } } });
  seen.checkpoint = [...(await threads.get("browser")).values.a.bytes];
  seen.wrong = await new Client({ url, token: "bt_" + "a".repeat(43) }).head().catch((error) => error instanceof Problem && error.code);
} catch (error) {
  seen.error = String(error.stack);
}
await fetch("/seen", { method: "POST", body: JSON.stringify(seen) });
`;

function chromium(): string | undefined {
  const names = ["chromium", "chromium-headless-shell", "google-chrome"];
  const paths = (process.env["PATH"] ?? "")
    .split(delimiter)
    .flatMap((folder) => names.map((name) => join(folder, name)));
  return [process.env["CHROMIUM"] ?? "", ...paths].find((path) => {
    try {
      accessSync(path);
      return path !== "";
    } catch {
      return false;
    }
  });
}

/** Serves the page and the built modules, and resolves `seen` with the page's report. */
async function servePage(t: TestContext, config: () => unknown): Promise<{ origin: string; seen: Promise<unknown> }> {
  let report: (seen: unknown) => void;
  const seen = new Promise<unknown>((resolve) => (report = resolve));
  const modules = await modulesOf(ENTRY);
  const server: Server = createServer(async (request, response) => {
    const send = (type: string, body: string): void => void response.writeHead(200, { "content-type": type }).end(body);
    if (request.url === "/") return send("text/html", '<script type="module" src="/page.js"></script>');
    if (request.url === "/page.js") return send("text/javascript", PAGE_PROGRAM);
    if (request.url === "/config") return send("application/json", JSON.stringify(config()));
    if (request.url === "/seen") {
      let body = "";
      for await (const piece of request) body += piece;
      report(JSON.parse(body));
      return send("text/plain", "");
    }
    const text = modules.get(join(dirname(ENTRY), request.url ?? ""));
    return text === undefined ? void response.writeHead(404).end() : send("text/javascript", text);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

test(
  "a page of an allowed origin uses the client in headless Chromium",
  { skip: chromium() === undefined && "no chromium on the PATH; set CHROMIUM" },
  async (t) => {
    let service: RealService | undefined;
    const { origin, seen } = await servePage(t, () => ({ url: service?.url, token: service?.agentToken }));
    service = await RealService.start("--allow-origin", origin);
    t.after(() => service?.end());
    const profile = await mkdtemp(join(tmpdir(), "bitacora-chromium-"));
    const args = [
      "--headless=new",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-dev-shm-usage",
      "--no-first-run",
      `--user-data-dir=${profile}`,
      `${origin}/`,
    ];
    // A group of its own: the browser's other processes end with it.
    const browser = spawn(chromium() ?? "", args, {
      stdio: "ignore",
      detached: true,
      env: { ...process.env, HOME: profile, TMPDIR: profile },
    });
    t.after(async () => {
      if (browser.pid !== undefined) process.kill(-browser.pid, "SIGKILL");
      await rm(profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    });
    const timeout = new Promise((_, reject) =>
      setTimeout(() => reject(new Error("the page did not report in time")), BROWSER_TIMEOUT_MS).unref(),
    );
    assert.deepEqual(await Promise.race([seen, timeout]), {
      appended: "created",
      followed: { text: "ñ" },
      allowed: "wrote src/a",
      denied: "policy-deny",
      checkpoint: [0, 255],
      wrong: "unauthorized",
    });
  },
);
