import type { CallName } from "./errors.js";
import type { RedisClient } from "./connection.js";
import { ownerMark, ownerMarkIn } from "../contract/append-decision.js";
import { namedKey, type DataPart, type NamedKey } from "./keys.js";
import { ownerField } from "./stored-fields.js";
import type { ScriptRunner } from "./script-runner.js";

const pageLength = 1_000;
const name: CallName = { operation: "scan", sessionId: "" };

/** Scope of a scan. */
export interface KeyScan {
  readonly runner: ScriptRunner;
  readonly keyPrefix: string;
}

/** A session found by a scan, and the owner that its keys name. */
export interface FoundSession {
  readonly sessionId: string;
  readonly owner: string | undefined;
  /** Owner marks at both ends of the log, if only records are left of the session. */
  readonly marks?: readonly string[];
}

/** True if the remaining keys of the session name the owner. */
export function isOwnedBy({ owner, marks = [] }: FoundSession, name: string): boolean {
  return owner === undefined ? marks.length > 0 && marks.every((mark) => mark === ownerMark(name)) : owner === name;
}

/** An incomplete copy (of a fork or an import), with the id of its future session. */
export interface FoundCopy {
  readonly sessionId: string;
  readonly tag: string;
  /** The owner of the session that is copied. */
  readonly owner: string | undefined;
}

/** A page of a scan. */
export interface FoundPage {
  readonly copies: readonly FoundCopy[];
  readonly sessions: readonly FoundSession[];
  /** Owners with lists. */
  readonly owners: readonly string[];
  /** Meanings of the names of all keys of the page. */
  readonly keys: readonly NamedKey[];
}

/** A client, or one node of a cluster. */
export interface Node extends Pick<RedisClient, "call"> {
  readonly options?: { readonly keyPrefix?: unknown };
}

/** Keys of one master, by what their names say. */
interface KeyPage {
  readonly node: Node;
  readonly keys: readonly FoundKey[];
}

/** A key: its name as commands of the node take it, and what that says. */
interface FoundKey extends NamedKey {
  readonly key: string;
}

/**
 * All keys of this package on all masters, or those of one part, in pages, possibly with duplicates. May miss keys that
 * migrate between nodes during the scan.
 */
export async function* scanNames({ runner, keyPrefix }: KeyScan, part?: DataPart): AsyncGenerator<KeyPage> {
  const { nodes, prefix } = await runner.send(name, async (client) => mastersOf(client));
  const start = `${prefix}${keyPrefix}:{`;
  const pattern = `${escapeGlob(start)}*${part === undefined ? "" : `}:${part}`}`;
  for (const node of nodes) {
    const own = String(node.options?.keyPrefix ?? "").length;
    let cursor = "0";
    do {
      const args = [cursor, "MATCH", pattern, "COUNT", pageLength];
      const [next, names] = (await runner.send(name, () => node.call("scan", args))) as [unknown, string[]];
      cursor = String(next);
      const keys = names.flatMap((key) => {
        const named = namedKey(key.slice(start.length));
        return named === undefined ? [] : { key: key.slice(own), ...named };
      });
      yield { node, keys };
    } while (cursor !== "0");
  }
}

/** All sessions, copies, lists, runs and threads, in pages, see {@link scanNames}. */
export async function* scanKeys(scan: KeyScan): AsyncGenerator<FoundPage> {
  for await (const page of scanNames(scan)) {
    yield await pageOf(scan.runner, page);
  }
}

/** The ids of all sessions, or of those of an owner, each once. */
export async function* scanSessions(scan: KeyScan, owner: string | undefined): AsyncGenerator<string> {
  const seen = new Set<string>();
  for await (const { sessions } of scanKeys(scan)) {
    for (const session of sessions) {
      if ((owner === undefined || isOwnedBy(session, owner)) && !seen.has(session.sessionId)) {
        seen.add(session.sessionId);
        yield session.sessionId;
      }
    }
  }
}

