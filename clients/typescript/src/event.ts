/** Events as callers append them and as the ledger keeps them. */

import type { components } from "./openapi.js";
import type { Position } from "./position.js";
import { uuidv7 } from "./uuid.js";

/** A CloudEvent 1.0. `source` and `id` identify it: the ledger takes it once, however often it is appended. */
export interface CloudEvent {
  specversion: "1.0";
  id: string;
  /** The sender. */
  source: string;
  /** The kind of event: one of the vocabulary, or a name that begins with `x.`. */
  type: string;
  /** The stream. */
  subject: string;
  time?: string;
  datacontenttype?: string;
  data?: unknown;
  /** Bytes, as padded base64, instead of `data`. */
  data_base64?: string;
  /** Attributes such as `agent`, `session`, `run` and `call`, and other extensions. */
  [extension: string]: unknown;
}

/** The members of an event that a caller chooses; `id` is made if it is absent. */
export interface EventFields {
  source: string;
  type: string;
  subject: string;
  id?: string;
  data?: unknown;
  [extension: string]: unknown;
}

/** An event as the ledger keeps it. */
export type StoredEvent = Omit<components["schemas"]["StoredEvent"], "event" | "position"> & {
  /** The position in the ledger. */
  position: Position;
  event: CloudEvent;
};

/** The receipt of one event. */
export type Receipt = components["schemas"]["Receipt"];
/** The answer to an append. */
export type AppendAnswer = components["schemas"]["AppendAnswer"];

/** Returns an event with an id of its own. Append the same object again after an error: it is taken once. */
export function newEvent(fields: EventFields): CloudEvent {
  return { specversion: "1.0", ...fields, id: fields.id ?? uuidv7() };
}
