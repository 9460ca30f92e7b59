/** The README works when pasted, and the packed package holds only what users need. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import * as everything from "bitacora-ledger";

import { RealService } from "./service.js";

const run = promisify(execFile);
const PACKAGE = fileURLToPath(new URL("../../", import.meta.url));
/** The starter allows looking commands in folders of a home; the test's own folder is none. */
const HOME_FOLDER = '"/home/ana/project"';

let service: RealService;
let blocks: { language: string; text: string }[] = [];
let tarball = "";

before(async () => {
  service = await RealService.empty();
  const readme = await readFile(join(PACKAGE, "README.md"), "utf8");
  blocks = [...readme.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, language = "", text = ""]) => ({ language, text }));
});
after(() => service.end());

function blocksOf(language: string): string[] {
  return blocks.filter((block) => block.language === language).map(({ text }) => text);
}

test("the packed package holds the built modules, the README and the licence alone", async () => {
  const { stdout } = await run("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", service.folder], {
    cwd: PACKAGE,
  });
  const [packed] = JSON.parse(stdout) as { filename: string; files: { path: string }[] }[];
  const others = packed?.files.map(({ path }) => path).filter((path) => !/^dist\/[a-z0-9-]+\.(js|d\.ts)$/.test(path));
  assert.deepEqual(others?.sort(), ["LICENSE", "README.md", "package.json"]);
  const manifest = JSON.parse(await readFile(join(PACKAGE, "package.json"), "utf8"));
  assert.deepEqual(
    [manifest.dependencies, manifest.peerDependencies, manifest.optionalDependencies],
    [undefined, undefined, undefined],
  );
  tarball = join(service.folder, packed?.filename ?? "");
});

test("the first page works when pasted", async () => {
  const [serve = "", prepare = ""] = blocksOf("sh");
  assert.match(serve, /^bitacora serve --create main /);
  await mkdir(join(service.folder, "bin"));
  await symlink(process.env["BITACORA_PROGRAM"] ?? "", join(service.folder, "bin", "bitacora"));
  const env = {
    ...process.env,
    PATH: `${join(service.folder, "bin")}:${process.env["PATH"]}`,
    BITACORA_URL: service.url,
    BITACORA_KEYRING: "keyring",
  };
  const paste = (command: string) => run("bash", ["-ec", command], { cwd: service.folder, env });
  const installation = 'npm --prefix "$CLONE/clients/typescript" ci\nnpm install "$CLONE/clients/typescript"\n';
  assert.ok(prepare.endsWith(installation));
  await paste(prepare.replace(installation, `npm install --offline --no-audit --no-fund ${tarball}`));
  const [agent = ""] = blocksOf("js");
  await writeFile(
    join(service.folder, "agent.mjs"),
    agent.replace("http://127.0.0.1:7717", service.url).replace("process.cwd()", HOME_FOLDER),
  );
  const [shown = ""] = blocksOf("console");
  const [command = "", ...expected] = shown.trimEnd().split("\n");
  const { stdout } = await paste(command.replace(/^\$ /, ""));
  const approvalIds = /approval \w+ /g;
  const found = stdout
    .trimEnd()
    .split("\n")
    .map((line) => line.replace(approvalIds, "approval … "));
  assert.equal(found.length, expected.length);
  expected.forEach((line, index) => {
    const begin = line.replace(approvalIds, "approval … ").replace(/…$/, "");
    assert.ok(found[index]?.startsWith(begin), `found ${found[index]}, expected ${line}`);
  });
});

test("every snippet has correct types and runs", async () => {
  const names = Object.keys(everything).join(", ");
  const snippets = blocksOf("ts");
  assert.ok(snippets.length >= 4);
  const folder = join(PACKAGE, "build", "readme");
  await mkdir(folder, { recursive: true });
  const token = (await readFile(join(service.folder, "coder.token"), "utf8")).trim();
  const preamble = `import { ${names} } from "bitacora-ledger";\nconst client = new Client({ url: process.env["BITACORA_URL"] ?? "", token: process.env["BITACORA_TOKEN"] ?? "" });\n`;
  const files = await Promise.all(
    snippets.map(async (text, index) => {
      const file = join(folder, `snippet-${index}.ts`);
      await writeFile(file, preamble + text);
      return file;
    }),
  );
  const config = {
    extends: "../../tsconfig.tests.json",
    compilerOptions: { rootDir: ".", outDir: ".", noUnusedLocals: false, noUnusedParameters: false },
    include: ["*.ts"],
    exclude: [],
  };
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify(config));
  await run(process.execPath, [join(PACKAGE, "node_modules/typescript/bin/tsc"), "--project", folder]).catch(
    ({ stdout }) => assert.fail(stdout),
  );
  const env = { ...process.env, BITACORA_URL: service.url, BITACORA_TOKEN: token };
  for (const file of files) await run(process.execPath, [file.replace(/ts$/, "js")], { env, timeout: 20_000 });
});
