import { setTimeout as pause } from "node:timers/promises";
import type { ServerNode } from "../../testkit/topologies/node.js";
import type { Topology } from "../../testkit/topologies/topology.js";

/** The processes that faults can reach besides the servers. */
export interface ClientProcesses {
  /** Kills a process, which begins again. The number from 0 to below 1 says which. */
  kill(draw: number): void;
}

/** A fault; `draw` from 0 to below 1 decides what its kind leaves open. */
export type Fault = (target: { topology: Topology; clients: ClientProcesses; draw: number }) => Promise<void>;

/** Faults that end by themselves. */
export const lightFaults = {
  "cut-before": cutting("before"),
  "cut-after": cutting("after"),
  "cut-inside": cutting("inside"),
  "cut-all": async ({ topology }) => topology.nodes.forEach(({ proxy }) => proxy.cut()),
  stall: async ({ topology }) => topology.nodes.forEach(({ proxy }) => proxy.stall()),
  "script-flush": ({ topology }) => onMasters(topology, (node) => node.use((client) => client.script("FLUSH"))),
  "client-kill": ({ topology }) =>
    onMasters(topology, (node) => node.use((client) => client.call("CLIENT", "KILL", "TYPE", "normal"))),
  "client-pause": ({ topology, draw }) => {
    const [milliseconds, what] = [200 + Math.floor(draw * 600), draw < 0.5 ? "WRITE" : "ALL"];
    return onMasters(topology, (node) => node.use((client) => client.call("CLIENT", "PAUSE", milliseconds, what)));
  },
  "kill-process": async ({ clients, draw }) => clients.kill(draw),
  memory: async ({ topology, draw }) => {
    const limit = (bytes: string) =>
      onMasters(topology, (node) => node.use((client) => client.config("SET", "maxmemory", bytes)));
    await limit("1mb");
    await pause(300 + draw * 500);
    await limit("0");
  },
} as const satisfies Record<string, Fault>;

function cutting(place: "before" | "after" | "inside"): Fault {
  return async ({ topology, draw }) =>
    topology.nodes.forEach(({ proxy }) => proxy.cutNext(place, 1 + Math.floor(draw * 8)));
}

/** Does something on every master that answers. */
async function onMasters(topology: Topology, work: (node: ServerNode) => Promise<unknown>): Promise<void> {
  const masters = await topology.masters();
  await Promise.all(masters.map((node) => work(node).catch(() => undefined)));
}
