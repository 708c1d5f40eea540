import { Redis } from "ioredis";
import { leastUserArgs } from "./least-user.js";
import { freePort, startRedisOn, type PrivateRedis } from "./redis-server.js";
import type { TlsFiles } from "./tls-files.js";

const slots = 16_384;

/** Masters of a cluster, without replicas, on loopback ports. */
export interface PrivateCluster {
  /** The ports are those on which they speak TLS, where they do. */
  readonly nodes: readonly { readonly host: string; readonly port: number }[];
  /** The node that serves the slot of a key, the first of the others, and the key's slot. */
  locate(key: string): Promise<{ readonly owner: PrivateRedis; readonly other: PrivateRedis; readonly slot: number }>;
  readonly servers: readonly PrivateRedis[];
  stop(): Promise<void>;
}

interface StartedNode {
  readonly server: PrivateRedis;
  /** Where clients and the other nodes reach it. */
  readonly port: number;
  readonly busPort: number;
}

/**
 * Starts masters that share the slots evenly and know the user with the least commands, and waits until all of them see
 * the whole cluster.
 */
export async function startCluster(count: number, tls?: TlsFiles): Promise<PrivateCluster> {
  const nodes: StartedNode[] = [];
  const stop = async () => void (await Promise.all(nodes.map(({ server }) => server.stop())));
  try {
    for (let index = 0; index < count; index += 1) {
      nodes.push(await startNode(tls));
    }
    await meet(nodes);
  } catch (error) {
    await stop();
    throw error;
  }
  const servers = nodes.map(({ server }) => server);
  return {
    nodes: nodes.map(({ port }) => ({ host: "127.0.0.1", port })),
    locate: (key) => locate(servers, key),
    servers,
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

/** A move of a slot that has begun, to another node. */
export interface SlotMove {
  /** Moves one key. */
  moveKey(name: string): Promise<unknown>;
  /** Moves all keys that the slot has by then. */
  moveAllKeys(): Promise<void>;
  /** Gives the slot to its new node. */
  finish(): Promise<void>;
}

/** Begins to move the slot of a key to another node. */
export async function beginMove(cluster: PrivateCluster, key: string): Promise<SlotMove> {
  const { owner, other, slot } = await cluster.locate(key);
  const idOf = (server: PrivateRedis) => onNode(server, (node) => node.call("CLUSTER", "MYID"));
  const [from, to] = [await idOf(owner), await idOf(other)];
  await onNode(other, (node) => node.call("CLUSTER", "SETSLOT", slot, "IMPORTING", String(from)));
  await onNode(owner, (node) => node.call("CLUSTER", "SETSLOT", slot, "MIGRATING", String(to)));
  const migrate = (node: Redis, name: string) => node.migrate("127.0.0.1", other.port, name, 0, 5_000);
  return {
    moveKey: (name) => onNode(owner, (node) => migrate(node, name)),
    moveAllKeys: () =>
      onNode(owner, async (node) => {
        let names: string[];
        do {
          names = (await node.call("CLUSTER", "GETKEYSINSLOT", slot, 100)) as string[];
          for (const name of names) {
            await migrate(node, name);
          }
        } while (names.length > 0);
      }),
    finish: async () => {
      // All nodes are told: one that learns it later, from the others, sends clients and the next move astray.
      for (const server of new Set([other, owner, ...cluster.servers])) {
        await onNode(server, (node) => node.call("CLUSTER", "SETSLOT", slot, "NODE", String(to)));
      }
      await untilKnown(cluster.servers, String(to));
    },
  };
}

/**
 * Waits until all nodes know the epoch of one: another move would else be announced under the same epoch, and the nodes
 * would believe one or the other for ever.
 */
async function untilKnown(servers: readonly PrivateRedis[], id: string): Promise<void> {
  const epochAt = async (server: PrivateRedis) => {
    const nodes = String(await onNode(server, (node) => node.call("CLUSTER", "NODES")));
    return nodes
      .split("\n")
      .find((line) => line.startsWith(id))
      ?.split(" ")[6];
  };
  for (let attempt = 0; attempt < 400; attempt += 1) {
    if (new Set(await Promise.all(servers.map(epochAt))).size === 1) {
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error("The nodes of the tests' cluster did not hear of a move.");
}

async function startNode(tls: TlsFiles | undefined): Promise<StartedNode> {
  for (let attempt = 1; ; attempt += 1) {
    const [port, tlsPort, busPort] = [await freePort(), await freePort(), await freePort()];
    const secured = tls === undefined ? [] : [...tls.args(tlsPort), "--tls-cluster", "yes"];
    const cluster = ["--cluster-enabled", "yes", "--cluster-node-timeout", "5000", "--cluster-port", String(busPort)];
    try {
      const server = await startRedisOn(port, [...cluster, ...leastUserArgs, ...secured]);
      return { server, port: tls === undefined ? port : tlsPort, busPort };
    } catch (error) {
      // Another process may have taken one of the ports meanwhile; others are tried.
      if (attempt >= 20) {
        throw error;
      }
    }
  }
}

async function meet(nodes: readonly StartedNode[]): Promise<void> {
  const share = Math.ceil(slots / nodes.length);
  const [first] = nodes as [StartedNode];
  for (const [index, { server }] of nodes.entries()) {
    const last = Math.min(slots, (index + 1) * share) - 1;
    await onNode(server, async (client) => {
      await client.call("CLUSTER", "ADDSLOTSRANGE", index * share, last);
      await client.call("CLUSTER", "SET-CONFIG-EPOCH", index + 1);
      await client.call("CLUSTER", "MEET", "127.0.0.1", first.port, first.busPort);
    });
  }
  for (const { server } of nodes) {
    await onNode(server, (client) => untilWhole(client, nodes.length));
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
