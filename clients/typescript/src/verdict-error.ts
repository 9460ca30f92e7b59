/** Errors of calls that did not run, or whose end is not known. */

import type { Decision } from "./decision.js";
import { BitacoraError } from "./error.js";

/** A call that did not run because it was denied, or because nothing allowed it: an error, a timeout or a missing service. */
export class Denied extends BitacoraError {
  readonly call: string;
  /** The reason in one word; `undecided` if there is no decision. */
  readonly reasonCode: string;
  /** The reason in words that an agent can act on. */
  readonly reason: string;
  /** The decision; absent if there is none. */
  readonly decision: Decision | undefined;

  constructor(call: string, reasonCode: string, reason: string, decision?: Decision, cause?: unknown) {
    super(`denied (${reasonCode}): ${reason}`, "denied", typeof decision?.retryAfterMs === "number", "none");
    if (cause !== undefined) this.cause = cause;
    this.call = call;
    this.reasonCode = reasonCode;
    this.reason = reason;
    this.decision = decision;
  }
}

/** A call that did not run because its approval still waits for a person. Ask again with the same `call` and this `approval`. */
export class ReviewPending extends BitacoraError {
  readonly call: string;
  /** The id of the approval. */
  readonly approval: string;
  readonly decision: Decision;

  constructor(approval: string, decision: Decision) {
    super(`approval ${approval} waits for a person: ${decision.reason}`, "review-pending", true, "none");
    this.call = decision.call;
    this.approval = approval;
    this.decision = decision;
  }
}

/** A call that began and did not end in its time. It may still be running. */
export class CallTimeout extends BitacoraError {
  readonly call: string;

  constructor(call: string, timeoutMs: number) {
    super(`the call did not end within ${timeoutMs} ms`, "call-timeout", false, "unknown");
    this.call = call;
  }
}
