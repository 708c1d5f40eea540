import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Redis } from "ioredis";
import { beginSlotMove, introduce, seesAllSlots } from "./cluster-nodes.js";
import { leastUserArgs } from "./least-user.js";
import { startPartitionProxy, type PartitionProxy } from "../proxies/partition-proxy.js";
import { memberOf, onNode } from "./redis-cluster.js";
import { freePort, onFreePort, startRedisOn, type PrivateRedis } from "./redis-server.js";
import { until } from "./until.js";

/** A node of a cluster, as it is reached through its proxies. */
export interface ClusterNode {
  /** The process as it is now. */
  readonly server: PrivateRedis;
  /** Its name for other nodes and clients. */
  readonly id: string;
  readonly port: number;
}

/** Masters, each with one replica, whose connections to each other go through proxies; clients are never cut off. */
export interface ReplicatedCluster {
  readonly nodes: readonly ClusterNode[];
  readonly seeds: readonly { readonly host: string; readonly port: number }[];
  /** The master of the key's slot and its replica, as the nodes see it that answer. */
  holdersOf(
    key: string,
  ): Promise<{ readonly master: ClusterNode; readonly replica: ClusterNode; readonly slot: number }>;
  /** Cuts a node off from all other nodes, in both directions, until `heal`. */
  isolate(node: ClusterNode): void;
  heal(): void;
  /** Kills a node at once; it starts again with `restart`, without data. */
  kill(node: ClusterNode): Promise<void>;
  restart(node: ClusterNode): Promise<void>;
  /** Moves a slot with everything in it to another master, key by key. */
  moveSlot(slot: number, from: ClusterNode, to: ClusterNode): Promise<void>;
  /** Makes a replica the master, by its own command, and waits until it is. */
  failover(replica: ClusterNode): Promise<void>;
  /** Waits until this node says that it is a master, or a replica. */
  untilRole(node: ClusterNode, role: "master" | "slave"): Promise<void>;
  /** Waits until every node that runs sees all slots served, and every replica is in sync. */
  untilWhole(): Promise<void>;
  stop(): Promise<void>;
}

interface StartedNode {
  server: PrivateRedis;
  readonly start: () => Promise<PrivateRedis>;
  readonly folder: string;
  readonly host: string;
  readonly bus: PartitionProxy;
  readonly door: PartitionProxy;
}

/** Starts the cluster and waits until it is whole. `nodeTimeout` in milliseconds. */
export async function startReplicatedCluster(masters: number, nodeTimeout: number): Promise<ReplicatedCluster> {
  const started: StartedNode[] = [];
  const stop = async () => {
    await Promise.all(started.flatMap(({ server, bus, door }) => [server.stop(), bus.stop(), door.stop()]));
    started.forEach(({ folder }) => rmSync(folder, { recursive: true, force: true }));
  };
  try {
    const hosts = Array.from({ length: 2 * masters }, (_, index) => `127.0.0.${index + 2}`);
    const starts = await Promise.allSettled(hosts.map((host) => startNode(host, nodeTimeout)));
    started.push(...starts.flatMap((start) => (start.status === "fulfilled" ? [start.value] : [])));
    const failure = starts.find((start) => start.status === "rejected");
    if (failure !== undefined) {
      throw failure.reason;
    }
    const nodes = await Promise.all(started.map(described));
    const cluster = clusterOf(nodes, started, stop);
    await meet(nodes, started, masters);
    await cluster.untilWhole();
    return cluster;
  } catch (error) {
    await stop();
    throw error;
  }
}

function startNode(host: string, nodeTimeout: number): Promise<StartedNode> {
  return onFreePort(async (port) => {
    const busPort = await freePort();
    const door = await startPartitionProxy({ host: "127.0.0.1", port });
    const bus = await startPartitionProxy({ host: "127.0.0.1", port: busPort });
    const folder = mkdtempSync(join(tmpdir(), "lcmem-node-"));
    const args = [
      ...["--dir", folder, "--cluster-enabled", "yes", "--cluster-port", String(busPort)],
      ...["--cluster-announce-ip", "127.0.0.1", "--cluster-announce-port", String(door.port)],
      ...["--cluster-announce-bus-port", String(bus.port), "--bind-source-addr", host],
      ...["--cluster-node-timeout", String(nodeTimeout), "--cluster-replica-validity-factor", "0"],
      ...["--repl-diskless-sync-delay", "0", "--repl-timeout", "5", ...leastUserArgs],
    ];
    const start = () => startRedisOn(port, args);
    try {
      return { server: await start(), start, folder, host, bus, door };
    } catch (error) {
      await Promise.all([door.stop(), bus.stop()]);
      rmSync(folder, { recursive: true, force: true });
      throw error;
    }
  });
}

