/** Decisions about calls. */

import { membersOf, withTexts } from "./answer.js";
import type { components } from "./openapi.js";

type Schemas = components["schemas"];

/** The verdict on a call. `unknown` is a word that this version does not know. Only `allow` lets a call begin. */
export type Verdict = "allow" | "review" | "deny" | "unknown";

/** A call that is to be decided. `call` is the caller's choice, random and new for each call. */
export type CallRequest = Omit<Schemas["DecideRequest"], "args"> & {
  /** Any JSON; the ledger keeps it as it is sent. */
  args?: unknown;
};

/** The decision about a call. */
export type Decision = Omit<Schemas["DecisionAnswer"], "verdict" | "wouldBe"> & {
  readonly verdict: Verdict;
  /** In mode `observe`: the verdict that enforcement would give. */
  readonly wouldBe?: Verdict;
  /** `true` if the call may begin now. Nothing else is an allow. */
  readonly allowed: boolean;
};

/** The report of a call's end. */
export type OutcomeReport = Schemas["OutcomeRequest"];
/** The effects of an outcome. */
export type OutcomeAnswer = Schemas["OutcomeAnswer"];
/** The conditions on an allowed call. */
export type Obligations = Schemas["ObligationsAnswer"];

/** Reads the decision about this call; `undefined` if the answer is about another one, or lacks a required member. */
export function readDecision(answer: unknown, call: string): Decision | undefined {
  const told = withTexts<Schemas["DecisionAnswer"]>(
    answer,
    "call",
    "verdict",
    "reasonCode",
    "reason",
    "mode",
    "position",
  );
  if (told === undefined || told.call !== call) return undefined;
  const { approval, obligations } = told;
  if (approval !== undefined && approval !== null && withTexts(approval, "id") === undefined) return undefined;
  if (obligations !== undefined && obligations !== null && membersOf(obligations) === undefined) return undefined;
  const { wouldBe, ...rest } = told;
  const verdict = readVerdict(told.verdict);
  return {
    ...rest,
    verdict,
    allowed: verdict === "allow",
    ...(typeof wouldBe === "string" ? { wouldBe: readVerdict(wouldBe) } : {}),
  };
}

function readVerdict(word: string): Verdict {
  return word === "allow" || word === "review" || word === "deny" ? word : "unknown";
}
