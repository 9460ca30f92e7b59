/** One ledger of a service, as an executor uses it. */

import { withTexts, membersOf } from "./answer.js";
import { Appender, type AppenderOptions } from "./appender.js";
import { type Approval, type ApprovalWaitOptions, waitForApproval } from "./approval.js";
import { Checkpoints } from "./checkpoints.js";
import { type CallRequest, type Decision, type OutcomeAnswer, type OutcomeReport, readDecision } from "./decision.js";
import type { AppendAnswer, CloudEvent, StoredEvent } from "./event.js";
import { Follower, type FollowOptions } from "./follower.js";
import type { components } from "./openapi.js";
import { type Page, type ReadOptions, readPages } from "./pages.js";
import { type Bounds, type RequestOptions, Service } from "./service.js";
import { Transport } from "./transport.js";

/** The service, ledger and token of a client. */
export interface ClientOptions extends Bounds {
  /** `http://HOST:PORT` or `https://HOST:PORT`. */
  url: string;
  /** The ledger's name; `main` by default. */
  ledger?: string;
  /** The token, as `bitacora token create` shows it. The client never looks for one, and shows it nowhere. */
  token?: string;
}

/** A condition on the ledger; if it does not hold nothing is appended, and the error's code is `condition-failed`. */
export type AppendCondition =
  /** The one stream of all events is at this version. */
  | { streamVersion: string | bigint }
  /** The stream has no event yet. */
  | { streamIsNew: true }
  /** No event past `after` has one of the types and all tags. */
  | { failIfEventsMatch: { types?: string[]; tags?: string[] }; after?: string };

/** The bounds and the condition of an append. */
export interface AppendOptions extends RequestOptions {
  condition?: AppendCondition;
}

/** The last durable event. */
export type Head = components["schemas"]["HeadAnswer"];

/** A client of one ledger. Requests that were sent again take effect once: see each method. */
export class Client {
  readonly #service: Service;

  /** Throws a `TypeError` for a malformed address or ledger name, and `TokenFormatError` for a malformed token. */
  constructor(options: ClientOptions) {
    this.#service = new Service(new Transport(options.url, options.token), options.ledger ?? "main", options);
  }

  /** The reason of the last `Ledger-Doubt` header: answers rest on less than the ledger held. Browsers do not show it to pages. */
  get doubt(): string | undefined {
    return this.#service.transport.doubt;
  }

  /**
   * Appends one event, or several as one atomic request. Resolved ⇒ durable. A request without an answer is sent again unchanged:
   * the ledger takes each event once, by its source and id.
   */
  append(events: CloudEvent | readonly CloudEvent[], options: AppendOptions = {}): Promise<AppendAnswer> {
    const list = Array.isArray(events) ? (events as readonly CloudEvent[]) : [events as CloudEvent];
    return this.appendLines(
      list.map((event) => JSON.stringify(event)),
      options,
    );
  }

  /** Appends events that are lines of NDJSON already. */
  appendLines(lines: readonly string[], options: AppendOptions = {}): Promise<AppendAnswer> {
    const request = {
      method: "POST",
      path: this.#service.path`/events`,
      headers: conditionHeaders(options.condition),
      contentType: "application/x-ndjson",
      body: lines.map((line) => `${line}\n`).join(""),
      success: [200, 201],
    } as const;
    return this.#service.ask(request, (answer) => readAppendAnswer(answer, lines), options);
  }

  /** Starts an appender: events of many callers in few requests. */
  appender(options: AppenderOptions = {}): Appender {
    return new Appender(this, options);
  }

