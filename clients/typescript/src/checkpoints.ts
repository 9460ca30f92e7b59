/** Threads of work: their state, saved step by step, found again, copied, forked and deleted. */

import { membersOf } from "./answer.js";
import { fromBase64 } from "./base64.js";
import {
  type CheckpointActAnswer,
  type CheckpointContext,
  type CheckpointFilter,
  type CheckpointPage,
  type CheckpointSelector,
  type DeleteSelection,
  type FoundCheckpoint,
  type NewCheckpoint,
  readAct,
  readFound,
  readList,
  type SavedCheckpoint,
  type TaskWrites,
} from "./checkpoint.js";
import {
  chooseAhead,
  type Content,
  type ContentState,
  type GivenContent,
  type LargeContent,
  OutgoingContent,
} from "./content.js";
import { BitacoraError, Problem } from "./error.js";
import { CONTENT_PART_BYTES, MAX_CONTENT_BYTES, MAX_REQUEST_BYTES } from "./limits.js";
import { isStoredEvent } from "./pages.js";
import { comparePositions, type Position } from "./position.js";
import type { RequestOptions, Service } from "./service.js";
import type { Query } from "./transport.js";
import { uuidv7 } from "./uuid.js";

/**
 * The checkpoints of a ledger. Reads wait for everything that this object recorded. Every act has an id of its own: it is sent
 * again unchanged while the service is busy or gone, and takes effect once. Resolved ⇒ durable.
 */
export class Checkpoints {
  readonly #service: Service;
  /** The last position that something was recorded at. */
  #recorded: Position = "0";

  constructor(service: Service) {
    this.#service = service;
  }

  /** Saves the state of a thread behind a step. Of contents too large for one request the largest go ahead. */
  async save(thread: string, checkpoint: NewCheckpoint, options: RequestOptions = {}): Promise<CheckpointActAnswer> {
    const { values = {}, writes = [], ...rest } = checkpoint;
    const contents = [...Object.values(values), ...writes.flatMap((task) => task.writes.map(({ value }) => value))];
    const given = await this.#given(contents, checkpoint, byteLength(rest) + byteLength(Object.keys(values)), options);
    const names = Object.keys(values).map((name) => [name, given.shift()] as const);
    const body = {
      ...rest,
      values: Object.fromEntries(names),
      ...(writes.length > 0 ? { writes: writes.map((task) => withContents(task, given)) } : {}),
    };
    return this.#act("save", thread, body, options);
  }

