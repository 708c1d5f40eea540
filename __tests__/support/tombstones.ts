import type { Cluster, Redis } from "ioredis";

/** Fails for a key that is more than the tombstone of an erasure, or of `clear`: without content, and it expires. */
export async function expectTombstone(
  client: Redis | Cluster,
  key: string,
  { guardMs = Infinity, isCleared = false }: { readonly guardMs?: number; readonly isCleared?: boolean } = {},
): Promise<void> {
  const left = await client.pttl(key);
  expect([key, left > 0 && left <= guardMs]).toEqual([key, true]);
  const part = key.slice(key.indexOf("}:") + 2);
  const known = isCleared ? clearedTombstones : tombstones;
  const [read, content] = known[part] ?? [async () => ["a key that is no tombstone"], []];
  expect([key, await read(client, key)]).toEqual([key, content]);
}

type Read = (client: Redis | Cluster, key: string) => Promise<string[]>;
const fields: Read = async (client, key) => (await client.hkeys(key)).sort();

const runFields: Read = async (client, key) => (await client.xrange(key, "-", "+")).flatMap(([, entry]) => entry);

type Tombstones = Readonly<Record<string, readonly [Read, readonly string[]]>>;
const clearedTombstones: Tombstones = { checkpoints: [fields, ["erased"]], run: [runFields, ["x", "cleared"]] };
const tombstones: Tombstones = {
  state: [fields, ["erased", "next"]],
  checkpoints: [fields, ["erased"]],
  run: [runFields, ["x", ""]],
  "run:steers": [(client, key) => client.lrange(key, 0, -1), ["-9007199254740991"]],
};
