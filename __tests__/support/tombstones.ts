import type { Cluster, Redis } from "ioredis";

/** Fails for a key that is more than the tombstone of an erasure: each is without content, and expires. */
export async function expectTombstone(client: Redis | Cluster, key: string, guardMs = Infinity): Promise<void> {
  const left = await client.pttl(key);
  expect([key, left > 0 && left <= guardMs]).toEqual([key, true]);
  const part = key.slice(key.indexOf("}:") + 2);
  const [read, content] = tombstones[part] ?? [async () => ["a key that is no tombstone"], []];
  expect([key, await read(client, key)]).toEqual([key, content]);
}

type Read = (client: Redis | Cluster, key: string) => Promise<string[]>;
const fields: Read = async (client, key) => (await client.hkeys(key)).sort();

const tombstones: Record<string, readonly [Read, readonly string[]]> = {
  state: [fields, ["erased", "next"]],
  checkpoints: [fields, ["erased"]],
  run: [async (client, key) => (await client.xrange(key, "-", "+")).flatMap(([, entry]) => entry), ["x", ""]],
  "run:steers": [(client, key) => client.lrange(key, 0, -1), ["-9007199254740991"]],
};
