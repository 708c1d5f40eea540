/**
 * Side fields to set and to remove. Their namespace is separate from the store's own fields.
 * @example
 * import { HumanMessage } from "@langchain/core/messages";
 * import { RedisChatMemory } from "langchain-redis-memory";
 *
 * const history = new RedisChatMemory({ url: "redis://localhost:6379" }).history("chat-7");
 * await history.append([new HumanMessage("Hei")], { side: { set: { "app:language": "nb" } } });
 */
export interface SideChanges {
  /** Values to store, by name. @default none */
  readonly set?: Readonly<Record<string, string>>;
  /** Names of fields to remove; removed before `set` is stored. @default none */
  readonly remove?: readonly string[];
  /** After the change, only the last `keep` fields of the `prefix` remain, in byte order of their names. */
  readonly bound?: {
    /** Prefix of the names. */
    readonly prefix: string;
    /** Fields that stay at most; 0 or more. */
    readonly keep: number;
  };
}

/**
 * A change of side fields on its own: nothing is written unless each field of `expected` holds that value (undefined:
 * is absent).
 */
export interface SideWrite extends SideChanges {
  /** Expected values by field (compare-and-set): the write happens only if all match. @default none */
  readonly expected?: Readonly<Record<string, string | undefined>>;
  /** All keys of the session expire this many milliseconds from now; left out, the expiry stays as it is. */
  readonly ttlMs?: number;
}

/** Applies changes to side fields: removals, then settings, then the bound. */
export function applySide(fields: Map<string, string>, changes: SideChanges | undefined): void {
  changes?.remove?.forEach((name) => fields.delete(name));
  for (const [name, value] of Object.entries(changes?.set ?? {})) {
    fields.set(name, value);
  }
  if (changes?.bound !== undefined) {
    const { prefix, keep } = changes.bound;
    const names = [...fields.keys()].filter((name) => name.startsWith(prefix)).sort(byBytes);
    names.slice(0, Math.max(0, names.length - keep)).forEach((name) => fields.delete(name));
  }
}

/** The fields whose names begin with a prefix, in byte order of their names. */
export function sideWithPrefix(fields: Iterable<readonly [string, string]>, prefix: string): Record<string, string> {
  const chosen = [...fields].filter(([name]) => name.startsWith(prefix)).sort(([a], [b]) => byBytes(a, b));
  return Object.fromEntries(chosen);
}

function byBytes(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
