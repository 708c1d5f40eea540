import type { CallName } from "./redis-errors.js";
import type { RedisClient } from "./redis-client.js";
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

/** What a page of a scan found: sessions, and owners that have an index. */
export interface FoundPage {
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
  const states: { readonly sessionId: string; readonly key: string }[] = [];
  for (const key of keys) {
    const [, tag = "", part] = /^(.*)\}:(state|sessions)$/s.exec(key.slice(start.length)) ?? [];
    if (part === "sessions" && tag.startsWith("owner:")) {
      owners.push(decodeURIComponent(tag.slice("owner:".length)));
    } else if (part === "state" && !tag.includes(":")) {
      states.push({ sessionId: decodeURIComponent(tag), key });
    }
  }
  const own = String(node.options?.keyPrefix ?? "").length;
  const found = await runner.send(name, () =>
    // In one tick, so that they are sent together; a key that was moved meanwhile has no owner here.
    Promise.all(
      states.map(({ key }) =>
        (node.call("hmget", [key.slice(own), "owner", "epoch"]) as Promise<(string | null)[]>).catch(() => [
          null,
          null,
        ]),
      ),
    ),
  );
  const sessions = states.flatMap(({ sessionId }, index) => {
    const [owner, epoch] = found[index]!;
    return epoch === null ? [] : [{ sessionId, owner: owner ?? undefined }];
  });
  return { sessions, owners };
}

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
