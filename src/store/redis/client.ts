import type { Redis } from "ioredis";

/** A batch of commands for one round trip. */
export interface CommandBatch {
  /** Sends the commands; a result for each, in order. */
  exec(): Promise<[error: Error | null, result: unknown][] | null>;
}

/**
 * The part of an ioredis `Redis` or `Cluster`, version 5 or 6, that the store uses.
 *
 * The store adds no methods to the client, never closes it and leaves its options unchanged.
 * @example
 * import { Redis } from "ioredis";
 * import { RedisChatMemory, type RedisClient } from "langchain-redis-memory";
 *
 * const client: RedisClient = new Redis("redis://localhost:6379");
 * const replies = await client.multi([["ping"], ["ping"]]).exec(); // the way in which the store reads
 * const memory = new RedisChatMemory({ client });
 */
export interface RedisClient {
  /** Options of the client; read only. */
  readonly options?: unknown;
  /** Sends one command. */
  call(command: string, args: (string | Buffer | number)[]): Promise<unknown>;
  /** Sends commands together. */
  pipeline(commands: [name: string, ...args: unknown[]][]): CommandBatch;
  /** Sends commands as one transaction. */
  multi(commands: [name: string, ...args: unknown[]][]): CommandBatch;
}

/** Node's own: tests that stop the clock replace the function in `process`, and would keep back what was written. */
const { nextTick } = process;

const corked = new WeakSet<object>();

/**
 * Corks the client's socket until the tick ends, so that calls of one tick share one system call. Preserves the order.
 */
export function corkForTick(client: RedisClient): void {
  const { status, stream } = client as Partial<Pick<Redis, "status" | "stream">>;
  if (status !== "ready" || typeof stream?.cork !== "function" || corked.has(stream)) {
    return;
  }
  corked.add(stream);
  stream.cork();
  nextTick(() => {
    corked.delete(stream);
    stream.uncork();
  });
}

/** True for an ioredis client. Checks the shape, because the application may use another copy of ioredis. */
export function isRedisClient(value: unknown): value is RedisClient {
  const client = Object(value) as Record<string, unknown>;
  return ["call", "pipeline", "multi", "defineCommand"].every((name) => typeof client[name] === "function");
}

/**
 * Address of a client, for errors: host and port, socket path, Sentinels of a master, or first nodes of a Cluster.
 * Never a user or password. Undefined if the client does not expose it.
 */
export function serverOf(client: RedisClient): string | undefined {
  const { path, host, port, sentinels, name } = (client.options ?? {}) as Readonly<Record<string, unknown>>;
  const { startupNodes } = client as { readonly startupNodes?: unknown };
  if (Array.isArray(startupNodes)) {
    return `${placesOf(startupNodes)} (nodes of a Cluster)`;
  }
  if (Array.isArray(sentinels)) {
    return `${placesOf(sentinels)} (Sentinels of ${String(name)})`;
  }
  if (typeof path === "string") {
    return path;
  }
  return typeof host === "string" ? `${host}:${String(port)}` : undefined;
}

const mostPlaces = 3;

function placesOf(nodes: readonly unknown[]): string {
  const places = nodes.slice(0, mostPlaces).map((node) => {
    if (typeof node === "string") {
      // May hold a user and a password.
      return URL.canParse(node) ? new URL(node).host : "?";
    }
    const { host = "127.0.0.1", port = typeof node === "number" ? node : "?" } = Object(node) as {
      readonly host?: unknown;
      readonly port?: unknown;
    };
    return `${String(host)}:${String(port)}`;
  });
  return places.join(", ") + (nodes.length > mostPlaces ? ", …" : "");
}
