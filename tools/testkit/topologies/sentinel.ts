import { Redis } from "ioredis";
import { setTimeout as pause } from "node:timers/promises";
import { onFreePort, startSentinelOn, type PrivateRedis } from "../servers/redis-server.js";
import { until } from "../servers/until.js";
import { isInSync, replicationOf, startNode, type ServerNode } from "./node.js";
import type { Topology } from "./topology.js";

const name = "mymaster";
const patienceMs = 120_000;
const helpAfterMs = 8_000;

/** A master, a replica and three Sentinels. */
export async function startSentinel(folder: string): Promise<Topology> {
  const first = await startNode(folder, { name: "first" });
  const second = await startNode(folder, { name: "second", args: [] });
  const nodes = [first, second];
  await second.use((client) => client.replicaof("127.0.0.1", first.port));
  await until("the replica has the data", () => isInSync(second, 0));
  const sentinels = await Promise.all([0, 1, 2].map(() => startOne(first.port)));
  const watchers = sentinels.map(({ port }) => new Redis({ port, host: "127.0.0.1", commandTimeout: 3_000 }));
  watchers.forEach((watcher) => watcher.on("error", () => undefined));
  const masterPort = async (watcher: Redis) =>
    Number(((await watcher.call("SENTINEL", "GET-MASTER-ADDR-BY-NAME", name)) as string[])[1]);
  const masters = async () => nodes.filter(({ port }) => ports.includes(port));
  let ports: number[] = [first.port];
  const agree = async () => {
    const found = await Promise.all(watchers.map(masterPort));
    ports = [found[0]!];
    return new Set(found).size === 1;
  };
  const known = async (watcher: Redis) => {
    const replicas = (await watcher.call("SENTINEL", "REPLICAS", name)) as unknown[];
    const others = (await watcher.call("SENTINEL", "SENTINELS", name)) as unknown[];
    return replicas.length === 1 && others.length === 2;
  };
  const map = Object.fromEntries(
    nodes.map(({ port, proxy }) => [`127.0.0.1:${port}`, { host: "127.0.0.1", port: proxy.port }]),
  );
  const addresses = sentinels.map(({ port }) => ({ host: "127.0.0.1", port }));
  const untilWhole = async () => {
    const end = performance.now() + patienceMs;
    while (!(await isWhole(agree, () => isPair(nodes, ports[0]!)))) {
      if (performance.now() > end) {
        throw new Error("The Sentinels and their servers did not come together.");
      }
      await pause(100);
      // Sentinels take their time to make a replica of an old master that came back between two of their decisions.
      if (performance.now() > end - patienceMs + helpAfterMs) {
        await followMaster(nodes, ports[0]!);
        await pause(1_000);
      }
    }
  };
  await until("the Sentinels know each other", async () => (await Promise.all(watchers.map(known))).every(Boolean));
  return {
    name: "sentinel",
    address: { kind: "sentinel", sentinels: addresses, name, map },
    direct: { kind: "sentinel", sentinels: addresses, name, map: {} },
    nodes,
    masters: async () => {
      await agree();
      return masters();
    },
    replicaOf: async (master) => nodes.find((node) => node !== master && node.isRunning),
    failOver: async () => void (await watchers[0]!.call("SENTINEL", "FAILOVER", name)),
    revive: async (node) => {
      await until("the Sentinels agree", agree);
      // Begun as a replica: as a master it would take writes until the Sentinels see it.
      await node.start(ports[0] === node.port ? [] : ["--replicaof", "127.0.0.1", String(ports[0])]);
    },
    untilWhole,
    stop: async () => {
      watchers.forEach((watcher) => watcher.disconnect());
      await Promise.all([...sentinels, ...nodes].map((process) => process.stop()));
    },
  };
}

function startOne(masterPort: number): Promise<PrivateRedis> {
  const configuration = [
    `sentinel monitor ${name} 127.0.0.1 ${masterPort} 2`,
    `sentinel down-after-milliseconds ${name} 1000`,
    `sentinel failover-timeout ${name} 4000`,
  ];
  return onFreePort((port) => startSentinelOn(port, configuration));
}

async function isWhole(agree: () => Promise<boolean>, pair: () => Promise<boolean>): Promise<boolean> {
  return (await agree().catch(() => false)) && (await pair().catch(() => false));
}

/** Makes the server that the Sentinels do not name a replica of the one that they name. */
async function followMaster(nodes: readonly ServerNode[], masterPort: number): Promise<void> {
  const [master, other] = [
    nodes.find(({ port }) => port === masterPort),
    nodes.find(({ port }) => port !== masterPort),
  ];
  const role = async (node: ServerNode) =>
    (await replicationOf(node).catch(() => ({}) as Record<string, string>))["role"];
  if (master !== undefined && other !== undefined && (await role(master)) === "master") {
    if ((await role(other)) === "master") {
      await other.use((client) => client.replicaof("127.0.0.1", masterPort)).catch(() => undefined);
    }
  }
}

async function isPair(nodes: readonly ServerNode[], masterPort: number): Promise<boolean> {
  const states = await Promise.all(nodes.map(async (node) => ({ node, found: await replicationOf(node) })));
  const isSynced = await Promise.all(nodes.map((node) => isInSync(node, 1)));
  const masters = states.filter(({ found }) => found["role"] === "master");
  return isSynced.every(Boolean) && masters.length === 1 && masters[0]!.node.port === masterPort;
}
