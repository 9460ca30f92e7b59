/** Events of many callers in few requests: while one request is on its way, the next one is filled. */

import type { Client } from "./client.js";
import { BitacoraError, Problem } from "./error.js";
import type { CloudEvent, Receipt } from "./event.js";
import { MAX_QUEUED_EVENTS, MAX_REQUEST_BYTES, MAX_REQUEST_EVENTS } from "./limits.js";

/** The sizes of an appender's batches and queue. */
export interface AppenderOptions {
  /** Events of one request, up to 1,000. */
  batchEvents?: number;
  /** Events that wait, besides those on their way; `MAX_QUEUED_EVENTS` by default. */
  queueEvents?: number;
  /** The longest time of one batch's request with all its retries; the client's by default. */
  timeoutMs?: number;
}

/** A waiting event as its line of NDJSON, and its caller's promise. */
interface QueuedEvent {
  line: string;
  bytes: number;
  resolve: (receipt: Receipt) => void;
  reject: (error: unknown) => void;
}

/** Codes of refusals that have nothing to do with any single event. */
const OF_THE_REQUEST: ReadonlySet<string> = new Set([
  "unauthorized",
  "ledger-not-found",
  "method-not-allowed",
  "cross-site",
  "misdirected-host",
]);

/** Appends the events of many callers in the order in which they were given, one request after the other. */
export class Appender {
  readonly #client: Client;
  readonly #batchEvents: number;
  readonly #queueEvents: number;
  readonly #timeoutMs: number | undefined;
  readonly #encoder = new TextEncoder();
  #queue: QueuedEvent[] = [];
  #roomWaiters: (() => void)[] = [];
  #sending: Promise<void> | undefined;
  #closed = false;

  constructor(client: Client, options: AppenderOptions) {
    this.#client = client;
    this.#batchEvents = Math.min(Math.max(options.batchEvents ?? MAX_REQUEST_EVENTS, 1), MAX_REQUEST_EVENTS);
    this.#queueEvents = Math.max(options.queueEvents ?? MAX_QUEUED_EVENTS, 1);
    this.#timeoutMs = options.timeoutMs;
  }

  /**
   * Appends an event, as it is now. Resolved ⇒ durable, with this event's own receipt. A refused event fails alone. Rejects with
   * the code `queue-full` while too many wait: {@link ready} waits for room. After an abort the event may still be appended.
   */
  append(event: CloudEvent, options: { signal?: AbortSignal } = {}): Promise<Receipt> {
    return new Promise((resolve, reject) => {
      options.signal?.throwIfAborted();
      if (this.#closed) throw new BitacoraError("the appender is closed", "appender-closed", false, "none");
      if (this.#queue.length >= this.#queueEvents) {
        throw new BitacoraError(`${this.#queue.length} events wait; await ready() first`, "queue-full", true, "none");
      }
      const line = JSON.stringify(event);
      const queued = { line, bytes: this.#encoder.encode(line).length + 1, resolve, reject };
      if (options.signal !== undefined) this.#watch(queued, options.signal);
      this.#queue.push(queued);
      this.#sending ??= this.#sendAll();
    });
  }

  /** Waits until there is room in the queue. */
  async ready(): Promise<void> {
    while (this.#queue.length >= this.#queueEvents) {
      await new Promise<void>((resolve) => this.#roomWaiters.push(resolve));
    }
  }

  /** Takes no more events and waits until every waiting one was answered. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#sending;
  }

  /** Removes a waiting event once its caller gives up. */
  #watch(queued: QueuedEvent, signal: AbortSignal): void {
    const { resolve, reject } = queued;
    const stop = (): void => {
      this.#queue = this.#queue.filter((one) => one !== queued);
      this.#wake();
      reject(signal.reason);
    };
    signal.addEventListener("abort", stop, { once: true });
    queued.resolve = (receipt) => {
      signal.removeEventListener("abort", stop);
      resolve(receipt);
    };
    queued.reject = (error) => {
      signal.removeEventListener("abort", stop);
      reject(error);
    };
  }

  async #sendAll(): Promise<void> {
    // Events that are given in the same turn go together.
    await Promise.resolve();
    while (this.#queue.length > 0) {
      const batch = this.#takeBatch();
      this.#wake();
      await this.#send(batch);
    }
    this.#sending = undefined;
  }

  #wake(): void {
    for (const wake of this.#roomWaiters.splice(0)) wake();
  }

  #takeBatch(): QueuedEvent[] {
    let bytes = 0;
    let count = 0;
    for (const { bytes: more } of this.#queue) {
      if (count === this.#batchEvents || (count > 0 && bytes + more > MAX_REQUEST_BYTES)) break;
      bytes += more;
      count += 1;
    }
    return this.#queue.splice(0, count);
  }

  /** Sends events together. After a refusal that may be one event's fault the halves are sent apart, so that this one fails alone. */
  async #send(batch: QueuedEvent[]): Promise<void> {
    const parts = [batch];
    for (let part = parts.pop(); part !== undefined; part = parts.pop()) {
      try {
        const { results } = await this.#client.appendLines(
          part.map(({ line }) => line),
          { timeoutMs: this.#timeoutMs },
        );
        part.forEach(({ resolve }, index) => resolve(results[index] as Receipt));
      } catch (error) {
        if (part.length > 1 && error instanceof Problem && !error.retryable && !OF_THE_REQUEST.has(error.code)) {
          const middle = part.length >> 1;
          parts.push(part.slice(middle), part.slice(0, middle));
        } else {
          for (const { reject } of part) reject(error);
        }
      }
    }
  }
}
