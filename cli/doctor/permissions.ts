import type { Redis } from "ioredis";
import { finding, type Finding } from "./server-findings.js";
import { partCommands, leastCommands } from "./least-commands.js";

type Probed = Exclude<keyof typeof leastCommands, "connection" | "cluster">;
type SessionCommand = Exclude<(typeof leastCommands)[Probed][number], "multi" | "exec">;
type Command = SessionCommand | (typeof partCommands)[keyof typeof partCommands][number];

/** Arguments that fit each command's arity; what it would do is never done. The compiler refuses a missing one. */
const argumentsOf: Readonly<Record<Command, (key: string) => readonly (string | number)[]>> = {
  eval: (key) => ["return 1", 1, key],
  evalsha: (key) => ["0".repeat(40), 1, key],
  time: () => [],
  unlink: (key) => [key],
  hget: (key) => [key, "a"],
  hmget: (key) => [key, "a"],
  hset: (key) => [key, "a", "b"],
  hdel: (key) => [key, "a"],
  hlen: (key) => [key],
  hkeys: (key) => [key],
  hexists: (key) => [key, "a"],
  hstrlen: (key) => [key, "a"],
  llen: (key) => [key],
  lrange: (key) => [key, 0, -1],
  rpush: (key) => [key, "a"],
  ltrim: (key) => [key, 0, 0],
  pttl: (key) => [key],
  pexpireat: (key) => [key, 1],
  persist: (key) => [key],
  get: (key) => [key],
  set: (key) => [key, "a"],
  wait: () => [0, 1],
  exists: (key) => [key],
  zadd: (key) => [key, 1, "a"],
  zrem: (key) => [key, "a"],
  zcount: (key) => [key, 0, 1],
  zscore: (key) => [key, "a"],
  zmscore: (key) => [key, "a"],
  zrangebyscore: (key) => [key, 0, 1],
  zrevrangebyscore: (key) => [key, 1, 0],
  zrevrange: (key) => [key, 0, 0],
  zrandmember: (key) => [key],
  scan: () => [0],
  hgetall: (key) => [key],
  hincrby: (key) => [key, "a", 1],
  rename: (key) => [key, key],
  hscan: (key) => [key, 0],
  hsetnx: (key) => [key, "a", "b"],
  lindex: (key) => [key, 0],
  lset: (key) => [key, 0, "a"],
  zcard: (key) => [key],
  zlexcount: (key) => [key, "-", "+"],
  zrangebylex: (key) => [key, "-", "+"],
  zrevrangebylex: (key) => [key, "+", "-"],
  xadd: (key) => [key, "*", "a", "b"],
  xread: (key) => ["STREAMS", key, "0"],
  xrange: (key) => [key, "-", "+"],
  xrevrange: (key) => [key, "+", "-"],
  xtrim: (key) => [key, "MAXLEN", 0],
  pexpire: (key) => [key, 1],
};

const groups = Object.keys(leastCommands).filter((group) => group !== "connection" && group !== "cluster") as Probed[];

/**
 * Which commands this user may not run. Asks the server by queueing each command in a MULTI that cannot be executed: it
 * begins with a command that no server knows, so EXEC discards it. Nothing is written.
 */
export async function permissionFindings(node: Redis, keyPrefix: string, user: string): Promise<Finding[]> {
  const key = `${keyPrefix}:{doctor}:probe`;
  const refused = new Map<Probed, string[]>(groups.map((group) => [group, []]));
  const note = (group: Probed, command: string) => (error: Error) => {
    if (isRefusal(error)) {
      refused.get(group)!.push(command);
    }
  };
  await node.multi({ pipeline: false }).catch(note("always", "multi"));
  await node.call("langchain-redis-memory.none").catch(() => undefined);
  for (const group of groups) {
    for (const command of leastCommands[group].filter(
      (name): name is SessionCommand => name !== "multi" && name !== "exec",
    )) {
      await node.call(command, ...argumentsOf[command](key)).catch(note(group, command));
    }
  }
  const ofParts = await refusedForParts(node, key);
  await node.call("exec").catch(() => undefined);
  const refusedGroups = groups.filter((group) => refused.get(group)!.length > 0);
  const notes = ofParts.map(({ part, commands }) =>
    finding(
      "note",
      "permissions",
      `${user} may not run: ${commands.join(", ")}`,
      `Only ${part} needs them. ${aclLine(user, commands)}`,
    ),
  );
  return refusedGroups.length === 0
    ? [finding("ok", "permissions", `${user} may run every command that the package needs`), ...notes]
    : [...refusedGroups.map((group) => refusal(group, user, refused.get(group)!)), ...notes];
}

/** The commands of single parts that this user may not run, part by part. */
async function refusedForParts(node: Redis, key: string) {
  const parts: { readonly part: string; readonly commands: readonly string[] }[] = [];
  for (const [part, commands] of Object.entries(partCommands)) {
    const refused: string[] = [];
    for (const command of commands) {
      await node.call(command, ...argumentsOf[command](key)).catch((error: Error) => {
        if (isRefusal(error)) {
          refused.push(command);
        }
      });
    }
    if (refused.length > 0) {
      parts.push({ part, commands: refused });
    }
  }
  return parts;
}

function refusal(group: Probed, user: string, commands: readonly string[]): Finding {
  const found = `${user} may not run: ${commands.join(", ")}`;
  const advice = `docs/many-instances.md lists all rights. ${aclLine(user, commands)}`;
  return group === "always"
    ? finding("problem", "permissions", found, advice)
    : finding("warning", "permissions", found, `Only ${uses[group]} need them. ${advice}`);
}

/** The command by which an administrator grants commands. A name with other characters is left to them. */
function aclLine(user: string, commands: readonly string[]): string {
  const name = /^[\w.@-]+$/.test(user) ? user : "USER";
  return `Grant them: ACL SETUSER ${name} ${commands.map((command) => `+${command}`).join(" ")}`;
}

const uses: Readonly<Record<Exclude<Probed, "always">, string>> = {
  sessionTTL: "sessions that expire, and owners",
  leases: "summaries and oneTurnAtATime",
  waitReplicas: "waitReplicas and redirected writes",
  owners: "owners and lists of sessions",
  forks: "forks, imports and rebuilds of sessions",
  encryption: "keys of encryption that are exchanged, and repairs of damage",
};

/**
 * True where the user or the server knows no such command. A server asks for permission first: one that replies MOVED,
 * because another node of the cluster holds the probe's slot, or that is out of memory, would let this user.
 */
function isRefusal({ message }: Error): boolean {
  return /^(NOPERM|NOAUTH|ERR unknown (sub)?command)/i.test(message);
}
