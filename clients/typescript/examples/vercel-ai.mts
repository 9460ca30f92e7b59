/** Tools of the Vercel AI SDK, guarded by a ledger: `generateText({ tools: guardTools(tools, { client }), … })`. */

import type { ToolSet } from "ai";
import { guarded, type GuardOptions } from "bitacora-ledger";

/**
 * Returns the tools with each `execute` guarded under its tool's name. The model reads why a call was denied, or which approval
 * waits, as the tool's error. Tools without `execute` run elsewhere and stay as they are.
 */
export function guardTools<T extends ToolSet>(tools: T, options: GuardOptions): T {
  const entries = Object.entries(tools).map(([name, tool]) => {
    const { execute } = tool;
    if (execute === undefined) return [name, tool] as const;
    const guardedExecute = (input: unknown, call: Parameters<typeof execute>[1]): Promise<unknown> => {
      const run = guarded(
        name,
        (args: unknown, { signal }) => execute(args, { ...call, abortSignal: signal }),
        options,
      );
      // Ids of calls are chosen by the model's provider and may come again in another session: the ledger's own are unique.
      return run(input, { signal: call.abortSignal });
    };
    // The SDK takes the pieces of a result only from a generator, not from the promise of one.
    const guardedPieces = async function* (input: unknown, call: Parameters<typeof execute>[1]): AsyncGenerator {
      yield* (await guardedExecute(input, call)) as AsyncIterable<unknown>;
    };
    const isGenerator = Object.prototype.toString.call(execute) === "[object AsyncGeneratorFunction]";
    return [name, { ...tool, execute: isGenerator ? guardedPieces : guardedExecute }] as const;
  });
  return Object.fromEntries(entries) as T;
}
