import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";

/** What a route of Next.js exports. */
export type Route = Partial<Record<string, (request: Request) => Promise<Response>>>;

/** Serves a page's script and its routes, by their paths, as Next.js does, and prints the address. */
export function servePage(routes: Readonly<Record<string, Route>>, script: string): void {
  const server = createServer((incoming, outgoing) => {
    const path = incoming.url ?? "/";
    const route = routes[path.replace(/\?.*/, "")];
    if (path === "/page.js") {
      outgoing.writeHead(200, { "content-type": "text/javascript" }).end(script);
    } else if (route !== undefined) {
      answer(route, incoming, outgoing).catch(() => outgoing.destroy());
    } else {
      outgoing
        .writeHead(200, { "content-type": "text/html; charset=utf-8" })
        .end('<!doctype html><link rel="icon" href="data:,"><div id="page"></div><script src="/page.js"></script>');
    }
  });
  server.listen(0, "127.0.0.1", () =>
    process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`),
  );
}

async function answer(route: Route, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const left = new AbortController();
  outgoing.once("close", () => left.abort());
  const { method = "GET" } = incoming;
  const body = await text(incoming);
  const request = new Request(`http://127.0.0.1${incoming.url}`, {
    method,
    headers: incoming.headers as Record<string, string>,
    signal: left.signal,
    ...(body !== "" && { body }),
  });
  const response = await route[method]!(request).catch((error: unknown) => {
    process.stderr.write(`${String(error)}\n`);
    return new Response(null, { status: 500 });
  });
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  if (response.body === null) {
    outgoing.end();
    return;
  }
  // Where the browser left, the body ends too.
  await pipeline(Readable.fromWeb(response.body as Parameters<typeof Readable.fromWeb>[0]), outgoing);
}
