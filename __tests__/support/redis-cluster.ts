import { Redis } from "ioredis";
import { freePort, startRedisOn, type PrivateRedis } from "./redis-server.js";

const slots = 16_384;
/** A node talks to the others on its port plus this. */
const busOffset = 10_000;

/** Masters of a cluster, without replicas, on loopback ports. */
export interface PrivateCluster {
  readonly nodes: readonly { readonly host: string; readonly port: number }[];
  /** The node that serves the slot of a key, the first of the others, and the key's slot. */
  locate(key: string): Promise<{ readonly owner: PrivateRedis; readonly other: PrivateRedis; readonly slot: number }>;
  stop(): Promise<void>;
}

/** Starts masters that share the slots evenly, and waits until all of them see the whole cluster. */
export async function startCluster(count: number): Promise<PrivateCluster> {
  const servers: PrivateRedis[] = [];
  const stop = async () => void (await Promise.all(servers.map((server) => server.stop())));
  try {
    for (let index = 0; index < count; index += 1) {
      servers.push(await startNode());
    }
    await meet(servers);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    nodes: servers.map(({ port }) => ({ host: "127.0.0.1", port })),
    locate: (key) => locate(servers, key),
    stop,
  };
}

/** Runs commands on a node itself, without redirections. */
export async function onNode<T>({ port }: PrivateRedis, use: (client: Redis) => Promise<T>): Promise<T> {
  const client = new Redis({ port, host: "127.0.0.1" });
  try {
    return await use(client);
  } finally {
    client.disconnect();
  }
}

async function startNode(): Promise<PrivateRedis> {
  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort();
    try {
      if (port + busOffset <= 65_535) {
        return await startRedisOn(port, ["--cluster-enabled", "yes", "--cluster-node-timeout", "5000"]);
      }
    } catch (error) {
      // The port of the bus may be taken; another pair is tried.
      if (attempt >= 20) {
        throw error;
      }
    }
  }
}

async function meet(servers: readonly PrivateRedis[]): Promise<void> {
  const share = Math.ceil(slots / servers.length);
  for (const [index, server] of servers.entries()) {
    const last = Math.min(slots, (index + 1) * share) - 1;
    await onNode(server, async (client) => {
      await client.call("CLUSTER", "ADDSLOTSRANGE", index * share, last);
      await client.call("CLUSTER", "SET-CONFIG-EPOCH", index + 1);
      await client.call("CLUSTER", "MEET", "127.0.0.1", servers[0]!.port);
    });
  }
  for (const server of servers) {
    await onNode(server, (client) => untilWhole(client, servers.length));
  }
}

async function untilWhole(client: Redis, count: number): Promise<void> {
  for (let attempt = 0; attempt < 400; attempt += 1) {
    const info = String(await client.call("CLUSTER", "INFO"));
    if (info.includes("cluster_state:ok") && info.includes(`cluster_known_nodes:${count}`)) {
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error("The cluster of the tests did not come together.");
}

async function locate(servers: readonly PrivateRedis[], key: string): ReturnType<PrivateCluster["locate"]> {
  return onNode(servers[0]!, async (client) => {
    const slot = Number(await client.call("CLUSTER", "KEYSLOT", key));
    const ranges = (await client.call("CLUSTER", "SLOTS")) as [number, number, [string, number]][];
    const range = ranges.find(([first, last]) => first <= slot && slot <= last)!;
    const owner = servers.find(({ port }) => port === range[2][1])!;
    return { owner, other: servers.find((server) => server !== owner)!, slot };
  });
}
