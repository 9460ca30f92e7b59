/** Requests about one ledger, repeated while the service is busy or gone. */

import { Backoff } from "./backoff.js";
import { Deadline, sleep } from "./deadline.js";
import { BitacoraError, NoAnswer, Problem } from "./error.js";
import { ANSWER_TIMEOUT_MS, MAX_RETRIES, REQUEST_TIMEOUT_MS } from "./limits.js";
import { type Request, Transport } from "./transport.js";

/** The bounds of one request. */
export interface RequestOptions {
  /** Ends the wait; the promise rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** The longest time of the request with all its retries; `REQUEST_TIMEOUT_MS` by default. */
  timeoutMs?: number | undefined;
}

/** The bounds of all requests of a client. */
export interface Bounds {
  /** The longest wait for one answer; `ANSWER_TIMEOUT_MS` by default. */
  answerMs?: number | undefined;
  /** The longest time of a request with all its retries; `REQUEST_TIMEOUT_MS` by default. */
  requestMs?: number | undefined;
  /** Retries of one request; `MAX_RETRIES` by default. */
  retries?: number | undefined;
}

const LEDGER_NAME = /^[a-z0-9][a-z0-9-]{0,63}$/;

/** One ledger of a service. */
export class Service {
  readonly transport: Transport;
  readonly #ledgerPath: string;
  readonly #answerMs: number;
  readonly #requestMs: number;
  readonly #retries: number;

  constructor(transport: Transport, ledger: string, bounds: Bounds) {
    if (!LEDGER_NAME.test(ledger)) throw new TypeError("the ledger's name is not 1 to 64 characters of a-z, 0-9 and -");
    this.transport = transport;
    this.#ledgerPath = `/v1/ledgers/${ledger}`;
    this.#answerMs = bounds.answerMs ?? ANSWER_TIMEOUT_MS;
    this.#requestMs = bounds.requestMs ?? REQUEST_TIMEOUT_MS;
    this.#retries = bounds.retries ?? MAX_RETRIES;
  }

  /** Returns a path below the ledger; parts are percent-encoded. */
  path(strings: TemplateStringsArray, ...parts: string[]): string {
    return this.#ledgerPath + String.raw({ raw: strings }, ...parts.map(encodeURIComponent));
  }

  /**
   * Sends a request that is safe to repeat, unchanged, until its answer is known or its bounds are reached. Returns the answer's
   * JSON, which `read` turns into a result; `undefined` marks an answer that no Bitacora service gives.
   */
  async ask<T>(request: Request, read: (answer: unknown) => T | undefined, options: RequestOptions = {}): Promise<T> {
    const held = request.heldMs ?? 0;
    const whole = new Deadline(options.timeoutMs ?? this.#requestMs + held, options.signal);
    const backoff = new Backoff(this.#retries);
    let last: unknown;
    let mayHaveActed = false;
    try {
      for (;;) {
        try {
          const result = read(await this.transport.exchange(request, this.#answerMs + held, whole.signal));
          if (result === undefined) throw this.transport.strange("the answer lacks members of this request's answer");
          return result;
        } catch (error) {
          // A try that was cut short may have had an effect, like a lost answer.
          mayHaveActed ||= !(error instanceof BitacoraError) || error.sideEffects !== "none";
          if (!whole.signal.aborted) last = error;
          if (mayHaveActed && last instanceof BitacoraError) last.noteUnknownEffects();
          if (whole.signal.aborted) throw error;
        }
        const pause = isRetryable(last) ? backoff.pause(last instanceof Problem ? last.retryAfterMs : 0) : undefined;
        if (pause === undefined) throw last;
        await sleep(pause, whole.signal);
      }
    } catch (error) {
      if (!whole.expired) throw error;
      // A time that ran out during a pause hides the reason of the retries.
      throw last ?? new NoAnswer("nothing came in time", "timeout");
    } finally {
      whole.end();
    }
  }
}

function isRetryable(error: unknown): boolean {
  return error instanceof BitacoraError && error.retryable;
}
