/** Checkpoints as callers save them and as the service answers them. */

import { membersOf, withTexts } from "./answer.js";
import { type Content, type ContentState, readContent } from "./content.js";
import type { components } from "./openapi.js";

type Schemas = components["schemas"];

/** The agent, session and run that something saved belongs to, and the person whose data it is. */
export interface CheckpointContext {
  /** Seals the contents under this person's key; without the key they are lost. */
  datasubject?: string;
  agent?: string;
  session?: string;
  run?: string;
}

/** The state of a thread behind one step. */
export interface NewCheckpoint extends CheckpointContext {
  /** Its id. Ids sort by the time at which they were made. */
  checkpoint: string;
  /** The subgraph; the outermost one by default. */
  namespace?: string;
  /** The checkpoint before it. */
  parent?: string;
  /** The step that it follows; -1 is the input before the first. */
  step: number;
  source: Schemas["CheckpointSource"];
  /** Members that lists are filtered by. */
  metadata?: Record<string, unknown>;
  /** The rest of the state. */
  document?: Record<string, unknown>;
  /** The version of each channel. A channel without a value has its parent's, if the version is the same. */
  channelVersions?: Record<string, number | string>;
  values?: Record<string, Content>;
  /** The writes of tasks behind the parent that led here. */
  writes?: readonly TaskWrites[];
}

/** The writes of one task. */
export interface TaskWrites {
  task: string;
  /** The task's path in the graph; writes are read in its order. */
  path?: string;
  /** `true` if the writes replace those at their indexes; otherwise the first one stays. */
  replace?: boolean;
  writes: readonly { channel: string; index?: number; value: Content }[];
}

/** A choice of one checkpoint: the newest without an id. */
export interface CheckpointSelector {
  namespace?: string;
  checkpoint?: string;
}

/** The part of a thread that is deleted: all of it, all but the newest of each subgraph, or one checkpoint. */
export type DeleteSelection = "thread" | "all-but-newest" | { checkpoint: string; namespace?: string };

/** A choice of checkpoints. */
export interface CheckpointFilter {
  /** Those of this thread, the greatest id first; without it of all threads, the last saved first. */
  thread?: string;
  namespace?: string;
  /** Those with a smaller id. */
  before?: string;
  /** Those whose metadata has these members. */
  metadata?: Record<string, unknown>;
  /** Checkpoints of one page, up to 1,000. */
  limit?: number;
}

/** A checkpoint without its contents. */
export type SavedCheckpoint = Schemas["SavedCheckpoint"];
/** A page of checkpoints. */
export type CheckpointPage = Schemas["CheckpointList"];
/** The answer to an act: its position, and `repeated` if it was done before. */
export type CheckpointActAnswer = Schemas["CheckpointActAnswer"];

/** A recorded write of a task. */
export type RecordedWrite = Omit<Schemas["CheckpointWriteAnswer"], "value"> & { value: ContentState };

/** A checkpoint with all that belongs to it. */
export type FoundCheckpoint = SavedCheckpoint & {
  /** Of a checkpoint with a parent: `true` if the parent is recorded. */
  parentFound?: boolean | null;
  document?: Record<string, unknown> | null;
  values: Record<string, ContentState>;
  /** The writes of tasks behind it, by path, task and index. */
  writes: RecordedWrite[];
};

/** Reads the answer to the act with this id; `undefined` if it is that of another act, or none. */
export function readAct(answer: unknown, id: string): CheckpointActAnswer | undefined {
  const told = withTexts<CheckpointActAnswer>(answer, "id", "position");
  return told?.id === id && typeof told.repeated === "boolean" ? told : undefined;
}

/** Reads a page of the checkpoints that a filter chooses; `undefined` if it has others, or is none. */
export function readList(answer: unknown, filter: CheckpointFilter): CheckpointPage | undefined {
  const { checkpoints, next } = membersOf(answer) ?? {};
  // Values that are no texts are the service's to compare.
  const texts = Object.entries(filter.metadata ?? {}).filter(([, value]) => typeof value === "string");
  const isAsked = (one: unknown): boolean => {
    const saved = readSaved(one, filter.thread, filter.namespace);
    return saved !== undefined && texts.every(([name, value]) => saved.metadata?.[name] === value);
  };
  const isList = Array.isArray(checkpoints) && checkpoints.every(isAsked);
  return isList && (next === undefined || next === null || (typeof next === "string" && next !== ""))
    ? (answer as CheckpointPage)
    : undefined;
}

/** Reads the selected checkpoint with its contents; `undefined` if it is another one, or members are missing or do not fit together. */
export function readFound(
  answer: unknown,
  thread: string,
  { namespace = "", checkpoint }: CheckpointSelector,
): FoundCheckpoint | undefined {
  const saved = readSaved<Schemas["CheckpointAnswer"]>(answer, thread, namespace);
  if (saved === undefined || (checkpoint !== undefined && saved.checkpoint !== checkpoint)) return undefined;
  if (membersOf(saved.values) === undefined || !Array.isArray(saved.writes)) return undefined;
  const values = Object.entries(saved.values).map(([name, value]) => [name, readContent(value)] as const);
  const writes = saved.writes.map((write) => ({ ...write, value: readContent(write.value) }));
  const isWhole = values.every(([, value]) => value !== undefined) && writes.every(({ value }) => value !== undefined);
  return isWhole ? ({ ...saved, values: Object.fromEntries(values), writes } as FoundCheckpoint) : undefined;
}

/** Reads a checkpoint of this thread and subgraph; without them, of any. */
function readSaved<T extends SavedCheckpoint>(value: unknown, thread?: string, namespace?: string): T | undefined {
  const saved = withTexts<SavedCheckpoint>(value, "thread", "namespace", "checkpoint", "source", "time", "position");
  const isAsked =
    saved !== undefined &&
    (thread === undefined || saved.thread === thread) &&
    (namespace === undefined || saved.namespace === namespace);
  return isAsked && Number.isInteger(saved.step) && membersOf(saved.channelVersions) !== undefined
    ? (saved as T)
    : undefined;
}
