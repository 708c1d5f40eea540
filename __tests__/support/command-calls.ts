import type { Redis } from "ioredis";

/** The calls of each command of a server, also of those in scripts. */
export async function commandCalls(client: Redis): Promise<ReadonlyMap<string, number>> {
  const stats = await client.info("commandstats");
  return new Map([...stats.matchAll(/cmdstat_(\S+?):calls=(\d+)/g)].map(([, name, count]) => [name!, Number(count)]));
}
