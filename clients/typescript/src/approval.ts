/** Approvals: a person's answer to a call that is reviewed. */

import { Backoff } from "./backoff.js";
import type { Client } from "./client.js";
import { Deadline, sleep } from "./deadline.js";
import { BitacoraError, NoAnswer, Problem } from "./error.js";
import { APPROVAL_POLL_S, APPROVAL_WAIT_MS, FIRST_PAUSE_MS, HOLD_MARGIN_MS } from "./limits.js";
import type { components } from "./openapi.js";

/** An approval, and what has become of it. */
export type Approval = components["schemas"]["ApprovalAnswer"];

/** The bounds of the wait for a person. */
export interface ApprovalWaitOptions {
  /** Ends the wait; the promise rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** The longest wait; `APPROVAL_WAIT_MS` by default. */
  waitMs?: number | undefined;
}

/**
 * Waits until an approval is answered or the wait's bound has passed, across restarts of the service. Rejects with {@link NoAnswer}
 * if nothing came in that time.
 */
export async function waitForApproval(client: Client, id: string, options: ApprovalWaitOptions): Promise<Approval> {
  const waitMs = options.waitMs ?? APPROVAL_WAIT_MS;
  const ends = performance.now() + waitMs;
  const whole = new Deadline(waitMs, options.signal);
  let backoff = new Backoff(Infinity);
  let approval: Approval | undefined;
  try {
    for (;;) {
      const begun = performance.now();
      // The first question is answered at once, so that even a short wait learns how the approval stands.
      const waitS =
        approval === undefined ? 0 : Math.min(APPROVAL_POLL_S, Math.max(1, Math.ceil((ends - begun) / 1_000)));
      let askedMs = 0;
      try {
        approval = await client.approval(id, { waitS, signal: whole.signal, timeoutMs: Infinity });
        if (approval.status !== "pending") break;
        if (waitS === 0) continue;
      } catch (error) {
        if (whole.signal.aborted) break;
        if (!(error instanceof BitacoraError && error.retryable)) throw error;
        askedMs = error instanceof Problem ? (error.retryAfterMs ?? 0) : 0;
      }
      const heldMs = performance.now() - begun;
      if (heldMs >= Math.max(waitS * 1_000 - HOLD_MARGIN_MS, FIRST_PAUSE_MS) && askedMs === 0) {
        backoff = new Backoff(Infinity);
        continue;
      }
      // A service that does not hold the question back, or is busy, is asked ever less often.
      const pauseMs = Math.max(askedMs, backoff.pause() ?? 0);
      if (!(await slept(pauseMs, whole.signal))) break;
    }
    options.signal?.throwIfAborted();
    if (approval === undefined) throw new NoAnswer(`nothing about approval ${id} came in time`, "timeout");
    return approval;
  } finally {
    whole.end();
  }
}

/** Waits for a time; `false` if the signal aborted first. */
function slept(ms: number, signal: AbortSignal): Promise<boolean> {
  return sleep(ms, signal).then(
    () => true,
    () => false,
  );
}
