/** A tool of your own that asks the ledger before each call. It needs an agent's token in `coder.token`. */

import { readFileSync } from "node:fs";

import { Client, guarded } from "bitacora-ledger";

const client = new Client({
  url: process.env["BITACORA_URL"] ?? "http://127.0.0.1:7717",
  token: readFileSync("coder.token", "utf8"),
});
// Without `approvalWaitMs: 0` a reviewed call waits five minutes for a person.
const options = { client, cwd: process.cwd(), approvalWaitMs: 0 };
const bash = guarded("Bash", async ({ command }: { command: string }) => `ran ${command}`, options);

for (const command of ["ls", "git push --force", "rm notes.txt"]) {
  console.log(await bash({ command }).catch((error: Error) => error.message));
}
