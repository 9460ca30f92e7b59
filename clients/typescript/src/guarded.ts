/** Guarded tools: decided before, reported after. */

import type { Client } from "./client.js";
import { Deadline, unlessAborted } from "./deadline.js";
import type { CallRequest, Decision, Obligations, OutcomeReport } from "./decision.js";
import { BitacoraError } from "./error.js";
import { APPROVAL_WAIT_MS, CALL_TIMEOUT_MS, OUTCOME_TIMEOUT_MS } from "./limits.js";
import { isStreamed, StoppedEarly, streamed } from "./streamed.js";
import { uuidv7 } from "./uuid.js";
import { CallTimeout, Denied, ReviewPending } from "./verdict-error.js";

/** What a call says of itself besides its tool and arguments. */
export type CallDetails = Omit<CallRequest, "call" | "tool" | "args" | "argsDigest" | "approval">;

/** The details of one call; they take precedence over the tool's. */
export interface CallOptions extends CallDetails {
  /** The call's id, random and new for each call; made if it is absent. */
  call?: string | undefined;
  /** The approval that was given for this call. */
  approval?: string | undefined;
  /** Ends the call: the wait for a person, and the tool through its own signal. */
  signal?: AbortSignal | undefined;
}

/** What a tool is given besides its arguments. */
export interface CallContext {
  call: string;
  decision: Decision;
  obligations: Obligations;
  /** Aborts when the call's time is over or its caller gives up. */
  signal: AbortSignal;
}

/** The end of a call, from which its report's further members are made. */
export type CallEnd<R> = { result: R } | { error: unknown };

/** Members of an outcome that a caller may add. */
export type OutcomeDetails = Omit<OutcomeReport, "call" | "status" | "agent" | "session" | "run" | "durationMs">;

/** A guarded tool's client, details and bounds. */
export interface GuardOptions<R = unknown> extends CallDetails {
  client: Client;
  /** The longest wait for a person, 0 for none; `APPROVAL_WAIT_MS` by default. */
  approvalWaitMs?: number;
  /** `true` runs the call with the arguments of a person who edited them; otherwise an edited call is denied. */
  acceptEdits?: boolean;
  /** `true` if the tool leaves out files that the policy guards, as the obligation `excludeSecretFiles` asks; otherwise such calls are denied. */
  excludesSecretFiles?: boolean;
  /** Returns further members of the outcome: cost, tokens, exit code. */
  outcome?: (end: CallEnd<R>) => OutcomeDetails;
  /** Called if the outcome of a call that ran was not recorded; by default a warning on the console. The caller still gets the result. */
  onUnrecorded?: (error: unknown, report: OutcomeReport) => void;
}

/** A guarded tool. */
export type GuardedTool<A, R> = (args: A, options?: CallOptions) => Promise<R>;

/**
 * Returns a tool that runs only if the ledger allows it, and whose outcome is recorded. It throws {@link Denied} if nothing allows
 * the call, and {@link ReviewPending} if a person did not answer in time; in both cases `fn` did not begin. Errors of `fn` are thrown
 * as they are. `fn` gets the arguments that were decided about: the JSON of those given when the call was made.
 *
 * A call whose result is an async iterable or a `ReadableStream` ends with it: its outcome is reported when the last value was taken,
 * an error came, or the consumer stopped, which counts as `interrupted`. The tool's timeout covers the taking too.
 */
export function guarded<A, R>(
  tool: string,
  fn: (args: A, context: CallContext) => R | Promise<R>,
  options: GuardOptions<R>,
): GuardedTool<A, R> {
  return async (args, callOptions = {}) => {
    const { call = uuidv7(), approval, signal, ...details } = callOptions;
    const request: CallRequest = {
      ...detailsOf(options),
      ...details,
      call,
      tool,
      args: snapshot(args),
      ...(approval === undefined ? {} : { approval }),
    };
    const decided = await allowed(request, options, signal);
    return run(fn, decided, options, signal);
  };
}

/** Returns arguments as the ledger judges them: JSON, which the caller cannot change during the wait. */
function snapshot(args: unknown): unknown {
  return JSON.parse(JSON.stringify(args ?? {}) ?? "{}") as unknown;
}

/** An allowed call with its arguments, which a person may have edited. */
interface AllowedCall {
  request: CallRequest;
  decision: Decision;
}

/** Asks until the call is allowed, and waits for a person where one is asked. */
async function allowed(
  request: CallRequest,
  options: GuardOptions<never>,
  signal: AbortSignal | undefined,
): Promise<AllowedCall> {
  const { client, approvalWaitMs = APPROVAL_WAIT_MS } = options;
  const ends = performance.now() + approvalWaitMs;
  for (;;) {
    const decision = await client.decide(request, { signal }).catch((error: unknown) => {
      throw undecided(request.call, error, signal);
    });
    if (decision.allowed) return { request, decision };
    const approval = decision.approval?.id;
    if (decision.verdict !== "review" || approval === undefined) {
      throw new Denied(request.call, decision.reasonCode, decision.reason, decision);
    }
    const waitMs = ends - performance.now();
    if (waitMs <= 0) throw new ReviewPending(approval, decision);
    const answered = await client.waitForApproval(approval, { signal, waitMs }).catch((error: unknown) => {
      // The approval waits on, whether or not the service is there.
      if (!signal?.aborted && error instanceof BitacoraError && error.retryable)
        throw new ReviewPending(approval, decision);
      throw undecided(request.call, error, signal);
    });
    if (answered.status === "pending") throw new ReviewPending(approval, decision);
    // The ledger says what any other answer means: it is asked again under the call's id, with the approval.
    request = { ...request, approval };
    const edited = answered.status === "edited" ? answered.resolution : undefined;
    if (edited === undefined || edited === null) continue;
    if (options.acceptEdits !== true) {
      throw new Denied(
        request.call,
        "approval-edited",
        `a person approved other arguments in approval ${approval}; call with those`,
        decision,
      );
    }
    request = { ...request, args: edited.args, ...(typeof edited.cwd === "string" ? { cwd: edited.cwd } : {}) };
  }
}

