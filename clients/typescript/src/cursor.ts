/** The place up to which a follower has handled a ledger. */

import { BitacoraError } from "./error.js";
import { isPosition, type Position } from "./position.js";

/** A ledger's id, and the position up to which its events were handled. */
export interface Cursor {
  ledger: string;
  after: Position;
}

/** A place that keeps a cursor. After a crash the events past the kept cursor come again; none is missed. */
export interface CursorStore {
  /** Returns the kept cursor; `undefined` before the first `save`. */
  load(): Promise<Cursor | undefined>;
  /** Keeps a cursor. Resolved ⇒ kept as long as this store promises. */
  save(cursor: Cursor): Promise<void>;
}

/** A cursor in memory, gone with the process. */
export class MemoryCursor implements CursorStore {
  #cursor: Cursor | undefined;

  async load(): Promise<Cursor | undefined> {
    return this.#cursor;
  }

  async save(cursor: Cursor): Promise<void> {
    this.#cursor = { ...cursor };
  }
}

/** A cursor that is malformed (`bad-cursor`) or of another ledger (`other-ledger`). */
export class CursorError extends BitacoraError {
  constructor(message: string, code: "bad-cursor" | "other-ledger") {
    super(message, code, false, "none");
  }
}

/** Reads a cursor from its members; `undefined` if they make none. */
export function readCursor(value: unknown): Cursor | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { ledger, after } = value as Record<string, unknown>;
  return typeof ledger === "string" && ledger !== "" && isPosition(after) ? { ledger, after } : undefined;
}
