/** One exchange with the service: a request, and its answer as a whole or as a stream. */

import { Deadline, unlessAborted } from "./deadline.js";
import { isProblemDetails, NoAnswer, Problem, StrangeAnswer } from "./error.js";
import { MAX_ANSWER_BYTES } from "./limits.js";
import { Token } from "./token.js";

/** A request below the service's address. */
export interface Request {
  method: "GET" | "POST" | "DELETE";
  path: string;
  query?: Query;
  headers?: Record<string, string>;
  body?: string | Uint8Array;
  contentType?: string;
  /** The time for which the service may hold the answer back, besides the usual bounds. */
  heldMs?: number;
  /** The statuses of success; 200 alone by default. */
  success?: readonly number[];
}

/** Parameters of a request; those that are `undefined` are absent, and arrays repeat theirs. */
export type Query = Record<string, string | number | readonly string[] | undefined>;

/** The address and token of a service, and a doubt that its answers reported. */
export class Transport {
  readonly #address: string;
  readonly #token: Token | undefined;
  #doubt: string | undefined;

  constructor(url: string, token: string | undefined) {
    this.#address = serviceAddress(url);
    this.#token = token === undefined ? undefined : new Token(token);
  }

  /** The reason of the last `Ledger-Doubt` header. */
  get doubt(): string | undefined {
    return this.#doubt;
  }

  /** Sends a request once and returns the JSON of its answer. */
  async exchange(request: Request, timeoutMs: number, signal: AbortSignal): Promise<unknown> {
    const deadline = new Deadline(timeoutMs, signal);
    try {
      const response = await this.open(request, deadline);
      if (mediaType(response) !== "application/json") throw this.#abandoned(response, "the answer is not JSON");
      const text = await this.#text(response, deadline, () => deadline.restart());
      return JSON.parse(text) as unknown;
    } catch (error) {
      if (error instanceof SyntaxError) throw this.strange("the answer is not JSON");
      throw error;
    } finally {
      deadline.end();
    }
  }

  /** Sends a request and returns the answer once its head is there. Throws {@link Problem} unless its status is one of success. */
  async open(request: Request, deadline: Deadline): Promise<Response> {
    const headers = new Headers(request.headers);
    // Nothing that is small on its way becomes large here. Browsers ask for what they like.
    headers.set("accept-encoding", "identity");
    if (this.#token !== undefined) headers.set("authorization", this.#token.header);
    if (request.contentType !== undefined) headers.set("content-type", request.contentType);
    let response: Response;
    try {
      const asked = fetch(this.#address + request.path + queryText(request.query), {
        method: request.method,
        headers,
        body: (request.body as BodyInit | undefined) ?? null,
        signal: deadline.signal,
        // A redirection would hand the token to another host.
        redirect: "error",
        cache: "no-store",
        credentials: "omit",
        referrerPolicy: "no-referrer",
      });
      response = await unlessAborted(asked, deadline.signal);
    } catch (error) {
      throw this.failure(error, deadline);
    }
    this.#doubt = response.headers.get("ledger-doubt") ?? this.#doubt;
    if ((request.success ?? [200]).includes(response.status)) return response;
    throw await this.#refusal(response, deadline);
  }

  /** Returns the error for a failed `fetch` or a failed read of its body. The cause is dropped: it may hold what was sent. */
  failure(error: unknown, deadline: Deadline): unknown {
    if (deadline.expired) return new NoAnswer(`${this.#address}: nothing came in time`, "timeout");
    if (deadline.signal.aborted) return deadline.signal.reason;
    const cause = (error as { cause?: { code?: unknown; message?: unknown } } | undefined)?.cause;
    if (cause?.message === "unexpected redirect")
      return this.strange("the answer is a redirection, which is not followed");
    if (typeof cause?.code === "string" && UNREACHABLE.has(cause.code)) {
      return new NoAnswer(`${this.#address}: ${cause.code}; is the service running?`, "unreachable");
    }
    return new NoAnswer(`${this.#address}: the connection broke, or was not made`, "connection-broken");
  }

  /** Returns a text of the service without the token. */
  redact(text: string): string {
    return this.#token?.redact(text) ?? text;
  }

  /** Returns the error for an answer that is not one of this service. */
  strange(fault: string, retryable = false): StrangeAnswer {
    return new StrangeAnswer(`${this.#address}: ${fault}; check the address`, retryable);
  }

  async #refusal(response: Response, deadline: Deadline): Promise<Error> {
    // A refusal is short: its pieces get no time of their own.
    const text = await this.#text(response, deadline, () => undefined);
    let details: unknown;
    try {
      details = REFUSAL_TYPES.has(mediaType(response)) ? JSON.parse(this.redact(text)) : undefined;
    } catch {
      details = undefined;
    }
    if (response.ok || !isProblemDetails(details)) {
      return this.strange(
        `found HTTP ${response.status} without a problem of a Bitacora service`,
        GATEWAY_STATUSES.has(response.status),
      );
    }
    const seconds = Number(response.headers.get("retry-after") ?? Number.NaN);
    return new Problem(response.status, details, Number.isFinite(seconds) ? seconds * 1_000 : undefined);
  }

  /** Ends the connection of an answer whose body is not read, and returns its error. */
  #abandoned(response: Response, fault: string): StrangeAnswer {
    response.body?.cancel().catch(() => undefined);
    return this.strange(fault);
  }

  async #text(response: Response, deadline: Deadline, onPiece: () => void): Promise<string> {
    if (response.body === null) return "";
    const reader = response.body.getReader();
    const decoder = new TextDecoder();
    let text = "";
    let bytes = 0;
    try {
      for (;;) {
        // Node loses the signal of a fetch whose request was collected as garbage: the body would be waited for without a bound.
        const { done, value } = await unlessAborted(reader.read(), deadline.signal);
        if (done) return text + decoder.decode();
        onPiece();
        bytes += value.length;
        if (bytes > MAX_ANSWER_BYTES) {
          throw this.strange(`the answer is longer than ${MAX_ANSWER_BYTES} bytes`);
        }
        text += decoder.decode(value, { stream: true });
      }
    } catch (error) {
      // The connection may be broken already.
      reader.cancel().catch(() => undefined);
      throw error instanceof StrangeAnswer ? error : this.failure(error, deadline);
    }
  }
}

/** Returns the media type of an answer without its parameters. */
function mediaType(response: Response): string {
  return response.headers.get("content-type")?.split(";")[0]?.trim().toLowerCase() ?? "";
}

/** Media types of a refusal; RFC 9457 names the first one. */
const REFUSAL_TYPES: ReadonlySet<string> = new Set(["application/problem+json", "application/json"]);
/** Node's codes for a connection that was never made: nothing was sent. Browsers do not tell. */
const UNREACHABLE: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
]);
/** Statuses that a proxy answers while the service behind it is gone. */
const GATEWAY_STATUSES: ReadonlySet<number> = new Set([502, 503, 504]);

/** Returns the address of a service without its final slash. */
function serviceAddress(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  const isAddress =
    parsed !== undefined && (parsed.protocol === "http:" || parsed.protocol === "https:") && parsed.pathname === "/";
  if (!isAddress || parsed.username + parsed.password + parsed.search + parsed.hash !== "") {
    // The text is not shown: it may hold a password.
    throw new TypeError("the url is not the address of a service: http://HOST:PORT or https://HOST:PORT");
  }
  return parsed.origin;
}

function queryText(query: Query | undefined): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value === undefined) continue;
    for (const one of typeof value === "object" ? value : [value]) parameters.append(name, String(one));
  }
  return parameters.size === 0 ? "" : `?${parameters}`;
}
