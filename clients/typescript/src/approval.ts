/** Approvals: a person's answer to a call that is reviewed. */

import type { Client } from "./client.js";
import { Deadline } from "./deadline.js";
import { BitacoraError, NoAnswer } from "./error.js";
import { APPROVAL_POLL_S, APPROVAL_WAIT_MS } from "./limits.js";
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
  const ends = Date.now() + waitMs;
  const whole = new Deadline(waitMs, options.signal);
  let approval: Approval | undefined;
  try {
    do {
      const waitS = Math.min(APPROVAL_POLL_S, Math.max(1, Math.ceil((ends - Date.now()) / 1_000)));
      try {
        approval = await client.approval(id, {
          waitS: approval === undefined ? 0 : waitS,
          signal: whole.signal,
          timeoutMs: Infinity,
        });
      } catch (error) {
        const passes = whole.signal.aborted || (error instanceof BitacoraError && error.retryable);
        if (!passes) throw error;
      }
    } while ((approval === undefined || approval.status === "pending") && !whole.signal.aborted);
    options.signal?.throwIfAborted();
    if (approval === undefined) throw new NoAnswer(`nothing about approval ${id} came in time`, "timeout");
    return approval;
  } finally {
    whole.end();
  }
}
