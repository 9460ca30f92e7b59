/** Following a ledger across the service's restarts: every event once, in order. */

import { Backoff } from "./backoff.js";
import { type Cursor, CursorError, type CursorStore, readCursor } from "./cursor.js";
import { Deadline, sleep, unlessAborted } from "./deadline.js";
import { BitacoraError, isProblemDetails, NoAnswer, Problem } from "./error.js";
import type { StoredEvent } from "./event.js";
import { type Message, MessageParser } from "./event-stream.js";
import { FOLLOW_AWAY_MS, FOLLOW_SILENCE_MS, MAX_MESSAGE_CHARACTERS } from "./limits.js";
import { type EventFilter, filterQuery, isStoredEvent, matchesFilter } from "./pages.js";
import { comparePositions, isPosition, type Position, toPosition } from "./position.js";
import type { Service } from "./service.js";

/** The part of a ledger that is followed, and the bounds of the wait. */
export interface FollowOptions extends EventFilter {
  /** Only events past this position; a kept cursor counts instead. */
  after?: Position | bigint;
  /** The store of the cursor. */
  cursor?: CursorStore;
  /** Ends the following; the iteration throws the signal's reason. */
  signal?: AbortSignal;
  /** The longest silence of the service before a reconnection; `FOLLOW_SILENCE_MS` by default. */
  silenceMs?: number;
  /** The longest time without a connection before the iteration throws; `FOLLOW_AWAY_MS` by default, `Infinity` for ever. */
  awayMs?: number;
  /** Called when everything durable was given, and when the connection is lost and back. */
  onState?: (state: FollowState) => void;
}

/** A change of a follower's state. */
export type FollowState =
  { state: "caught-up"; position: Position } | { state: "away"; reason: string } | { state: "back" };

/** An event that is followed. */
export interface FollowedEvent extends StoredEvent {
  /** The service's own line of JSON, byte for byte. */
  readonly line: string;
}

/** An end of the stream after which the follower connects again. */
class Away extends BitacoraError {
  constructor(reason: string) {
    super(reason, "away", true, "none");
  }
}

/** A ledger that is followed: iterate it once, with `for await`. Leaving the loop ends the connection. */
export class Follower implements AsyncIterable<FollowedEvent> {
  readonly #service: Service;
  readonly #options: FollowOptions;
  #seen: Position;
  /** The id of the ledger, once the cursor or the service has named it. */
  #ledger: string | undefined;
  #begun = false;
  #backoff = new Backoff(Infinity);
  /** The bound of the time without a connection: stopped while there is one. */
  #away: Deadline;

  constructor(service: Service, options: FollowOptions) {
    this.#service = service;
    this.#options = options;
    this.#seen = options.after === undefined ? "0" : toPosition(options.after);
    this.#away = new Deadline(options.awayMs ?? FOLLOW_AWAY_MS, options.signal);
    this.#away.pause();
  }

  /** The position up to which every matching event was given. */
  get seen(): Position {
    return this.#seen;
  }

