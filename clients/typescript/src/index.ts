/** A client of Bitacora, a ledger and a gate for AI agents. */

export { Appender, type AppenderOptions } from "./appender.js";
export type { Approval, ApprovalWaitOptions } from "./approval.js";
export type {
  CheckpointActAnswer,
  CheckpointContext,
  CheckpointFilter,
  CheckpointSelector,
  DeleteSelection,
  FoundCheckpoint,
  NewCheckpoint,
  RecordedWrite,
  SavedCheckpoint,
  TaskWrites,
} from "./checkpoint.js";
export { Checkpoints } from "./checkpoints.js";
export { type AppendCondition, type AppendOptions, Client, type ClientOptions, type Head } from "./client.js";
export type { Content, ContentState, LargeContent } from "./content.js";
export { type Cursor, CursorError, type CursorStore, MemoryCursor } from "./cursor.js";
export type { CallRequest, Decision, Obligations, OutcomeAnswer, OutcomeReport, Verdict } from "./decision.js";
export {
  BitacoraError,
  type Fault,
  NoAnswer,
  Problem,
  type ProblemDetails,
  type SideEffects,
  StrangeAnswer,
  TokenFormatError,
} from "./error.js";
export {
  type AppendAnswer,
  type CloudEvent,
  type EventFields,
  newEvent,
  type Receipt,
  type StoredEvent,
} from "./event.js";
export { type FollowedEvent, Follower, type FollowOptions, type FollowState } from "./follower.js";
export {
  type CallContext,
  type CallDetails,
  type CallEnd,
  type CallOptions,
  guarded,
  type GuardedTool,
  type GuardOptions,
  type OutcomeDetails,
} from "./guarded.js";
export * as limits from "./limits.js";
export type { components, operations, paths } from "./openapi.js";
export type { EventFilter, Page, ReadOptions } from "./pages.js";
export { comparePositions, isPosition, type Position, toPosition } from "./position.js";
export type { Bounds, RequestOptions } from "./service.js";
export { uuidv7 } from "./uuid.js";
export { CallTimeout, Denied, ReviewPending } from "./verdict-error.js";
