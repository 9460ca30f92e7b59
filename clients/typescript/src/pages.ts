/** Reading a ledger page by page. */

import { membersOf, withTexts } from "./answer.js";
import type { StoredEvent } from "./event.js";
import { comparePositions, isPosition, type Position, toPosition } from "./position.js";
import type { RequestOptions, Service } from "./service.js";
import type { Query } from "./transport.js";

/** A choice of events. An event matches if all members that are given do. */
export interface EventFilter {
  stream?: string | undefined;
  /** One of these types. */
  type?: string | readonly string[] | undefined;
  actor?: string | undefined;
  agent?: string | undefined;
  session?: string | undefined;
  run?: string | undefined;
  call?: string | undefined;
  tag?: string | undefined;
  /** Recorded at this time or later. */
  since?: string | Date | undefined;
  /** Recorded before this time. */
  before?: string | Date | undefined;
}

/** The part of a ledger that is read. The bounds hold for each page. */
export interface ReadOptions extends EventFilter, RequestOptions {
  /** Only events past this position. */
  after?: Position | bigint;
  /** Only events up to this position, itself included. */
  until?: Position | bigint;
  /** Events of one page, up to 1,000. */
  limit?: number;
  /** The newest events first. */
  backward?: boolean;
}

/** A page of events, and the durable head that it rests on. */
export interface Page {
  events: StoredEvent[];
  /** The start of the next page; absent at the end. */
  next?: Position;
  head: { position: Position; hash: string };
}

/** Returns a filter as parameters of a request. */
export function filterQuery(filter: EventFilter): Query {
  const { stream, type, actor, agent, session, run, call, tag, since, before } = filter;
  return { stream, type, actor, agent, session, run, call, tag, since: timeText(since), before: timeText(before) };
}

/** Reads page after page until the end. Each page has retries of its own. */
export async function* readPages(service: Service, options: ReadOptions): AsyncGenerator<Page, void, void> {
  const { backward = false } = options;
  let after = options.after === undefined ? undefined : toPosition(options.after);
  let until = options.until === undefined ? undefined : toPosition(options.until);
  for (;;) {
    const query = {
      ...filterQuery(options),
      after,
      until,
      limit: options.limit,
      dir: backward ? "backward" : undefined,
    };
    const page = await service.ask({ method: "GET", path: service.path`/events`, query }, readPage, options);
    const fault =
      page.events.find((event) => !matchesFilter(options, event)) ?? misplaced(page.events, after, until, backward);
    if (fault !== undefined)
      throw service.transport.strange(`event ${fault.position} of the page is not one that was asked for`);
    const { next } = page;
    const begin = backward ? until : after;
    // A page that leads nowhere would be read for ever.
    if (next !== undefined && begin !== undefined && comparePositions(next, begin) * (backward ? -1 : 1) <= 0) {
      throw service.transport.strange(`the page's next position is ${next}, which does not lead on from ${begin}`);
    }
    yield page;
    if (next === undefined) return;
    if (backward) until = next;
    else after = next;
  }
}

function readPage(answer: unknown): Page | undefined {
  const { events, next, head } = membersOf(answer) ?? {};
  const isPage =
    Array.isArray(events) && events.every(isStoredEvent) && withTexts(head, "position", "hash") !== undefined;
  if (!isPage || !(next === undefined || next === null || isPosition(next))) return undefined;
  return { events, head: head as Page["head"], ...(next === undefined || next === null ? {} : { next }) };
}

/** Returns an event of a page that is out of order, or outside the part that is read. */
function misplaced(
  events: readonly StoredEvent[],
  after: Position | undefined,
  until: Position | undefined,
  backward: boolean,
): StoredEvent | undefined {
  return events.find(({ position }, index) => {
    const before = events[index - 1]?.position;
    return (
      (before !== undefined && comparePositions(position, before) * (backward ? -1 : 1) <= 0) ||
      (after !== undefined && comparePositions(position, after) <= 0) ||
      (until !== undefined && comparePositions(position, until) > 0)
    );
  });
}

/** Returns `true` if an event has what a filter names. The times are the service's to compare, and contents may be erased. */
export function matchesFilter(filter: EventFilter, { event, erased, unreadable }: StoredEvent): boolean {
  const { stream, type, tag } = filter;
  const types = typeof type === "string" ? [type] : (type ?? []);
  if ((types.length > 0 && !types.includes(event.type)) || (stream !== undefined && event.subject !== stream))
    return false;
  if (erased === true || unreadable === true) return true;
  const tags = typeof event["tags"] === "string" ? event["tags"].split(" ") : [];
  return (
    (tag === undefined || tags.includes(tag)) &&
    (["actor", "agent", "session", "run", "call"] as const).every(
      (name) => filter[name] === undefined || event[name] === filter[name],
    )
  );
}

/** Returns `true` for an event as the ledger keeps it. */
export function isStoredEvent(value: unknown): value is StoredEvent {
  const stored = withTexts<StoredEvent>(value, "position", "streamVersion", "recordedAt", "commitment");
  return membersOf(stored?.event) !== undefined;
}

function timeText(time: string | Date | undefined): string | undefined {
  return time instanceof Date ? time.toISOString() : time;
}