  /** Keeps in the cursor's store that every given event was handled. Resolved ⇒ kept. */
  async handled(): Promise<void> {
    if (this.#ledger === undefined) return;
    await this.#options.cursor?.save({ ledger: this.#ledger, after: this.#seen });
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<FollowedEvent, void, void> {
    if (this.#begun) throw new TypeError("a follower is iterated once; follow again for another iteration");
    this.#begun = true;
    await this.#loadCursor();
    let isAway = false;
    try {
      for (;;) {
        const silence = new Deadline(this.#options.silenceMs ?? FOLLOW_SILENCE_MS, this.#away.signal);
        try {
          const body = await this.#connect(silence);
          if (isAway) this.#options.onState?.({ state: "back" });
          isAway = false;
          yield* this.#events(body, silence);
        } catch (error) {
          this.#options.signal?.throwIfAborted();
          if (this.#away.expired && !(error instanceof BitacoraError))
            throw new NoAnswer("the service was away for too long", "timeout");
          // Before the first answer nobody knows whether there is such a service at all.
          const passes =
            this.#ledger !== undefined && error instanceof BitacoraError && error.retryable && !this.#away.expired;
          if (!passes) throw error;
          if (!isAway) {
            this.#away.restart();
            this.#options.onState?.({ state: "away", reason: error.message });
          }
          isAway = true;
          await this.#pause(error);
        } finally {
          silence.end();
        }
      }
    } finally {
      this.#away.end();
    }
  }

  async #loadCursor(): Promise<void> {
    const kept: Cursor | undefined = await this.#options.cursor?.load();
    if (kept === undefined) return;
    const cursor = readCursor(kept);
    if (cursor === undefined)
      throw new CursorError("the store's cursor is malformed; remove it to begin anew", "bad-cursor");
    this.#ledger = cursor.ledger;
    this.#seen = cursor.after;
  }

  async #pause(error: BitacoraError): Promise<void> {
    const askedMs = error instanceof Problem ? error.retryAfterMs : 0;
    try {
      await sleep(this.#backoff.pause(askedMs) ?? 0, this.#away.signal);
    } catch (reason) {
      throw this.#away.expired ? error : reason;
    }
  }

  async #connect(silence: Deadline): Promise<ReadableStream<Uint8Array>> {
    const { transport } = this.#service;
    const headers: Record<string, string> = { accept: "text/event-stream" };
    if (this.#ledger !== undefined) headers["last-event-id"] = `${this.#ledger}:${this.#seen}`;
    const query = { ...filterQuery(this.#options), after: this.#seen };
    const response = await transport.open(
      { method: "GET", path: this.#service.path`/events`, query, headers },
      silence,
    );
    const ledger = response.headers.get("ledger-id");
    const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") ?? false;
    if (ledger === null || !isStream || response.body === null) {
      await response.body?.cancel();
      throw transport.strange("the answer is not the stream of a ledger");
    }
    if (this.#ledger !== undefined && this.#ledger !== ledger) {
      await response.body.cancel();
      throw new CursorError(
        `found a cursor of ledger ${this.#ledger}, expected one of ${ledger}; remove it to begin anew`,
        "other-ledger",
      );
    }
    this.#ledger = ledger;
    this.#away.pause();
    return response.body;
  }

  /** Gives the events of one connection. Ends by an error only. */
  async *#events(body: ReadableStream<Uint8Array>, silence: Deadline): AsyncGenerator<FollowedEvent, void, void> {
    const { transport } = this.#service;
    const reader = body.getReader();
    const decoder = new TextDecoder();
    const parser = new MessageParser();
    try {
      for (;;) {
        silence.restart();
        const { done, value } = await unlessAborted(reader.read(), silence.signal).catch((error: unknown) => {
          throw transport.failure(error, silence);
        });
        // The reader's own work on an event is no silence of the service.
        silence.pause();
        if (done) throw new Away("the stream was cut");
        const messages = parser.push(decoder.decode(value, { stream: true }));
        if (parser.waiting > MAX_MESSAGE_CHARACTERS) throw transport.strange("a message is too long");
        for (const message of messages) {
          const event = this.#take(message);
          if (event !== undefined) yield event;
          this.#options.signal?.throwIfAborted();
        }
      }
    } finally {
      // The connection may be broken already.
      await reader.cancel().catch(() => undefined);
    }
  }

  /** Takes a message and returns its event, if it has one. */
  #take({ kind, id, data }: Message): FollowedEvent | undefined {
    if (kind === "failed") throw this.#failed(data);
    if (kind === "lagged") throw new Away("this side took nothing for too long");
    if (kind === "closing") throw new Away("the service ends");
    if (id === undefined) return undefined;
    if (!isPosition(id)) throw this.#service.transport.strange("a message's id is not a position");
    if (kind === "" && data !== undefined) return this.#event(id, data);
    this.#hasComeTo(id);
    if (kind === "caught-up") this.#options.onState?.({ state: "caught-up", position: id });
    return undefined;
  }

  #event(id: Position, line: string): FollowedEvent {
    const stored = parseEvent(line);
    if (stored === undefined || stored.position !== id)
      throw this.#service.transport.strange("a message is not the event of its id");
    // Never twice, and never back, whatever the service says.
    if (comparePositions(id, this.#seen) <= 0)
      throw this.#service.transport.strange(`event ${id} came again, after ${this.#seen}`);
    if (!matchesFilter(this.#options, stored))
      throw this.#service.transport.strange(`event ${id} is not one that was asked for`);
    this.#hasComeTo(id);
    return { ...stored, line };
  }

  #hasComeTo(position: Position): void {
    if (comparePositions(position, this.#seen) > 0) this.#seen = position;
    this.#backoff = new Backoff(Infinity);
  }

  #failed(data: string | undefined): Error {
    try {
      const details: unknown = JSON.parse(this.#service.transport.redact(data ?? ""));
      if (isProblemDetails(details)) return new Problem(details.status, details);
    } catch {
      // Refused below.
    }
    return this.#service.transport.strange("the stream ended on something that is not a problem");
  }
}

function parseEvent(line: string): StoredEvent | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return isStoredEvent(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