/** The pattern that matches a text and nothing else. */
export function escapeGlob(text: string): string {
  return text.replace(/[\\*?[\]^-]/g, "\\$&");
}

async function pageOf(runner: ScriptRunner, { node, keys }: KeyPage): Promise<FoundPage> {
  const hashes = keys.filter(({ part }) => part === "state" || part === "staged:progress");
  const parts = keys.filter(({ part }) => part === "log" || part === "ids").map(stemOf);
  const replies = await runner.send(name, () =>
    // In one tick, so that they are sent together; a key that was moved meanwhile has no owner here.
    Promise.all(
      hashes.map(({ key, tag }) => {
        const fields = node.call("hmget", [key, "owner", tag === undefined ? "epoch" : "next", "next"]);
        return (fields as Promise<(string | null)[]>).catch(() => [null, null, null]);
      }),
    ),
  );
  const [sessions, copies]: [FoundSession[], FoundCopy[]] = [[], []];
  const unclear: SessionStem[] = [];
  hashes.forEach((hash, index) => {
    const { id: sessionId, tag } = hash;
    const [name, exists, next] = replies[index]!;
    const owner = name === null || name === "" ? undefined : name;
    if (tag === undefined && owner === undefined && next === null) {
      // A hold, say, has created the state again: what else is left may say more.
      unclear.push(stemOf(hash));
    }
    if (exists !== null && tag === undefined) {
      sessions.push({ sessionId, owner });
    } else if (exists !== null && tag !== undefined) {
      copies.push({ sessionId, tag, owner });
    }
  });
  sessions.push(...(await withoutState(runner, node, { parts, unclear })));
  const owners = keys.flatMap(({ part, id }) => (part === "sessions" ? id : []));
  return { sessions, copies, owners, keys };
}

/** Sessions that lost their state, from their other keys: the owner is named by the ids, else by the records. */
async function withoutState(
  runner: ScriptRunner,
  node: Node,
  { parts, unclear }: { readonly parts: readonly SessionStem[]; readonly unclear: readonly SessionStem[] },
): Promise<FoundSession[]> {
  const ask = async (command: string, args: readonly (string | number)[]): Promise<unknown> =>
    node.call(command, [...args]).catch(() => null);
  const counts = await runner.send(name, () =>
    Promise.all(parts.map(({ session }) => ask("exists", [`${session}state`]))),
  );
  const lost = [...parts.filter((_, index) => counts[index] === 0), ...unclear];
  return runner.send(name, () =>
    Promise.all(
      lost.map(async ({ sessionId, session }): Promise<FoundSession> => {
        const [owner, ...ends] = await Promise.all([
          ask("hget", [`${session}ids`, ownerField]),
          ask("lindex", [`${session}log`, 0]),
          ask("lindex", [`${session}log`, -1]),
        ]);
        const marks = ends.flatMap((record) => (typeof record === "string" ? (ownerMarkIn(record) ?? []) : []));
        return { sessionId, owner: typeof owner === "string" ? owner : undefined, marks };
      }),
    ),
  );
}

/** A session and the common prefix of its keys. */
interface SessionStem {
  readonly sessionId: string;
  readonly session: string;
}

function stemOf({ id, key, part }: FoundKey): SessionStem {
  return { sessionId: id, session: key.slice(0, -part.length) };
}

/** The masters of a client, and its key prefix. */
export function mastersOf(client: RedisClient): { readonly nodes: readonly Node[]; readonly prefix: string } {
  const { nodes } = client as { nodes?: unknown };
  const { keyPrefix } = (client.options ?? {}) as { keyPrefix?: unknown };
  const masters = typeof nodes === "function" ? (client as unknown as ClusterLike).nodes("master") : [client as Node];
  return { nodes: masters, prefix: typeof keyPrefix === "string" ? keyPrefix : "" };
}

interface ClusterLike {
  nodes(role: "master"): Node[];
}