async function described(started: StartedNode): Promise<ClusterNode> {
  const id = String(await onNode(started.server, (client) => client.call("CLUSTER", "MYID")));
  return {
    get server() {
      return started.server;
    },
    id,
    port: started.door.port,
  };
}

async function meet(nodes: readonly ClusterNode[], started: readonly StartedNode[], masters: number): Promise<void> {
  const { door, bus } = started[0]!;
  const members = nodes.map(({ server }) => memberOf(server));
  await introduce(members, { masters, first: [door.port, bus.port] });
  await Promise.all(
    nodes.slice(masters).map(({ server }, index) =>
      untilNode(server, async (client) => {
        const replicate = client.call("CLUSTER", "REPLICATE", nodes[index]!.id);
        // Until the two have heard of each other, the node is unknown.
        return (await replicate.catch(() => "")) === "OK";
      }),
    ),
  );
}

function clusterOf(
  nodes: readonly ClusterNode[],
  started: readonly StartedNode[],
  stop: () => Promise<void>,
): ReplicatedCluster {
  const running = () => nodes.filter(({ server }) => isRunning(server));
  const untilRole = (node: ClusterNode, role: string) =>
    untilNode(node.server, async (client) => (await client.info("replication")).includes(`role:${role}`));
  return {
    nodes,
    seeds: nodes.map(({ port }) => ({ host: "127.0.0.1", port })),
    holdersOf: (key) => onNode(running()[0]!.server, (client) => holdersOf(client, key, nodes)),
    isolate: (node) => {
      const own = started[nodes.indexOf(node)]!;
      const others = started.filter((other) => other !== own);
      for (const { bus, door } of others) {
        [bus, door].forEach((proxy) => proxy.block([own.host]));
      }
      [own.bus, own.door].forEach((proxy) => proxy.block(others.map(({ host }) => host)));
    },
    heal: () => started.forEach(({ bus, door }) => [bus, door].forEach((proxy) => proxy.heal())),
    kill: async ({ server }) => {
      const ended = once(server.process, "exit");
      server.process.kill("SIGKILL");
      await ended;
    },
    restart: async (node) => {
      const own = started[nodes.indexOf(node)]!;
      await own.server.stop();
      own.server = await own.start();
    },
    moveSlot: (slot, from, to) => moveSlot(slot, { from, to, all: running() }),
    failover: async (replica) => {
      let asked = -Infinity;
      await untilNode(replica.server, async (client) => {
        const isMaster = (await client.role())[0] === "master";
        // The server gives a failover up after 5 s, when the masters did not vote in time, and does not try again.
        if (!isMaster && performance.now() - asked > 7_000) {
          asked = performance.now();
          await client.call("CLUSTER", "FAILOVER");
        }
        return isMaster;
      });
    },
    untilRole,
    untilWhole: async () => void (await Promise.all(running().map(({ server }) => untilNode(server, isWhole)))),
    stop,
  };
}

async function moveSlot(
  slot: number,
  { from, to, all }: { from: ClusterNode; to: ClusterNode; all: readonly ClusterNode[] },
): Promise<void> {
  const move = await beginSlotMove(slot, memberOf(from.server), memberOf(to.server));
  await move.finish(all.filter((node) => node !== to && node !== from).map(({ server }) => memberOf(server)));
}

/** Waits until the node that is asked has heard of the replica: it lists one only once a ping told of its position. */
async function holdersOf(client: Redis, key: string, nodes: readonly ClusterNode[]) {
  const slot = Number(await client.call("CLUSTER", "KEYSLOT", key));
  let found: { readonly master: ClusterNode; readonly replica: ClusterNode; readonly slot: number } | undefined;
  await until(`slot ${slot} has a master and a replica`, async () => {
    const ranges = (await client.call("CLUSTER", "SLOTS")) as [number, number, ...[string, number, string][]][];
    const [, , ...holders] = ranges.find(([first, last]) => first <= slot && slot <= last)!;
    const [master, replica] = holders.map(([, , id]) => nodes.find((node) => node.id === id));
    found = master && replica && { master, replica, slot };
    return found !== undefined;
  });
  return found!;
}

async function isWhole(client: Redis): Promise<boolean> {
  const known = String(await client.call("CLUSTER", "NODES"));
  const replication = await client.info("replication");
  const inSync = replication.includes("role:master") ? /connected_slaves:[1-9]/ : /master_link_status:up/;
  return (await seesAllSlots(client)) && !/handshake|noaddr/.test(known) && inSync.test(replication);
}

function isRunning({ process }: PrivateRedis): boolean {
  return process.exitCode === null && process.signalCode === null;
}

async function untilNode(server: PrivateRedis, holds: (client: Redis) => Promise<boolean>): Promise<void> {
  await onNode(server, (client) => until("the cluster is as the test wants it", () => holds(client)));
}
