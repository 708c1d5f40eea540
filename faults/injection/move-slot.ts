import { setTimeout as pause } from "node:timers/promises";
import type { ServerNode } from "../servers/node.js";
import type { Topology } from "../servers/topology.js";

/** Moves a slot that holds sessions to another master, key by key, while clients write. */
export async function moveSlot(topology: Topology, draw: number): Promise<void> {
  const masters = await topology.masters();
  const from = masters[Math.floor(draw * 1_000) % masters.length]!;
  const to = masters.find((node) => node !== from)!;
  const slot = await busySlot(from);
  if (slot === undefined) {
    return;
  }
  const [fromId, toId] = await Promise.all([from, to].map(idOf));
  await setSlot(to, slot, "IMPORTING", fromId!);
  await setSlot(from, slot, "MIGRATING", toId!);
  for (let keys = await keysIn(from, slot); keys.length > 0; keys = await keysIn(from, slot)) {
    for (const key of keys) {
      await from.use((client) => client.call("MIGRATE", "127.0.0.1", to.port, key, 0, 2_000));
      // The keys of a session lie on two servers meanwhile.
      await pause(20);
    }
  }
  await setSlot(to, slot, "NODE", toId!);
  for (const node of masters) {
    await setSlot(node, slot, "NODE", toId!);
  }
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

function keysIn(node: ServerNode, slot: number): Promise<string[]> {
  return node.use((client) => client.call("CLUSTER", "GETKEYSINSLOT", slot, 10)) as Promise<string[]>;
}

async function idOf(node: ServerNode): Promise<string> {
  return String(await node.use((client) => client.call("CLUSTER", "MYID")));
}

function setSlot(node: ServerNode, slot: number, state: string, id: string): Promise<unknown> {
  return node.use((client) => client.call("CLUSTER", "SETSLOT", slot, state, id));
}
