/** Something that collects commands and sends them in one flight. */
export interface CommandBatch {
  exec(): Promise<[error: Error | null, result: unknown][] | null>;
}

/**
 * What the store needs of a client: an ioredis `Redis` or `Cluster`, version 5 or 6, as it is.
 *
 * The store adds no methods to it, never closes it and leaves its options alone.
 */
export interface RedisClient {
  readonly options?: unknown;
  call(command: string, args: (string | Buffer | number)[]): Promise<unknown>;
  pipeline(commands: unknown[][]): CommandBatch;
  multi(commands: unknown[][]): CommandBatch;
}

/** True for an ioredis client; the shape decides, because the application may hold another copy of ioredis. */
export function isRedisClient(value: unknown): value is RedisClient {
  return hasMethods(value, ["call", "pipeline", "multi", "defineCommand"]);
}

/** True where the client sends commands that were given to it at about the same time in one pipeline. */
export function pipelinesByItself({ options }: RedisClient): boolean {
  return (options as { readonly enableAutoPipelining?: unknown } | undefined)?.enableAutoPipelining === true;
}

/** True for a client of the package `redis` (node-redis), which names its methods in camel case. */
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