  /**
   * Asks whether a call may begin now. Only a resolved decision whose `allowed` is true lets it begin: an error, a timeout and a
   * missing service deny it. A repeated request gets the first answer.
   */
  decide(call: CallRequest, options: RequestOptions = {}): Promise<Decision> {
    const request = { method: "POST", path: this.#service.path`/decide`, ...json(call) } as const;
    return this.#service.ask(request, (answer) => readDecision(answer, call.call), options);
  }

  /** Reports how a call ended. Resolved ⇒ durable. A repeated report counts once. */
  outcome(report: OutcomeReport, options: RequestOptions = {}): Promise<OutcomeAnswer> {
    const request = { method: "POST", path: this.#service.path`/outcome`, ...json(report) } as const;
    return this.#service.ask(
      request,
      (answer) => {
        const told = withTexts<OutcomeAnswer>(answer, "call", "type", "position");
        return told?.call === report.call ? told : undefined;
      },
      options,
    );
  }

  /** Returns an approval; with `waitS`, once it is answered or this many seconds, up to 60, have passed. */
  approval(id: string, options: RequestOptions & { waitS?: number } = {}): Promise<Approval> {
    const query = { wait: options.waitS === undefined ? undefined : options.waitS === 0 ? "0" : `${options.waitS}s` };
    const request = {
      method: "GET",
      path: this.#service.path`/approvals/${id}`,
      query,
      heldMs: (options.waitS ?? 0) * 1_000,
    } as const;
    return this.#service.ask(
      request,
      (answer) => {
        const told = withTexts<Approval>(answer, "id", "status", "call", "position");
        return told?.id === id ? told : undefined;
      },
      options,
    );
  }

  /** Waits for a person's answer. Returns the approval, whose `status` is still `pending` if the wait's bound passed first. */
  waitForApproval(id: string, options: ApprovalWaitOptions = {}): Promise<Approval> {
    return waitForApproval(this, id, options);
  }

  /** Reads events page by page: from the first one on, or `backward` from the last. */
  pages(options: ReadOptions = {}): AsyncGenerator<Page, void, void> {
    return readPages(this.#service, options);
  }

  /** Reads events one by one, in pages. */
  async *events(options: ReadOptions = {}): AsyncGenerator<StoredEvent, void, void> {
    for await (const page of this.pages(options)) yield* page.events;
  }

  /** Returns the last durable event. */
  head(options: RequestOptions = {}): Promise<Head> {
    const request = { method: "GET", path: this.#service.path`/head` } as const;
    return this.#service.ask(request, (answer) => withTexts<Head>(answer, "position", "hash", "time"), options);
  }

  /** Follows the ledger: every matching event once, in order, live, across restarts of the service. */
  follow(options: FollowOptions = {}): Follower {
    return new Follower(this.#service, options);
  }

  /** Returns the checkpoints of threads of work. */
  checkpoints(): Checkpoints {
    return new Checkpoints(this.#service);
  }
}

function json(body: unknown): { body: string; contentType: string } {
  return { body: JSON.stringify(body), contentType: "application/json" };
}

function conditionHeaders(condition: AppendCondition | undefined): Record<string, string> {
  if (condition === undefined) return {};
  if ("streamVersion" in condition) return { "if-match": `"v${condition.streamVersion}"` };
  if ("streamIsNew" in condition) return { "if-none-match": "*" };
  return { "bitacora-append-condition": asciiJson(condition) };
}

/** Returns JSON whose other characters than ASCII are escaped, as headers hold no others. */
function asciiJson(value: unknown): string {
  return JSON.stringify(value).replace(
    /[^\x20-\x7e]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Reads the receipts of these events; `undefined` if they are those of others. */
function readAppendAnswer(answer: unknown, lines: readonly string[]): AppendAnswer | undefined {
  const results = membersOf(answer)?.["results"];
  const isWhole =
    Array.isArray(results) &&
    results.length === lines.length &&
    results.every((one, index) => {
      const receipt = withTexts<{ id: string; position: string; status: string }>(one, "id", "position", "status");
      return receipt !== undefined && receipt.id === (JSON.parse(lines[index] ?? "{}") as { id?: unknown }).id;
    });
  return isWhole ? withTexts<AppendAnswer>(answer, "first", "last") : undefined;
}
