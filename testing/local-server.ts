import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A request to a local server, its body read. */
export interface LocalRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: IncomingMessage["headers"];
  /** The parsed body; undefined if it was not JSON. */
  readonly body: unknown;
}

/** A server on a free loopback port. */
export interface LocalServer {
  /** `http://127.0.0.1:<port>` */
  readonly url: string;
  /** Closes the server and all its connections. */
  close(): Promise<void>;
}

/** Starts a server that parses JSON; `answer` writes the response. An error becomes status 500. */
export async function startLocalServer(
  answer: (request: LocalRequest, response: ServerResponse) => Promise<void>,
  port = 0,
): Promise<LocalServer> {
  const server = createServer((incoming, response) => {
    const respond = async () => answer(await read(incoming), response);
    respond().catch((error: unknown) => {
      sendJson(response, 500, { error: { message: String(error), type: "server_error", param: null, code: null } });
    });
  });
  // A client on a busy machine may send on a connection that the server is about to close: clients close idle ones.
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(port, "127.0.0.1", resolve));
  const { port: taken } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${taken}`, close: () => closeServer(server) };
}

/** Answers with JSON. */
export function sendJson(
  response: ServerResponse,
  status: number,
  body: object,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
}

async function closeServer(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeAllConnections();
  await closed;
}

async function read(incoming: IncomingMessage): Promise<LocalRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) {
    chunks.push(chunk as Buffer);
  }
  const { method = "", url = "", headers } = incoming;
  const body = parse(Buffer.concat(chunks).toString("utf8"));
  return { method, url: new URL(url, "http://127.0.0.1"), headers, body };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
