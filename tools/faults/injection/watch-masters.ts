import { setTimeout as pause } from "node:timers/promises";
import { replicationOf, type ServerNode } from "../../testkit/topologies/node.js";
import type { Topology } from "../../testkit/topologies/topology.js";
import type { FaultLog } from "./fault-log.js";

/** Notes every replica that becomes a master, also one that no fault was meant to make so. Returns how to end it. */
export function watchMasters(topology: Topology, log: FaultLog): () => Promise<void> {
  let isOver = false;
  const watching = topology.nodes.length < 2 ? [] : topology.nodes.map((node) => watch(node));
  return async () => {
    isOver = true;
    await Promise.all(watching);
  };

  async function watch(node: ServerNode): Promise<void> {
    for (let before = ""; !isOver; await pause(100)) {
      const role = (await replicationOf(node).catch(() => undefined))?.["role"] ?? before;
      if (before === "slave" && role === "master") {
        log.promoted(topology.name === "cluster" ? await slotsOf(node) : undefined);
      }
      before = role;
    }
  }
}

async function slotsOf(node: ServerNode): Promise<[number, number][] | undefined> {
  try {
    const ranges = (await node.use((client) => client.call("CLUSTER", "SLOTS"))) as [
      number,
      number,
      [string, number],
    ][];
    return ranges.filter(([, , owner]) => owner[1] === node.port).map(([first, last]) => [first, last]);
  } catch {
    return undefined;
  }
}
