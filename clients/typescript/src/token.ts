/** The token of a client. */

import { TokenFormatError } from "./error.js";

const FORMAT = /^bt_[A-Za-z0-9_-]{43}$/;
const REDACTED = "bt_…";

/** A token that no error, log or `JSON.stringify` shows: its text is a private member. */
export class Token {
  readonly #text: string;

  /** Throws {@link TokenFormatError}, which does not show the text. */
  constructor(text: string) {
    const trimmed = text.trim();
    if (!FORMAT.test(trimmed)) throw new TokenFormatError();
    this.#text = trimmed;
  }

  /** The value of the `Authorization` header. */
  get header(): string {
    return `Bearer ${this.#text}`;
  }

  /** Returns a text without this token, for answers of servers that repeat what was sent. */
  redact(text: string): string {
    return text.replaceAll(this.#text, REDACTED);
  }
}
