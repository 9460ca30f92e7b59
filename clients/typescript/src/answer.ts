/** Checks of answers: only what the service promises is taken. */

import { isPosition } from "./position.js";

/** The members of a JSON object. */
export type Members = Record<string, unknown>;

/** Returns the members of a JSON object; `undefined` for anything else. */
export function membersOf(value: unknown): Members | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Members) : undefined;
}

/** Returns the answer if it is an object whose named members are strings, and whose `position`, if named, is one. */
export function withTexts<T>(value: unknown, ...names: (keyof T & string)[]): T | undefined {
  const members = membersOf(value);
  const fits =
    members !== undefined &&
    names.every((name) => (name === "position" ? isPosition(members[name]) : typeof members[name] === "string"));
  return fits ? (members as T) : undefined;
}
