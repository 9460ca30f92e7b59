/** Results that come piece by piece: the call ends when the last piece was taken. */

import { unlessAborted } from "./deadline.js";
import type { CallEnd } from "./guarded.js";

/** A result whose pieces come while its consumer takes them. */
type Streamed = AsyncIterable<unknown> | ReadableStream<unknown>;

/** The end of a call whose consumer took no more, although there was more. */
export class StoppedEarly extends Error {
  override readonly name = "StoppedEarly";
}

/** Returns `true` for a result that comes piece by piece. */
export function isStreamed(result: unknown): result is Streamed {
  return (
    result instanceof ReadableStream ||
    (typeof result === "object" && result !== null && Symbol.asyncIterator in result)
  );
}

/**
 * Returns the same pieces as an async generator, or a stream for a stream. `finish` is called once, before the consumer hears of the
 * end, and returns the error that the consumer gets. If the signal aborts first, the call ends even if nobody takes a piece.
 */
export function streamed<R>(
  result: R & Streamed,
  signal: AbortSignal,
  finish: (end: CallEnd<R>) => Promise<unknown>,
): R {
  if (!(result instanceof ReadableStream)) {
    const source = (result as AsyncIterable<unknown>)[Symbol.asyncIterator]();
    return new Pieces(source, result, signal, finish) as unknown as R;
  }
  const reader = (result as ReadableStream<unknown>).getReader();
  const source: AsyncIterator<unknown> = {
    next: async () => (await reader.read()) as IteratorResult<unknown>,
    return: async (reason?: unknown) => {
      await reader.cancel(reason);
      return { done: true, value: undefined };
    },
  };
  const pieces = new Pieces(source, result, signal, finish);
  const made: UnderlyingDefaultSource<unknown> = {
    async pull(controller) {
      const { done, value } = await pieces.next();
      if (done === true) controller.close();
      else controller.enqueue(value);
    },
    cancel: async (reason) => void (await pieces.return(reason)),
  };
  return new ReadableStream(made, { highWaterMark: 0 }) as unknown as R;
}

/** The pieces of a result, and the one report of their end. */
class Pieces<R> implements AsyncGenerator<unknown, unknown, unknown> {
  readonly #source: AsyncIterator<unknown, unknown, unknown>;
  readonly #result: R;
  readonly #signal: AbortSignal;
  readonly #finish: (end: CallEnd<R>) => Promise<unknown>;
  readonly #onAbort = (): void => void this.#end({ error: this.#signal.reason });
  #ended: Promise<unknown> | undefined;

  constructor(
    source: AsyncIterator<unknown>,
    result: R,
    signal: AbortSignal,
    finish: (end: CallEnd<R>) => Promise<unknown>,
  ) {
    this.#source = source;
    this.#result = result;
    this.#signal = signal;
    this.#finish = finish;
    if (signal.aborted) this.#onAbort();
    else signal.addEventListener("abort", this.#onAbort, { once: true });
  }

  next(value?: unknown): Promise<IteratorResult<unknown>> {
    return this.#take(() => this.#source.next(value));
  }

  throw(error: unknown): Promise<IteratorResult<unknown>> {
    const { throw: thrown } = this.#source;
    return this.#take(() => (thrown === undefined ? Promise.reject(error) : thrown.call(this.#source, error)));
  }

  async return(value?: unknown): Promise<IteratorResult<unknown>> {
    if (this.#ended !== undefined) return { done: true, value };
    try {
      await unlessAborted(this.#released(value), this.#signal);
    } catch (error) {
      throw await this.#end({ error });
    }
    await this.#end({ error: new StoppedEarly("the consumer took no more") });
    return { done: true, value };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async #take(step: () => Promise<IteratorResult<unknown>>): Promise<IteratorResult<unknown>> {
    if (this.#ended !== undefined) {
      const error = await this.#ended;
      if (this.#signal.aborted && error !== undefined) throw error;
      return { done: true, value: undefined };
    }
    let taken: IteratorResult<unknown>;
    try {
      taken = await unlessAborted(step(), this.#signal);
    } catch (error) {
      throw await this.#end({ error });
    }
    if (taken.done === true) await this.#end({ result: this.#result });
    return taken;
  }

  /** Reports the end of the call, once. */
  #end(end: CallEnd<R>): Promise<unknown> {
    if (this.#ended === undefined) {
      this.#signal.removeEventListener("abort", this.#onAbort);
      // A tool that ignores its signal is not waited for.
      if (this.#signal.aborted) this.#released(undefined).catch(() => undefined);
      this.#ended = this.#finish(end);
    }
    return this.#ended;
  }

  async #released(value: unknown): Promise<void> {
    await this.#source.return?.(value);
  }
}