  /** Saves what a task wrote behind a checkpoint, which may still be on its way. */
  async write(
    thread: string,
    behind: { checkpoint: string; namespace?: string } & CheckpointContext,
    task: TaskWrites,
    options: RequestOptions = {},
  ): Promise<CheckpointActAnswer> {
    const given = await this.#given(
      task.writes.map(({ value }) => value),
      behind,
      0,
      options,
    );
    return this.#act("writes", thread, { ...behind, ...withContents(task, given) }, options);
  }

  /** Copies a thread, one subgraph of it, or what led to one checkpoint, to a thread that holds nothing yet. */
  copy(
    thread: string,
    to: string,
    what: CheckpointSelector = {},
    options: RequestOptions = {},
  ): Promise<CheckpointActAnswer> {
    return this.#act("copy", thread, { to, ...what }, options);
  }

  /** Saves a new checkpoint that has another one as its parent and holds all that it holds. */
  fork(
    thread: string,
    as: string,
    from: CheckpointSelector & { metadata?: Record<string, unknown> } = {},
    options: RequestOptions = {},
  ): Promise<CheckpointActAnswer> {
    return this.#act("fork", thread, { as, ...from }, options);
  }

  /** Hides checkpoints from reads. The log keeps them. */
  async delete(thread: string, what: DeleteSelection, options: RequestOptions = {}): Promise<CheckpointActAnswer> {
    const part =
      what === "thread"
        ? {}
        : what === "all-but-newest"
          ? { keep: "newest" }
          : { namespace: what.namespace ?? "", checkpoint: what.checkpoint };
    const id = uuidv7();
    const request = {
      method: "DELETE",
      path: this.#service.path`/checkpoints/${thread}`,
      query: { id, ...part },
    } as const;
    return this.#noted(await this.#service.ask(request, (answer) => readAct(answer, id), options));
  }

  /** Returns the newest checkpoint of a thread, or another one; `undefined` if there is none. */
  async get(
    thread: string,
    which: CheckpointSelector = {},
    options: RequestOptions = {},
  ): Promise<FoundCheckpoint | undefined> {
    try {
      const path = this.#service.path`/checkpoints/${thread}`;
      return await this.#read(path, { ...which }, (answer) => readFound(answer, thread, which), options);
    } catch (error) {
      if (error instanceof Problem && error.code === "no-such-checkpoint") return undefined;
      throw error;
    }
  }

  /** Lists checkpoints, without the contents of their channels. */
  async *list(
    filter: CheckpointFilter = {},
    options: RequestOptions = {},
  ): AsyncGenerator<SavedCheckpoint, void, void> {
    const { metadata, ...rest } = filter;
    const seen = new Set<string>();
    let after: string | undefined;
    do {
      const query = { ...rest, filter: metadata === undefined ? undefined : JSON.stringify(metadata), after };
      const read = (answer: unknown): CheckpointPage | undefined => readList(answer, filter);
      const page: CheckpointPage = await this.#read(this.#service.path`/checkpoints`, query, read, options);
      yield* page.checkpoints;
      after = page.next ?? undefined;
      // Pages that lead back would be read for ever.
      if (after !== undefined && seen.has(after))
        throw this.#service.transport.strange("a page of checkpoints leads back to one before it");
      if (after !== undefined) seen.add(after);
    } while (after !== undefined);
  }

  /** Reads a content that is larger than an answer. Its state is `erased` if it was erased meanwhile. */
  async read(large: LargeContent, options: RequestOptions = {}): Promise<ContentState> {
    if (large.size > MAX_CONTENT_BYTES)
      throw this.#service.transport.strange("a content is larger than the service keeps");
    const bytes = new Uint8Array(large.size);
    let begin = 0;
    for (const position of large.positions) {
      const request = { method: "GET", path: this.#service.path`/events/${position}` } as const;
      const stored = await this.#service.ask(
        request,
        (answer) => (isStoredEvent(answer) && answer.position === position ? answer : undefined),
        options,
      );
      if (stored.erased === true) return { kind: "erased" };
      const piece = fromBase64(String(stored.event.data_base64));
      if (piece === undefined || begin + piece.length > bytes.length)
        throw this.#service.transport.strange("a content's pieces do not add up to it");
      bytes.set(piece, begin);
      begin += piece.length;
    }
    if (begin !== bytes.length) throw this.#service.transport.strange("a content's pieces do not add up to it");
    return { kind: "bytes", bytes, encoding: large.encoding };
  }

  async #act(verb: string, thread: string, body: object, options: RequestOptions): Promise<CheckpointActAnswer> {
    const id = uuidv7();
    const request = {
      method: "POST",
      path: `${this.#service.path`/checkpoints/${thread}`}:${verb}`,
      headers: this.#atLeast(),
      contentType: "application/json",
      body: JSON.stringify({ id, ...body }),
    } as const;
    return this.#noted(await this.#service.ask(request, (answer) => readAct(answer, id), options));
  }

  #read<T>(path: string, query: Query, read: (answer: unknown) => T | undefined, options: RequestOptions): Promise<T> {
    return this.#service.ask({ method: "GET", path, query, headers: this.#atLeast() }, read, options);
  }

  #atLeast(): Record<string, string> {
    return this.#recorded === "0" ? {} : { "ledger-min-position": this.#recorded };
  }

  #noted(answer: CheckpointActAnswer): CheckpointActAnswer {
    if (comparePositions(answer.position, this.#recorded) > 0) this.#recorded = answer.position;
    return answer;
  }

  /** Returns contents as a request names them. Those that go ahead are durable before the request is sent. */
  async #given(
    contents: readonly Content[],
    context: CheckpointContext,
    beside: number,
    options: RequestOptions,
  ): Promise<GivenContent[]> {
    const outgoing = contents.map((content) => new OutgoingContent(content));
    const ahead = chooseAhead(outgoing, MAX_REQUEST_BYTES - beside);
    const given: GivenContent[] = [];
    for (const content of outgoing) {
      given.push(
        ahead.has(content)
          ? content.named(await this.#sendAhead(content.bytes, context.datasubject, options))
          : content.within(),
      );
    }
    return given;
  }

  async #sendAhead(bytes: Uint8Array, datasubject: string | undefined, options: RequestOptions): Promise<string[]> {
    if (bytes.length > MAX_CONTENT_BYTES) {
      throw new BitacoraError(
        `found a content of ${bytes.length} bytes, expected at most ${MAX_CONTENT_BYTES}`,
        "content-too-large",
        false,
        "none",
      );
    }
    const pieces: string[] = [];
    for (let begin = 0; begin < bytes.length; begin += CONTENT_PART_BYTES) {
      const part = bytes.slice(begin, begin + CONTENT_PART_BYTES);
      const request = {
        method: "POST",
        path: this.#service.path`/contents`,
        query: { datasubject },
        contentType: "application/octet-stream",
        body: part,
      } as const;
      pieces.push(...(await this.#service.ask(request, (answer) => readPieces(answer, part.length), options)));
    }
    return pieces;
  }
}

function withContents(task: TaskWrites, given: GivenContent[]): object {
  return { ...task, writes: task.writes.map((write) => ({ ...write, value: given.shift() })) };
}

function byteLength(value: unknown): number {
  return new TextEncoder().encode(JSON.stringify(value)).length;
}

/** Reads the names of a content's pieces; `undefined` if they are those of a content of another size. */
function readPieces(answer: unknown, size: number): string[] | undefined {
  const { pieces, bytes } = membersOf(answer) ?? {};
  const isWhole = bytes === size && Array.isArray(pieces) && pieces.length > 0;
  return isWhole && pieces.every((piece) => typeof piece === "string") ? pieces : undefined;
}
