import type { Redis } from "ioredis";

/** All that Redis holds under a prefix, key by key: names and values, a byte as a character. Keys may go meanwhile. */
export async function storedBytes(client: Redis, prefix: string): Promise<Map<string, string>> {
  const keys = (await client.keysBuffer(`${prefix}*`)).map((key) => key.toString("latin1"));
  const found = new Map<string, string>();
  for (const key of keys.sort()) {
    const parts = await valueOf(client, key);
    if (parts !== undefined) {
      found.set(key, parts.map((part) => part.toString("latin1")).join("\n"));
    }
  }
  return found;
}

/** Not DUMP, which compresses what it can. Undefined for a key that has gone meanwhile. */
async function valueOf(client: Redis, key: string): Promise<Buffer[] | undefined> {
  const type = await client.type(key);
  switch (type) {
    case "list":
      return client.lrangeBuffer(key, 0, -1);
    case "hash":
      return Object.entries(await client.hgetallBuffer(key)).flatMap(([name, value]) => [Buffer.from(name), value]);
    case "zset":
      return client.zrangeBuffer(key, "0", "-1", "WITHSCORES");
    case "stream":
      return (await client.xrangeBuffer(key, "-", "+")).flatMap(([id, fields]) => [id, ...fields]);
    case "string":
      return client.getBuffer(key).then((value) => (value === null ? undefined : [value]));
    case "none":
      return undefined;
    default:
      throw new Error(`A key of type ${type} is not looked into.`);
  }
}
