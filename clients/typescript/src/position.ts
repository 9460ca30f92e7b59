/** Positions in a ledger. */

/**
 * A position: a decimal number from 0 to 2^64 - 1, as a string.
 *
 * A `number` is exact only up to 2^53. A `bigint` is exact, but `JSON.stringify` refuses it. A string is exact, passes through
 * JSON and logs unchanged, and is what the service sends. Compare positions with {@link comparePositions}: `"9" < "10"` is false.
 */
export type Position = string;

const DECIMAL = /^(0|[1-9][0-9]{0,19})$/;
const MAX_POSITION = 2n ** 64n - 1n;

/** Returns `true` for a string that is a position. */
export function isPosition(value: unknown): value is Position {
  return typeof value === "string" && DECIMAL.test(value) && BigInt(value) <= MAX_POSITION;
}

/** Returns the position of a string or `bigint`. Throws a `TypeError` for anything else, numbers included. */
export function toPosition(value: Position | bigint): Position {
  const text: unknown = typeof value === "bigint" ? value.toString() : value;
  if (!isPosition(text)) {
    throw new TypeError(
      `found ${typeof value} ${String(value)}, expected a position: a decimal string or a bigint from 0 to 2^64 - 1`,
    );
  }
  return text;
}

/** Compares two positions: negative if `a` comes first, 0 if they are the same. It sorts an array of positions. */
export function comparePositions(a: Position | bigint, b: Position | bigint): number {
  const difference = BigInt(toPosition(a)) - BigInt(toPosition(b));
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}
