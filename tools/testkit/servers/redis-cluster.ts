import { Redis } from "ioredis";
import { beginSlotMove, idOf, introduce, seesAllSlots, type ClusterMember } from "./cluster-nodes.js";
import { leastUserArgs } from "./least-user.js";
import { freePort, onFreePort, startRedisOn, type PrivateRedis } from "./redis-server.js";
import type { TlsFiles } from "./tls-files.js";
import { until } from "./until.js";

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
  /** Its address for clients and other nodes. */
  readonly port: number;
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
export interface BegunMove {
  /** Moves one key. */
  moveKey(name: string): Promise<unknown>;
  /** Moves what is left, gives the slot to its new node, and waits until all nodes know. */
  finish(): Promise<void>;
}

/** Begins to move the slot of a key to another node. */
export async function beginMove(cluster: PrivateCluster, key: string): Promise<BegunMove> {
  const { owner, other, slot } = await cluster.locate(key);
  const [from, to] = [memberOf(owner), memberOf(other)];
  const { moveKey, finish } = await beginSlotMove(slot, from, to);
  return {
    moveKey,
    finish: async () => {
      await finish(cluster.servers.filter((server) => server !== owner && server !== other).map(memberOf));
      await untilKnown(cluster.servers, await idOf(to));
    },
  };
}

/** A server as a node of a cluster. */
export function memberOf(server: PrivateRedis): ClusterMember {
  return { port: server.port, use: (work) => onNode(server, work) };
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
  await until("all nodes know of a move", async () => new Set(await Promise.all(servers.map(epochAt))).size === 1);
}

function startNode(tls: TlsFiles | undefined): Promise<StartedNode> {
  return onFreePort(async (port) => {
    const tlsPort = await freePort();
    const secured = tls === undefined ? [] : [...tls.args(tlsPort), "--tls-cluster", "yes"];
    const cluster = ["--cluster-enabled", "yes", "--cluster-node-timeout", "5000"];
    const server = await startRedisOn(port, [...cluster, ...leastUserArgs, ...secured]);
    return { server, port: tls === undefined ? port : tlsPort };
  });
}

async function meet(nodes: readonly StartedNode[]): Promise<void> {
  const members = nodes.map(({ server }) => memberOf(server));
  await introduce(members, { masters: nodes.length, first: [nodes[0]!.port] });
  for (const { server } of nodes) {
    await onNode(server, (client) => until("a node sees the whole cluster", () => isWhole(client, nodes.length)));
  }
}

async function isWhole(client: Redis, count: number): Promise<boolean> {
  const info = String(await client.call("CLUSTER", "INFO"));
  return (await seesAllSlots(client)) && info.includes(`cluster_known_nodes:${count}`);
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
