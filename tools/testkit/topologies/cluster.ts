import { idOf, introduce, seesAllSlots } from "../servers/cluster-nodes.js";
import { until } from "../servers/until.js";
import { isInSync, replicationOf, startNode, type ServerNode } from "./node.js";
import type { Topology } from "./topology.js";

const mastersAtFirst = 3;

/** A cluster of three masters with a replica each. */
export async function startCluster(folder: string): Promise<Topology> {
  const args = ["--cluster-enabled", "yes", "--cluster-node-timeout", "2000", "--cluster-require-full-coverage", "no"];
  const nodes = await Promise.all([0, 1, 2, 3, 4, 5].map((index) => startNode(folder, { name: `node${index}`, args })));
  await assemble(nodes);
  const replicas = async (master: ServerNode) => {
    for (const node of nodes) {
      const found = await replicationOf(node).catch(() => undefined);
      if (found?.["role"] === "slave" && Number(found["master_port"]) === master.port) {
        return node;
      }
    }
    return undefined;
  };
  return {
    name: "cluster",
    address: {
      kind: "cluster",
      nodes: nodes.map(({ proxy }) => ({ host: "127.0.0.1", port: proxy.port })),
      map: Object.fromEntries(
        nodes.map(({ port, proxy }) => [`127.0.0.1:${port}`, { host: "127.0.0.1", port: proxy.port }]),
      ),
    },
    direct: { kind: "cluster", nodes: nodes.map(({ port }) => ({ host: "127.0.0.1", port })), map: {} },
    nodes,
    masters: async () => {
      const roles = await Promise.all(nodes.map((node) => replicationOf(node).catch(() => undefined)));
      return nodes.filter((_, index) => roles[index]?.["role"] === "master");
    },
    replicaOf: replicas,
    failOver: async (master) => {
      const replica = await replicas(master);
      await replica?.use((client) => client.call("CLUSTER", "FAILOVER"));
    },
    revive: (node) => node.start(),
    untilWhole: () => until("the cluster is whole", () => isWhole(nodes), 60_000),
    stop: async () => void (await Promise.all(nodes.map((node) => node.stop()))),
  };
}

async function assemble(nodes: readonly ServerNode[]): Promise<void> {
  await introduce(nodes, { masters: mastersAtFirst, first: [nodes[0]!.port] });
  await until("the nodes know each other", async () => {
    const infos = await Promise.all(nodes.map((node) => node.use((client) => client.call("CLUSTER", "INFO"))));
    return infos.every((info) => String(info).includes(`cluster_known_nodes:${nodes.length}`));
  });
  for (const [index, node] of nodes.slice(mastersAtFirst).entries()) {
    const id = await idOf(nodes[index]!);
    await until("a replica knows its master", async () => {
      await node.use((client) => client.call("CLUSTER", "REPLICATE", id));
      return true;
    });
  }
  await until("the cluster is whole", () => isWhole(nodes));
}

async function isWhole(nodes: readonly ServerNode[]): Promise<boolean> {
  const isOk = (await Promise.all(nodes.map((node) => node.use(seesAllSlots)))).every(Boolean);
  const roles = await Promise.all(nodes.map(replicationOf));
  const isSynced = await Promise.all(nodes.map((node) => isInSync(node, 1)));
  return isOk && isSynced.every(Boolean) && roles.filter(({ role }) => role === "master").length === mastersAtFirst;
}
