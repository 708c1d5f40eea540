import { setTimeout as pause } from "node:timers/promises";
import { until } from "../../testkit/servers/until.js";
import { replicationOf, type ServerNode } from "../../testkit/topologies/node.js";
import type { Topology } from "../../testkit/topologies/topology.js";
import type { Fault } from "./light-faults.js";
import { moveSlot } from "./move-slot.js";

/** Faults after which the servers have to come together again. */
export const heavyFaults = {
  /** The server is killed and begins again with its data. */
  restart: async ({ topology, draw }) => {
    const node = await aMaster(topology, draw);
    await node.kill();
    await pause(draw * 300);
    await topology.revive(node);
  },
  /** The server stands still for a while: shorter than replicas wait, or longer than clients do. */
  freeze: async ({ topology, draw }) => {
    const node = await aMaster(topology, draw);
    node.signal("SIGSTOP");
    await pause(topology.name === "single" ? 500 + draw * 4_000 : 300 + draw * 400);
    node.signal("SIGCONT");
  },
  /** A replica becomes the master by command. */
  failover: async ({ topology, draw }) => {
    const master = await aMaster(topology, draw);
    const replica = await topology.replicaOf(master);
    await topology.failOver(master);
    await untilMaster(replica);
  },
  /** The master is killed; it comes back as a replica. */
  "master-kill": async ({ topology, draw }) => {
    const master = await aMaster(topology, draw);
    const replica = await topology.replicaOf(master);
    await master.kill();
    try {
      await untilMaster(replica);
    } finally {
      await topology.revive(master);
    }
  },
  /** The master stands still until a replica has taken its place, and then goes on. */
  "master-freeze": async ({ topology, draw }) => {
    const master = await aMaster(topology, draw);
    const replica = await topology.replicaOf(master);
    master.signal("SIGSTOP");
    try {
      await untilMaster(replica);
      await pause(draw * 1_500);
    } finally {
      master.signal("SIGCONT");
    }
  },
  "slot-move": ({ topology, draw }) => moveSlot(topology, draw),
} as const satisfies Record<string, Fault>;

async function aMaster(topology: Topology, draw: number): Promise<ServerNode> {
  const masters = await topology.masters();
  const master = masters[Math.floor(draw * 1_000) % masters.length];
  if (master === undefined) {
    throw new Error("no master answers");
  }
  return master;
}

async function untilMaster(replica: ServerNode | undefined): Promise<void> {
  if (replica === undefined) {
    throw new Error("the master has no replica");
  }
  await until("the replica is the master", async () => (await replicationOf(replica))["role"] === "master");
}
