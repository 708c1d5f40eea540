import type { Redis } from "ioredis";
import { finding, type Finding } from "./finding.js";

/** A command of this package in a form that fits its arity; what it would do is never done. */
interface Probe {
  readonly command: string;
  readonly args: (key: string) => readonly (string | number)[];
}

const alwaysNeeded: readonly Probe[] = [
  { command: "eval", args: (key) => ["return 1", 1, key] },
  { command: "evalsha", args: (key) => ["0".repeat(40), 1, key] },
  { command: "hmget", args: (key) => [key, "a"] },
  { command: "hget", args: (key) => [key, "a"] },
  { command: "hset", args: (key) => [key, "a", "b"] },
  { command: "hdel", args: (key) => [key, "a"] },
  { command: "hlen", args: (key) => [key] },
  { command: "hkeys", args: (key) => [key] },
  { command: "hexists", args: (key) => [key, "a"] },
  { command: "hstrlen", args: (key) => [key, "a"] },
  { command: "lrange", args: (key) => [key, 0, -1] },
  { command: "llen", args: (key) => [key] },
  { command: "rpush", args: (key) => [key, "a"] },
  { command: "ltrim", args: (key) => [key, 0, 0] },
  { command: "unlink", args: (key) => [key] },
  { command: "pexpireat", args: (key) => [key, 1] },
  { command: "pttl", args: (key) => [key] },
  { command: "time", args: () => [] },
];

/**
 * Which commands this user may not run. Asks the server by queueing each command in a MULTI that cannot be executed: it
 * begins with a command that no server knows, so EXEC discards it. Nothing is written.
 */
export async function permissionFindings(node: Redis, keyPrefix: string, user: string): Promise<Finding[]> {
  const key = `${keyPrefix}:{doctor}:probe`;
  const refused: string[] = [];
  await node.multi({ pipeline: false }).catch((error: Error) => refused.push(`multi (${firstWord(error)})`));
  await node.call("langchain-redis-memory.none").catch(() => undefined);
  for (const { command, args } of alwaysNeeded) {
    await node.call(command, ...args(key)).catch((error: Error) => refused.push(`${command} (${firstWord(error)})`));
  }
  await node.call("exec").catch(() => undefined);
  return refused.length === 0
    ? [finding("ok", "permissions", `${user} may run every command that the package needs`)]
    : [
        finding(
          "problem",
          "permissions",
          `${user} may not run: ${refused.join(", ")}`,
          "Add them to the user's ACL; the README lists them all.",
        ),
      ];
}

function firstWord(error: Error): string {
  return /^\S+/.exec(error.message)?.[0] ?? "refused";
}
