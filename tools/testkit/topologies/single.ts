import { until } from "../servers/until.js";
import { startNode } from "./node.js";
import type { Topology } from "./topology.js";

/** One server. */
export async function startSingle(folder: string): Promise<Topology> {
  const node = await startNode(folder, { name: "server" });
  return {
    name: "single",
    address: { kind: "single", port: node.proxy.port },
    direct: { kind: "single", port: node.port },
    nodes: [node],
    masters: async () => [node],
    replicaOf: async () => undefined,
    failOver: async () => undefined,
    revive: () => node.start(),
    untilWhole: () => until("the server answers", async () => (await node.use((client) => client.ping())) === "PONG"),
    stop: () => node.stop(),
  };
}
