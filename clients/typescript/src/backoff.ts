/** The pauses before retries. */

import { FIRST_PAUSE_MS, MAX_PAUSE_MS, MAX_RETRIES } from "./limits.js";

/** Growing pauses: each is twice the one before, up to a limit, and not shorter than the service asks for. */
export class Backoff {
  #next = FIRST_PAUSE_MS;
  #left: number;

  constructor(retries: number = MAX_RETRIES) {
    this.#left = retries;
  }

  /** Returns the pause before the next retry in milliseconds; `undefined` if none is left. */
  pause(askedMs = 0): number | undefined {
    if (this.#left <= 0) return undefined;
    this.#left -= 1;
    const pause = Math.min(Math.max(askedMs, this.#next), MAX_PAUSE_MS);
    this.#next = Math.min(this.#next * 2, MAX_PAUSE_MS);
    return pause;
  }
}
