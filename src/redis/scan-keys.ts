import type { CallName } from "./errors.js";
import type { RedisClient } from "./client.js";
import type { ScriptRunner } from "./script-runner.js";

const pageLength = 1_000;
const name: CallName = { operation: "scan", sessionId: "" };

/** Keys to look through. */
export interface KeyScan {
  readonly runner: ScriptRunner;
  readonly keyPrefix: string;
}

/** A session that was found, and the owner that its state names. */
export interface FoundSession {
  readonly sessionId: string;
  readonly owner: string | undefined;
}

/** A copy that is not complete yet, of a session or of an import, with the id of the session that it becomes. */
export interface FoundCopy {
  readonly sessionId: string;
  readonly tag: string;
  /** The owner of the session that is copied. */
  readonly owner: string | undefined;
}

/** What a page of a scan found: sessions, copies that are not complete yet, and owners that have an index. */
export interface FoundPage {
  readonly copies: readonly FoundCopy[];
  readonly sessions: readonly FoundSession[];
  readonly owners: readonly string[];
}

/** A client, or one node of a cluster. */
interface Node extends Pick<RedisClient, "call"> {
  readonly options?: { readonly keyPrefix?: unknown };
}

/**
 * All sessions and indexes on all masters, page by page; one may come more than once. Keys that are moved from one node
 * to another meanwhile may be missed.
 */
export async function* scanKeys({ runner, keyPrefix }: KeyScan): AsyncGenerator<FoundPage> {
  const { nodes, prefix } = await runner.send(name, async (client) => mastersOf(client));
  const start = `${prefix}${keyPrefix}:{`;
  const pattern = `${escapeGlob(start)}*}:s*`;
  for (const node of nodes) {
    let cursor = "0";
    do {
      const args = [cursor, "MATCH", pattern, "COUNT", pageLength];
      const [next, keys] = (await runner.send(name, () => node.call("scan", args))) as [unknown, string[]];
      cursor = String(next);
      yield await pageOf(runner, node, { keys, start });
    } while (cursor !== "0");
  }
}

/** The ids of all sessions, or of those of an owner, each once. */
export async function* scanSessions(scan: KeyScan, owner: string | undefined): AsyncGenerator<string> {
  const seen = new Set<string>();
  for await (const { sessions } of scanKeys(scan)) {
    for (const found of sessions) {
      if ((owner === undefined || found.owner === owner) && !seen.has(found.sessionId)) {
        seen.add(found.sessionId);
        yield found.sessionId;
      }
    }
  }
}

/** The pattern that matches a text and nothing else. */
export function escapeGlob(text: string): string {
  return text.replace(/[\\*?[\]^-]/g, "\\$&");
}

async function pageOf(
  runner: ScriptRunner,
  node: Node,
  { keys, start }: { readonly keys: readonly string[]; readonly start: string },
): Promise<FoundPage> {
  const owners: string[] = [];
  const hashes: { readonly sessionId: string; readonly key: string; readonly tag: string | undefined }[] = [];
  for (const key of keys) {
    const [, name = "", part, tag] = partOf.exec(key.slice(start.length)) ?? [];
    if (part === "sessions" && name.startsWith("owner:")) {
      owners.push(decodeURIComponent(name.slice("owner:".length)));
    } else if (part !== undefined && part !== "sessions" && !name.includes(":")) {
      hashes.push({ sessionId: decodeURIComponent(name), key, tag });
    }
  }
  const own = String(node.options?.keyPrefix ?? "").length;
  const found = await runner.send(name, () =>
    // In one tick, so that they are sent together; a key that was moved meanwhile has no owner here.
    Promise.all(
      hashes.map(({ key, tag }) => {
        const fields = node.call("hmget", [key.slice(own), "owner", tag === undefined ? "epoch" : "next"]);
        return (fields as Promise<(string | null)[]>).catch(() => [null, null]);
      }),
    ),
  );
  const [sessions, copies]: [FoundSession[], FoundCopy[]] = [[], []];
  hashes.forEach(({ sessionId, tag }, index) => {
    const [name, exists] = found[index]!;
    const owner = name === null || name === "" ? undefined : name;
    if (exists !== null && tag === undefined) {
      sessions.push({ sessionId, owner });
    } else if (exists !== null && tag !== undefined) {
      copies.push({ sessionId, tag, owner });
    }
  });
  return { sessions, copies, owners };
}

/** What follows the prefix in a key's name: the encoded session or owner, the part, and the tag of a copy. */
const partOf = /^(.*)\}:(state|sessions|staged:([^:]+):progress)$/s;

/** The masters behind a client, and what the client puts before the names of keys. */
function mastersOf(client: RedisClient): { readonly nodes: readonly Node[]; readonly prefix: string } {
  const { nodes } = client as { nodes?: unknown };
  const { keyPrefix } = (client.options ?? {}) as { keyPrefix?: unknown };
  const masters = typeof nodes === "function" ? (client as unknown as ClusterLike).nodes("master") : [client as Node];
  return { nodes: masters, prefix: typeof keyPrefix === "string" ? keyPrefix : "" };
}

interface ClusterLike {
  nodes(role: "master"): Node[];
}