/** Runs an allowed call under its obligations, and reports its end. */
async function run<A, R>(
  fn: (args: A, context: CallContext) => R | Promise<R>,
  { request, decision }: AllowedCall,
  options: GuardOptions<R>,
  signal: AbortSignal | undefined,
): Promise<R> {
  const obligations: Obligations = decision.obligations ?? {};
  const unmet = unmetObligation(obligations, options);
  if (unmet !== undefined || signal?.aborted) {
    await report(request, "blocked", {}, options);
    signal?.throwIfAborted();
    throw new Denied(
      request.call,
      "obligation-unmet",
      `the call is allowed only under ${unmet}, which this tool does not keep`,
      decision,
    );
  }
  const timeoutMs = obligations.timeoutMs ?? CALL_TIMEOUT_MS;
  const deadline = new Deadline(timeoutMs, signal);
  const context = { call: request.call, decision, obligations, signal: deadline.signal };
  const begun = performance.now();
  const finish = async (end: CallEnd<R>): Promise<unknown> => {
    const status = statusOf(end, deadline);
    deadline.end();
    await report(request, status, { durationMs: Math.round(performance.now() - begun), end }, options);
    return status === "timeout" ? new CallTimeout(request.call, timeoutMs) : "error" in end ? end.error : undefined;
  };
  const end = await ended(async () => hasRun(await fn(request.args as A, context)), deadline.signal);
  if ("result" in end && isStreamed(end.result)) return streamed(end.result, deadline.signal, finish);
  const error = await finish(end);
  if ("result" in end) return end.result;
  throw error;
}

/** Returns the status of a call that ended so. */
function statusOf(end: CallEnd<unknown>, deadline: Deadline): OutcomeReport["status"] {
  if ("result" in end) return "ok";
  if (deadline.expired) return "timeout";
  return deadline.signal.aborted || end.error instanceof StoppedEarly ? "interrupted" : "error";
}

/** Returns the result of a tool that has run. A generator runs while its values are taken, and cannot wait for a report. */
function hasRun<R>(result: R): R {
  if (Object.prototype.toString.call(result) === "[object Generator]")
    throw new TypeError("found a generator, which runs after its call has ended; return an async generator");
  return result;
}

/** Returns the end of a call. It does not wait for a tool that ignores its signal. */
async function ended<R>(fn: () => Promise<R>, signal: AbortSignal): Promise<CallEnd<R>> {
  try {
    return { result: await unlessAborted(fn(), signal) };
  } catch (error) {
    return { error };
  }
}

/** Reports an outcome. A failure does not reach the caller: the call ran, and an error would have it run again. */
async function report<R>(
  request: CallRequest,
  status: OutcomeReport["status"],
  { durationMs, end }: { durationMs?: number; end?: CallEnd<R> },
  options: GuardOptions<R>,
): Promise<void> {
  const { call, agent, session, run } = request;
  const stream = { ...(agent && { agent }), ...(session && { session }), ...(run && { run }) };
  const told: OutcomeReport = { call, status, ...stream, ...(durationMs === undefined ? {} : { durationMs }) };
  try {
    if (end !== undefined && "error" in end) told.errorType = errorType(end.error);
    if (end !== undefined) Object.assign(told, options.outcome?.(end));
    await options.client.outcome(told, { timeoutMs: OUTCOME_TIMEOUT_MS });
  } catch (error) {
    if (options.onUnrecorded !== undefined) options.onUnrecorded(error, told);
    else
      console.warn(
        `bitacora: the outcome ${status} of call ${call} was not recorded: ${error instanceof Error ? error.message : typeof error}`,
      );
  }
}

/** Returns the error for a call without a decision: the caller's own reason if it gave up, a denial otherwise. */
function undecided(call: string, error: unknown, signal: AbortSignal | undefined): unknown {
  if (signal?.aborted) return signal.reason;
  const reason = error instanceof BitacoraError ? error.message : "the ledger was not asked";
  return new Denied(call, "undecided", reason, undefined, error);
}

/** Returns an obligation that the tool does not keep; one that this version does not know is among them. */
function unmetObligation(obligations: Obligations, options: GuardOptions<never>): string | undefined {
  const { timeoutMs, retry: _once, excludeSecretFiles, ...unknown } = obligations;
  if (timeoutMs !== undefined && timeoutMs !== null && !(Number.isFinite(timeoutMs) && timeoutMs >= 0))
    return "timeoutMs";
  if (excludeSecretFiles === true && options.excludesSecretFiles !== true) return "excludeSecretFiles";
  return Object.entries(unknown).find(([, value]) => value !== null && value !== false)?.[0];
}

/** Returns the kind of an error in one word. */
function errorType(error: unknown): string {
  const name = error instanceof Error ? error.name : typeof error;
  return /^[\w.-]{1,64}$/.test(name) ? name : "error";
}

function detailsOf(options: GuardOptions<never>): CallDetails {
  const {
    client: _client,
    approvalWaitMs: _wait,
    acceptEdits: _edits,
    excludesSecretFiles: _files,
    outcome: _outcome,
    onUnrecorded: _lost,
    ...details
  } = options;
  return details;
}
