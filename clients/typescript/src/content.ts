/** Contents of channels and writes: as callers give them, as requests name them, and as answers hold them. */

import { fromBase64, toBase64 } from "./base64.js";
import type { components } from "./openapi.js";
import { isPosition, type Position } from "./position.js";

/** A content: a JSON value that people see as JSON, or bytes with their encoding in the caller's words. */
export type Content = { json: unknown } | { bytes: Uint8Array; encoding?: string };

/** The retrieved state of a content. */
export type ContentState =
  | { kind: "json"; json: unknown }
  | { kind: "bytes"; bytes: Uint8Array; encoding: string | undefined }
  /** Larger than an answer: `Checkpoints.read` gets it. */
  | LargeContent
  /** Sealed under the key of a data subject, which is gone. */
  | { kind: "erased" }
  /** Named before it was recorded. */
  | { kind: "missing" };

/** A content that is larger than an answer. */
export interface LargeContent {
  kind: "large";
  size: number;
  encoding: string | undefined;
  positions: Position[];
}

/** A content within a request. */
export type GivenContent =
  { json: unknown } | { base64: string; encoding?: string } | { pieces: string[]; bytes: number; encoding?: string };

type ContentValue = components["schemas"]["ContentValue"];

/** The encoding of contents that people see as JSON. */
const JSON_ENCODING = "application/json";

/** A content with the bytes of its body, ready to be sent. */
export class OutgoingContent {
  readonly #content: Content;
  readonly #json: string | undefined;

  constructor(content: Content) {
    this.#content = content;
    this.#json = "json" in content ? JSON.stringify(content.json) : undefined;
    if ("json" in content && this.#json === undefined) throw new TypeError("a content's value is not JSON");
  }

  /** Bytes that it takes within a request, without its encoding's name. */
  get bytesWithin(): number {
    // A character of JSON takes up to three bytes.
    return "json" in this.#content ? (this.#json ?? "").length * 3 : Math.ceil(this.#content.bytes.length / 3) * 4;
  }

  /** The bytes that are sent ahead. */
  get bytes(): Uint8Array {
    return "json" in this.#content ? new TextEncoder().encode(this.#json) : this.#content.bytes;
  }

  get #encoding(): { encoding?: string } {
    if ("json" in this.#content) return { encoding: JSON_ENCODING };
    return this.#content.encoding === undefined ? {} : { encoding: this.#content.encoding };
  }

  /** Returns it within the request. */
  within(): GivenContent {
    // In a request a member that is `null` is absent, so that value goes as its bytes.
    if ("json" in this.#content && this.#json !== "null") return { json: this.#content.json };
    return { base64: toBase64(this.bytes), ...this.#encoding };
  }

  /** Returns it as pieces that were sent ahead. */
  named(pieces: string[]): GivenContent {
    return { pieces, bytes: this.bytes.length, ...this.#encoding };
  }
}

/** Chooses the contents that are sent ahead, the largest ones, so that the others fit in `room` bytes. */
export function chooseAhead(contents: readonly OutgoingContent[], room: number): Set<OutgoingContent> {
  const smallestFirst = [...contents].sort((a, b) => a.bytesWithin - b.bytesWithin);
  let left = room;
  return new Set(smallestFirst.filter((content) => (left -= content.bytesWithin + CONTENT_OVERHEAD_BYTES) < 0));
}

/** Bytes that a content takes in a request besides itself, its encoding included. */
const CONTENT_OVERHEAD_BYTES = 1_024;

/** Reads the content of an answer; `undefined` if its members do not fit together. */
export function readContent(value: ContentValue): ContentState | undefined {
  const { base64, bytes, encoding, erased, json, missing, positions } = value;
  if (erased === true) return { kind: "erased" };
  if (missing === true) return { kind: "missing" };
  if ([base64, json, positions].filter((member) => member !== undefined).length !== 1) return undefined;
  if (json !== undefined) return { kind: "json", json };
  if (positions !== undefined) {
    return positions.every(isPosition) && typeof bytes === "number"
      ? { kind: "large", size: bytes, encoding, positions }
      : undefined;
  }
  const decoded = typeof base64 === "string" ? fromBase64(base64) : undefined;
  return decoded === undefined ? undefined : { kind: "bytes", bytes: decoded, encoding };
}
