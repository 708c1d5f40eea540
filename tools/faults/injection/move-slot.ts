import { setTimeout as pause } from "node:timers/promises";
import { beginSlotMove } from "../../testkit/servers/cluster-nodes.js";
import { until } from "../../testkit/servers/until.js";
import type { ServerNode } from "../../testkit/topologies/node.js";
import type { Topology } from "../../testkit/topologies/topology.js";

/** Moves a slot that holds sessions to another master, key by key, while clients write. */
export async function moveSlot(topology: Topology, draw: number): Promise<void> {
  const masters = await topology.masters();
  const from = masters[Math.floor(draw * 1_000) % masters.length]!;
  const to = masters.find((node) => node !== from)!;
  const slot = await busySlot(from);
  if (slot === undefined) {
    return;
  }
  const move = await beginSlotMove(slot, from, to);
  for (let keys = await move.names(10); keys.length > 0; keys = await move.names(10)) {
    for (const key of keys) {
      // A target that is full refuses a key. Who gave up here would leave a slot whose keys lie on two servers, of
      // which a failover then loses those that have moved.
      await until("the key has moved", async () => Boolean(await move.moveKey(key)));
      // The keys of a session lie on two servers meanwhile.
      await pause(20);
    }
  }
  await move.finish(masters);
}

/** The slot of a key that is there: of a session in use, since idle ones are as many as those of an hour. */
async function busySlot(node: ServerNode): Promise<number | undefined> {
  const newest = { key: "", idle: Infinity };
  for (let attempt = 0; attempt < 30; attempt += 1) {
    const key = await node.use((client) => client.randomkey());
    const idle = key === null ? Infinity : Number(await node.use((client) => client.object("IDLETIME", key)));
    if (key !== null && idle < newest.idle) {
      Object.assign(newest, { key, idle });
    }
  }
  return newest.key === ""
    ? undefined
    : Number(await node.use((client) => client.call("CLUSTER", "KEYSLOT", newest.key)));
}
