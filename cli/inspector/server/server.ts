import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { UsageError } from "../../failure.js";
import type { Server } from "../../server.js";
import type { ModelFact } from "../model/facts-of-models.js";
import { InspectorRoutes } from "./routes.js";
import { admit, protectiveHeaders } from "./loopback-guard.js";
import { problemOf } from "./request-problem.js";

/** Options of the inspector's server. */
export interface InspectorOptions {
  readonly server: Server;
  /** Folder with the built page. */
  readonly pageFolder: string;
  /** @default one that is free */
  readonly port?: number;
  /** Windows and prices of models. @default none */
  readonly models?: readonly ModelFact[];
}

/** An inspector that runs. */
export interface Inspector {
  /** The page's URL, with the token. */
  readonly url: string;
  close(): Promise<void>;
}

const pageFiles = {
  "": ["index.html", "text/html; charset=utf-8"],
  "app.js": ["app.js", "text/javascript; charset=utf-8"],
  "app.css": ["app.css", "text/css; charset=utf-8"],
} as const;

/**
 * Serves the page and what it asks for, on the loopback interface only, to those who know the token. Reads and never
 * writes.
 *
 * @throws UsageError for a port that is taken.
 */
export async function startInspector({
  server,
  pageFolder,
  port = 0,
  models = [],
}: InspectorOptions): Promise<Inspector> {
  const token = randomBytes(24).toString("base64url");
  const routes = new InspectorRoutes(server, models);
  const files = await loadPage(pageFolder);
  const http = createServer((request, response) => {
    const { port: own } = http.address() as AddressInfo;
    void answer(request, response, { admission: { port: own, token }, files, routes });
  });
  await new Promise<void>((resolve, reject) => {
    http.once("error", (error: NodeJS.ErrnoException) => {
      reject(new UsageError(`inspect: port ${port} cannot be used (${error.code}). Give another --port, or none.`));
    });
    http.listen(port, "127.0.0.1", resolve);
  });
  const close = async () => {
    const closed = new Promise((resolve) => http.close(resolve));
    http.closeAllConnections();
    await closed;
  };
  return { url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/${token}/`, close };
}

type PageFiles = ReadonlyMap<string, { readonly type: string; readonly content: Buffer }>;

async function loadPage(folder: string): Promise<PageFiles> {
  const entries = Object.entries(pageFiles).map(
    async ([path, [name, type]]) => [path, { type, content: await readFile(join(folder, name)) }] as const,
  );
  return new Map(await Promise.all(entries));
}

interface Answering {
  readonly admission: { readonly port: number; readonly token: string };
  readonly files: PageFiles;
  readonly routes: InspectorRoutes;
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { admission, files, routes }: Answering,
): Promise<void> {
  for (const [name, value] of Object.entries(protectiveHeaders)) {
    response.setHeader(name, value);
  }
  const admitted = admit(request, admission);
  if ("status" in admitted) {
    response.writeHead(admitted.status, { "content-type": "text/plain; charset=utf-8" }).end(`${admitted.sentence}\n`);
    return;
  }
  const file = files.get(admitted.path);
  if (file !== undefined) {
    response.writeHead(200, { "content-type": file.type }).end(file.content);
    return;
  }
  try {
    await routes.answer(admitted, response);
  } catch (error) {
    fail(response, error);
  }
}

/** If a part of the answer is out, breaks the connection: the reader sees that it is not whole. */
function fail(response: ServerResponse, error: unknown): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const { status, sentence } = problemOf(error);
  response
    .writeHead(status, { "content-type": "application/json; charset=utf-8" })
    .end(JSON.stringify({ error: sentence }));
}
