/** A real service in a scratch folder: the program named by BITACORA_PROGRAM, with tools and a policy registered. */

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";

import { Client, type ClientOptions } from "bitacora-ledger";

const PROGRAM = process.env["BITACORA_PROGRAM"] ?? "bitacora";
const START_TIMEOUT_MS = 20_000;

const TOOL = {
  tool: "fs.write",
  version: "1",
  description: "writes a file",
  input_schema: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
  risk: "write",
  blast_radius: "low",
  requires_review: false,
  allowed_roles: ["agent"],
  timeout_ms: 2_000,
  retry: { max: 1, backoff_ms: 100 },
  idempotency: "none",
  binding_fields: [],
  context_from: { pointer: "/path", normaliser: "path" },
};

const POLICY = {
  rules: [
    {
      id: "secrets",
      match: { tool: "fs.*", context: "secrets" },
      action: "deny",
      reason: "secrets are not for agents",
    },
    { id: "docs", match: { tool: "fs.*", context: "docs" }, action: "review", reason: "a person looks at documents" },
    { id: "sources", match: { tool: "fs.*" }, action: "allow", reason: "agents work on the sources", trust: "ignore" },
  ],
};

/** A running service. `end` it after the test. */
export class RealService {
  readonly folder: string;
  readonly #serveOptions: readonly string[];
  #process: ChildProcess | undefined;
  #url = "";
  agentToken = "";

  private constructor(folder: string, serveOptions: readonly string[]) {
    this.folder = folder;
    this.#serveOptions = serveOptions;
  }

  /** Starts a service with the tests' tools, policy and agent. */
  static async start(...serveOptions: string[]): Promise<RealService> {
    const service = await RealService.empty(...serveOptions);
    service.agentToken = (await service.run("token", "create", "--role", "agent", "--agent", "coder")).trim();
    await service.run("tools", "register", await service.file("tool.json", TOOL));
    await service.run("policy", "publish", await service.file("policy.json", POLICY), "--activate");
    return service;
  }

  /** Starts a service with nothing but its first admin. */
  static async empty(...serveOptions: string[]): Promise<RealService> {
    const service = new RealService(await mkdtemp(join(tmpdir(), "bitacora-ts-")), serveOptions);
    await service.resume();
    return service;
  }

  get url(): string {
    return this.#url;
  }

  client(options: Partial<ClientOptions> = {}): Client {
    return new Client({ url: this.#url, token: this.agentToken, ...options });
  }

  /** Runs a command of the program as its admin, and returns what it prints. */
  async run(...args: string[]): Promise<string> {
    const options = { cwd: this.folder, env: { ...process.env, BITACORA_URL: this.#url, BITACORA_KEYRING: "keyring" } };
    const { stdout } = await promisify(execFile)(PROGRAM, args, options);
    return stdout;
  }

  /** Kills the service at once, as a crash does. */
  async kill(): Promise<void> {
    const process = this.#process;
    this.#process = undefined;
    if (process === undefined) return;
    process.kill("SIGKILL");
    if (process.exitCode === null && process.signalCode === null) await once(process, "exit");
  }

  /** Starts the service, again at the same address. */
  async resume(): Promise<void> {
    const listen = this.#url === "" ? "127.0.0.1:0" : new URL(this.#url).host;
    const args = [
      "serve",
      "--create",
      "main",
      "--data",
      "data",
      "--keyring",
      "keyring",
      "--listen",
      listen,
      ...this.#serveOptions,
    ];
    const process = spawn(PROGRAM, args, { cwd: this.folder, stdio: ["ignore", "pipe", "ignore"] });
    this.#process = process;
    const timeout = setTimeout(() => process.kill("SIGKILL"), START_TIMEOUT_MS);
    for await (const line of createInterface({ input: process.stdout })) {
      const url = /listening on (http:\S+)/.exec(line)?.[1];
      if (url === undefined) continue;
      clearTimeout(timeout);
      process.stdout.resume();
      this.#url = url;
      return;
    }
    throw new Error(`${PROGRAM} serve ended before it listened`);
  }

  async end(): Promise<void> {
    await this.kill();
    await rm(this.folder, { recursive: true, force: true });
  }

  async file(name: string, content: unknown): Promise<string> {
    await writeFile(join(this.folder, name), JSON.stringify(content));
    return name;
  }
}
