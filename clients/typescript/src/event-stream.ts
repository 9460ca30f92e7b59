/** Server-Sent Events, read from the bytes of an answer. */

/** A message: its fields as they were sent. */
export interface Message {
  kind: string;
  id: string | undefined;
  data: string | undefined;
}

/** Turns text, in pieces of any size, into messages. */
export class MessageParser {
  #line = "";
  #message: Message | undefined;
  #skipLineFeed = false;

  /** Characters of a message whose end has not come. */
  get waiting(): number {
    return this.#line.length + (this.#message?.data?.length ?? 0);
  }

  /** Returns the messages that end within this piece. An unfinished last message is never returned. */
  push(piece: string): Message[] {
    const messages: Message[] = [];
    // A line feed that begins this piece may belong to the carriage return that ended the last one.
    if (this.#skipLineFeed && piece.startsWith("\n")) piece = piece.slice(1);
    if (piece !== "") this.#skipLineFeed = piece.endsWith("\r");
    const lines = piece.split(/\r\n|\n|\r/);
    const rest = lines.pop() ?? "";
    for (const end of lines) {
      const line = this.#line + end;
      this.#line = "";
      if (line !== "") this.#take(line);
      else if (this.#message !== undefined) {
        messages.push(this.#message);
        this.#message = undefined;
      }
    }
    this.#line += rest;
    return messages;
  }

  #take(line: string): void {
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name !== "event" && name !== "id" && name !== "data") return;
    this.#message ??= { kind: "", id: undefined, data: undefined };
    if (name === "event") this.#message.kind = value;
    else if (name === "id") this.#message.id = value;
    else this.#message.data = this.#message.data === undefined ? value : `${this.#message.data}\n${value}`;
  }
}
