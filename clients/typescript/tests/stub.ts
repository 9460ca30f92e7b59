/** A server that misbehaves as a test wants. */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";

/** Answers one request; `turn` counts from 0. */
export type Handler = (request: IncomingMessage, response: ServerResponse, turn: number, body: string) => void;

/** A stub and the requests that it got. */
export interface Stub {
  url: string;
  requests: { method: string; url: string; headers: IncomingMessage["headers"]; body: string }[];
}

/** Starts a stub that ends with its test. */
export async function startStub(test: TestContext, handler: Handler): Promise<Stub> {
  const requests: Stub["requests"] = [];
  const server: Server = createServer(async (request, response) => {
    let body = "";
    for await (const piece of request) body += piece;
    const turn =
      requests.push({ method: request.method ?? "", url: request.url ?? "", headers: request.headers, body }) - 1;
    handler(request, response, turn, body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  test.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

/** Answers with JSON. */
export function answerJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
}

/** A token of nobody. */
export const TOKEN = `bt_${"a".repeat(43)}`;

/** Returns an address at which nothing listens. */
export async function closedAddress(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${port}`;
}
