import type { Cluster, Redis } from "ioredis";
import { legacyPages } from "../../src/store/codec/read-legacy-messages.js";
import type { MemoryEvent } from "../../src/base/events.js";
import { scanKeys } from "../find-keys.js";
import type { SourceSession } from "./source.js";

/** Which lists to copy. */
export interface ListSelection {
  readonly pattern: string;
  /** The prefix of the keys that session ids lack. */
  readonly strip: string;
  /** Keys with this prefix are this package's own. */
  readonly ownPrefix: string;
  readonly signal: AbortSignal;
}

/** The part of a pattern before its first wildcard. */
export function literalStart(pattern: string): string {
  return pattern.replace(/[*?[\\].*$/s, "");
}

/** The name of an owner in which `$1` to `$9` stand for the text that the pattern's wildcards match in a key. */
export function ownerOf(key: string, pattern: string, owner: string): string {
  const parts = pattern.match(/\\.|\[[^\]]*\]|[\s\S]/g) ?? [];
  // Wildcards match as little as they can, so that `chat:*:*` splits `chat:ann:1:2` at its first colon.
  const expression = parts.map((part, index) => {
    const isLast = index === parts.length - 1;
    const wildcard = part === "*" ? `(.*${isLast ? "" : "?"})` : part === "?" ? "(.)" : undefined;
    return (
      wildcard ?? (/^\[./.test(part) ? `(${part})` : part.replace(/^\\?([\s\S])$/, (_, text: string) => literal(text)))
    );
  });
  const match = new RegExp(`^${expression.join("")}$`, "s").exec(key) ?? [];
  return owner.replace(/\$([1-9])/g, (_, index: string) => match[Number(index)] ?? "");
}

function literal(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/, "\\$&");
}

/** A key of the pattern that holds no list. */
export interface ForeignKey {
  readonly key: string;
  /** As TYPE names it. */
  readonly type: string;
}

/**
 * Lists that @langchain/redis, @langchain/community or LangChain in Python wrote, one session a key. `onForeign` is
 * called with each key that holds something else.
 */
export async function* listSessions(
  client: Redis | Cluster,
  selection: ListSelection,
  onForeign: (foreign: ForeignKey) => Promise<void>,
): AsyncGenerator<SourceSession> {
  for await (const names of scanKeys(client, { match: selection.pattern, signal: selection.signal })) {
    const keys = names.filter((name) => !isOwn(name, selection));
    // In one tick, so that they are sent together.
    const types = await Promise.all(keys.map((key) => client.type(key)));
    for (const [index, key] of keys.entries()) {
      const type = types[index]!;
      if (type === "list") {
        yield await listSession(client, key, selection.strip);
      } else if (type !== "none") {
        await onForeign({ key, type });
      }
    }
  }
}

/** Elements of all lists that {@link listSessions} would return. */
export async function countElements(client: Redis | Cluster, selection: ListSelection): Promise<number> {
  let total = 0;
  for await (const keys of scanKeys(client, { match: selection.pattern, type: "list", signal: selection.signal })) {
    const lengths = keys.filter((name) => !isOwn(name, selection)).map((key) => client.llen(key));
    total += (await Promise.all(lengths)).reduce((sum, length) => sum + length, 0);
  }
  return total;
}

function isOwn(key: string, { ownPrefix }: ListSelection): boolean {
  return key.startsWith(`${ownPrefix}:{`);
}

const removeScript = "return redis.call('LLEN', KEYS[1]) == tonumber(ARGV[1]) and redis.call('UNLINK', KEYS[1]) or 0";

async function listSession(client: Redis | Cluster, key: string, strip: string): Promise<SourceSession> {
  const left = await client.pttl(key);
  return {
    sessionId: key.startsWith(strip) && key.length > strip.length ? key.slice(strip.length) : key,
    place: key,
    ttl: left > 0 ? Math.max(1, Math.ceil(left / 1_000)) : undefined,
    pages: (onSkipped) =>
      legacyPages({
        client,
        key,
        onEvent: (event: MemoryEvent) => {
          if (event.type === "record_skipped") {
            onSkipped({ place: key, index: event.position ?? -1, reason: event.error.message });
          }
        },
      }),
    remove: async (messages) => (await client.eval(removeScript, 1, key, messages)) === 1,
  };
}
