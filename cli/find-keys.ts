import type { Cluster, Redis } from "ioredis";

/** The servers that hold keys: the masters of a cluster, or the one server. */
export function mastersOf(client: Redis | Cluster): Redis[] {
  return client.isCluster ? (client as Cluster).nodes("master") : [client as Redis];
}

/** Which keys to look for. */
export interface KeyScan {
  /** A glob pattern. */
  readonly match: string;
  /** A type as TYPE names it. @default keys of every type */
  readonly type?: string;
  readonly signal: AbortSignal | undefined;
}

/** Keys of all masters in batches, by SCAN. A key may come twice, as with SCAN; the whole is never held in memory. */
export async function* scanKeys(client: Redis | Cluster, { match, type, signal }: KeyScan): AsyncGenerator<string[]> {
  const only = type === undefined ? [] : ["TYPE", type];
  for (const node of mastersOf(client)) {
    let cursor = "0";
    do {
      const [next, keys] = (await node.call("SCAN", cursor, "MATCH", match, "COUNT", 500, ...only)) as [
        string,
        string[],
      ];
      if (keys.length > 0) {
        yield keys;
      }
      cursor = next;
    } while (cursor !== "0" && signal?.aborted !== true);
  }
}
