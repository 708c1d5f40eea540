/** Commands that are sent together, in one round trip. */
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
  /** The options of the client; only looked at. */
  readonly options?: unknown;
  /** Sends one command. */
  call(command: string, args: (string | Buffer | number)[]): Promise<unknown>;
  /** Sends commands together. */
  pipeline(commands: [name: string, ...args: unknown[]][]): CommandBatch;
  /** Sends commands as one transaction. */
  multi(commands: [name: string, ...args: unknown[]][]): CommandBatch;
}

/** True for an ioredis client. Checks the shape, because the application may use another copy of ioredis. */
export function isRedisClient(value: unknown): value is RedisClient {
  return hasMethods(value, ["call", "pipeline", "multi", "defineCommand"]);
}

/** True if the client collects commands into pipelines by itself (`enableAutoPipelining`). */
export function pipelinesByItself({ options }: RedisClient): boolean {
  return (options as { readonly enableAutoPipelining?: unknown } | undefined)?.enableAutoPipelining === true;
}

/** True for a client of the package `redis` (node-redis), recognized by its camel-case methods. */
export function isNodeRedisClient(value: unknown): boolean {
  return hasMethods(value, ["hSet", "sendCommand"]) && !hasMethods(value, ["defineCommand"]);
}

function hasMethods(value: unknown, names: readonly string[]): boolean {
  return (
    typeof value === "object" &&
    value !== null &&
    names.every((name) => typeof (value as Record<string, unknown>)[name] === "function")
  );
}
