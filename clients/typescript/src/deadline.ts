/** The bound of a wait. */

/** The longest time that a timer takes. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** A time limit together with a caller's signal. Its own signal aborts on whichever comes first. */
export class Deadline {
  readonly #controller = new AbortController();
  readonly #limitMs: number;
  readonly #caller: AbortSignal | undefined;
  readonly #onAbort = (): void => this.#controller.abort(this.#caller?.reason);
  #timer: ReturnType<typeof setTimeout> | undefined;
  #expired = false;

  /** Begins now. `Infinity` sets no time limit. */
  constructor(limitMs: number, caller?: AbortSignal) {
    if (Number.isNaN(limitMs) || limitMs < 0)
      throw new RangeError(`found ${limitMs} ms, expected a time of 0 ms or more`);
    this.#limitMs = limitMs;
    this.#caller = caller;
    if (caller?.aborted) this.#onAbort();
    else caller?.addEventListener("abort", this.#onAbort, { once: true });
    this.restart();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** `true` if the time limit passed before the caller's signal. */
  get expired(): boolean {
    return this.#expired;
  }

  /** Measures the time limit from now on. */
  restart(): void {
    this.pause();
    if (this.#limitMs === Infinity || this.signal.aborted) return;
    this.#timer = setTimeout(
      () => {
        this.#expired = true;
        this.#controller.abort(new DOMException(`nothing came for ${this.#limitMs} ms`, "TimeoutError"));
      },
      Math.min(this.#limitMs, MAX_TIMER_MS),
    );
  }

  /** Stops the time until {@link restart}. */
  pause(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Releases the timer and the caller's signal. */
  end(): void {
    this.pause();
    this.#caller?.removeEventListener("abort", this.#onAbort);
  }
}

/** Waits for a time. Rejects with the signal's reason once it aborts. */
export function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", stop);
      resolve();
    }, ms);
    signal.addEventListener("abort", stop, { once: true });
  });
}

/** Returns a promise's result, or rejects with the signal's reason if that aborts first. */
export function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason);
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}
