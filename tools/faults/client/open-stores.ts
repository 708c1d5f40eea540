import { Cluster } from "ioredis";
import { RedisSessionStore } from "../../../src/store/redis-store/redis-session-store.js";
import type { Address } from "../../testkit/topologies/topology.js";

/**
 * The stores of a process: one that waits for a replica where asked and keeps no views, and one that does the contrary:
 * what holds with kept views holds without them, beside each other.
 */
export interface Stores {
  readonly plain: RedisSessionStore;
  readonly waiting: RedisSessionStore;
  close(): Promise<void>;
}

/**
 * Connects as an application would. Nothing is opened before the first call, but for a cluster.
 *
 * @param isPatient - waits a minute for each reply: for those who judge when no fault is left, on a loaded machine
 */
export function openStores(address: Address, isPatient = false): Stores {
  const commandTimeout = isPatient ? 60_000 : 2_500;
  if (address.kind === "cluster") {
    const redisOptions = { socketTimeout: isPatient ? 60_000 : 1_500, connectTimeout: 1_000 };
    const client = new Cluster([...address.nodes], {
      natMap: { ...address.map },
      redisOptions,
      slotsRefreshTimeout: 2_000,
    });
    client.on("error", () => undefined);
    const plain = new RedisSessionStore({ client, commandTimeout });
    const waiting = new RedisSessionStore({ client, commandTimeout, waitReplicas: 1, viewCacheBytes: 0 });
    return { plain, waiting, close: async () => client.disconnect() };
  }
  const config =
    address.kind === "single"
      ? { host: "127.0.0.1", port: address.port }
      : { sentinels: address.sentinels, name: address.name, natMap: address.map };
  const plain = new RedisSessionStore({ config, commandTimeout });
  const waiting = new RedisSessionStore({ config, commandTimeout, waitReplicas: 1, viewCacheBytes: 0 });
  return { plain, waiting, close: async () => void (await Promise.all([plain.close(), waiting.close()])) };
}
