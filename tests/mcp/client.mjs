// Asks a server for everything with the official TypeScript SDK, and prints the answers as one line of JSON.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const [command, ...args] = process.argv.slice(2);
const client = new Client({ name: "everything", version: "1" }, { capabilities: {} });
await client.connect(new StdioClientTransport({ command, args, env: process.env, stderr: "ignore" }));
const answer = async (asked) => asked.catch((error) => ({ code: error.code, message: error.message }));
const answers = { tools: (await client.listTools()).tools };
answers.calls = {};
for (const [name, given] of Object.entries(JSON.parse(process.env.CALLS))) {
  answers.calls[name] = await answer(client.callTool({ name, arguments: given }));
}
answers.prompts = (await client.listPrompts()).prompts;
answers.prompt = await answer(client.getPrompt({ name: answers.prompts[0].name, arguments: {} }));
answers.resources = (await client.listResources()).resources;
answers.contents = [];
for (const { uri } of answers.resources) answers.contents.push(await answer(client.readResource({ uri })));
answers.templates = (await client.listResourceTemplates()).resourceTemplates;
await client.close();
console.log(JSON.stringify(answers));
