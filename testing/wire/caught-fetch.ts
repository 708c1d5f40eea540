import { AsyncLocalStorage } from "node:async_hooks";
import { type Fields, fieldsIn } from "./json.js";

/** A request that was caught on its way to a provider. */
export interface CaughtRequest {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** The parsed body; undefined if it is not JSON. */
  readonly body: unknown;
}

/** The answer to a caught request. */
export interface CaughtAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
}

/** Answers a caught request in the provider's place. */
export type Catcher = (request: CaughtRequest) => CaughtAnswer;

const catcher = new AsyncLocalStorage<Catcher>();
const catching = new WeakSet<object>();
let open = 0;
let platformFetch: typeof fetch | undefined;

/**
 * Runs `work` with a catcher: what it fetches, and what it sends through a client that `model` holds, goes to the
 * catcher and not to the network. Runs at the same time do not see each other.
 */
export async function withCaughtFetch<T>(
  model: unknown,
  { onRequest, work }: { readonly onRequest: Catcher; readonly work: () => Promise<T> },
): Promise<T> {
  const clients = clientsOf(model);
  const release = clients.map(catchClient);
  platformFetch = open === 0 ? globalThis.fetch : platformFetch;
  open += 1;
  globalThis.fetch = caughtBy(platformFetch!);
  try {
    return await catcher.run(onRequest, work);
  } finally {
    open -= 1;
    if (open === 0) {
      globalThis.fetch = platformFetch!;
    }
    release.forEach((undo) => undo());
  }
}

/** A fetch that goes to the catcher of the running code; without one, to the network. */
function caughtBy(original: typeof fetch): typeof fetch {
  const caught: typeof fetch = async (input, init) => {
    const answer = catcher.getStore();
    if (answer === undefined) {
      return original(input, init);
    }
    const request = new Request(input, init);
    const { status, headers, body } = answer({
      url: new URL(request.url),
      headers: Object.fromEntries(request.headers),
      body: parse(await request.text()),
    });
    return new Response(body as never, { status, headers });
  };
  catching.add(caught);
  return caught;
}

interface HttpRequest {
  readonly hostname: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

interface RequestHandler {
  handle(request: HttpRequest, options: unknown): Promise<{ readonly response: object }>;
}

interface Client {
  fetch?: typeof fetch;
  config?: { requestHandler?: RequestHandler };
}

/** Has a client that fetched before, or that does not fetch at all, go to the catcher. Returns what undoes it. */
function catchClient(client: Client): () => void {
  const { fetch: held, config } = client;
  if (typeof held === "function" && !catching.has(held)) {
    client.fetch = caughtBy(held);
    return () => {
      client.fetch = held;
    };
  }
  const handler = config?.requestHandler;
  if (config === undefined || handler === undefined) {
    return () => undefined;
  }
  config.requestHandler = Object.assign(Object.create(handler) as RequestHandler, {
    handle: (request: HttpRequest, options: unknown) => {
      const answer = catcher.getStore();
      return answer === undefined ? handler.handle(request, options) : handleAs(answer, request);
    },
  });
  return () => {
    config.requestHandler = handler;
  };
}

/** The catcher's answer in the form of a handler of the AWS SDK. */
async function handleAs(
  answer: Catcher,
  { hostname, path, headers, body }: HttpRequest,
): Promise<{ readonly response: object }> {
  const text = typeof body === "string" ? body : new TextDecoder().decode(body as Uint8Array);
  const given = answer({ url: new URL(`https://${hostname}${path}`), headers, body: parse(text) });
  const { Readable } = await import("node:stream");
  return {
    response: {
      statusCode: given.status,
      headers: { ...given.headers },
      body: Readable.from([Buffer.from(given.body)]),
    },
  };
}

/** Fields in which LangChain's models and their bindings hold other models and clients. */
const holders = [
  "bound",
  "first",
  "middle",
  "last",
  "runnable",
  "completions",
  "responses",
  "client",
  "streamingClient",
  "batchClient",
];

function clientsOf(model: unknown, depth = 0): readonly Client[] {
  if (depth > 4 || typeof model !== "object" || model === null) {
    return [];
  }
  const fields = fieldsIn(model);
  const own = typeof fields["fetch"] === "function" || isHandler(fields["config"]) ? [model as Client] : [];
  return [...own, ...holders.flatMap((key) => clientsOf(fields[key], depth + 1))];
}

function isHandler(config: unknown): boolean {
  return typeof config === "object" && config !== null && (config as Fields)["requestHandler"] !== undefined;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
