/** Errors: refusals of the service, and requests without a usable answer. */

import type { components } from "./openapi.js";

/** The effect that a failed request may have had. */
export type SideEffects = "none" | "unknown" | "committed";

/** One fault of a refused request, by its place. */
export type Fault = components["schemas"]["FaultAnswer"];
/** The members of a refusal: RFC 9457. */
export type ProblemDetails = components["schemas"]["ProblemAnswer"];

/** The base of all errors of this package. */
export class BitacoraError extends Error {
  /** A stable name for programs. */
  readonly code: string;
  /** `true` if the same request may succeed later. */
  readonly retryable: boolean;
  #sideEffects: SideEffects;

  constructor(message: string, code: string, retryable: boolean, sideEffects: SideEffects) {
    super(printable(message));
    this.name = new.target.name;
    this.code = code;
    this.retryable = retryable;
    this.#sideEffects = sideEffects;
  }

  /** The effect that the request may have had, in all its tries. */
  get sideEffects(): SideEffects {
    return this.#sideEffects;
  }

  /** Notes that an earlier try of the same request may have had an effect. */
  noteUnknownEffects(): void {
    if (this.#sideEffects === "none") this.#sideEffects = "unknown";
  }
}

/** A refusal by the service. `code` is one of docs/HTTP.md; `details` has all members. */
export class Problem extends BitacoraError {
  readonly status: number;
  readonly details: ProblemDetails;
  /** The single faults, by their place. */
  readonly faults: readonly Fault[];
  /** The pause that the service asks for before a retry. */
  readonly retryAfterMs: number | undefined;

  constructor(status: number, details: ProblemDetails, retryAfterMs?: number) {
    const { code, detail, retryable, sideEffects } = details;
    super(`${detail} (${code}, HTTP ${status})`, code, retryable, isSideEffects(sideEffects) ? sideEffects : "unknown");
    this.status = status;
    this.details = details;
    this.faults = details.errors ?? [];
    this.retryAfterMs = retryAfterMs;
  }
}

/** No answer: the service is not reached (`unreachable`), the connection broke (`connection-broken`), or nothing came in time (`timeout`). */
export class NoAnswer extends BitacoraError {
  constructor(message: string, code: "unreachable" | "connection-broken" | "timeout") {
    super(message, code, true, code === "unreachable" ? "none" : "unknown");
  }
}

/** An answer that no Bitacora service gives, or about something else than was asked, or a redirection, which is never followed. */
export class StrangeAnswer extends BitacoraError {
  constructor(message: string, retryable = false) {
    super(message, "strange-answer", retryable, "unknown");
  }
}

/** A text that is no token. The text is not shown: it may be nearly one. */
export class TokenFormatError extends BitacoraError {
  constructor() {
    super(
      "found a text that is not a token, expected `bt_` and 43 characters, as `bitacora token create` shows it",
      "bad-token",
      false,
      "none",
    );
  }
}

/** Returns `true` if the members of an answer make a refusal. */
export function isProblemDetails(value: unknown): value is ProblemDetails {
  if (typeof value !== "object" || value === null) return false;
  const { code, detail, retryable, errors } = value as Record<string, unknown>;
  return (
    typeof code === "string" &&
    typeof detail === "string" &&
    typeof retryable === "boolean" &&
    (errors === undefined || Array.isArray(errors))
  );
}

function isSideEffects(value: unknown): value is SideEffects {
  return value === "none" || value === "unknown" || value === "committed";
}

/** Escapes control characters, so that a terminal only shows the text. */
function printable(text: string): string {
  return text.replace(
    /[\u0000-\u001f\u007f-\u009f]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
