import type { Redis } from "ioredis";

const slots = 16_384;

/** A node of a cluster, to whoever gives it commands of its own, without redirections. */
export interface ClusterMember {
  /** Its address for other nodes, past all proxies. */
  readonly port: number;
  use<T>(work: (client: Redis) => Promise<T>): Promise<T>;
}

/** Gives the first nodes equal shares of the slots, and introduces all of them to the one at this address. */
export async function introduce(
  nodes: readonly ClusterMember[],
  { masters, first }: { readonly masters: number; readonly first: readonly [port: number, busPort?: number] },
): Promise<void> {
  const share = Math.ceil(slots / masters);
  for (const [index, node] of nodes.entries()) {
    await node.use(async (client) => {
      if (index < masters) {
        // ADDSLOTSRANGE needs Redis 7.
        const lowest = index * share;
        const own = Array.from({ length: Math.min(share, slots - lowest) }, (_, offset) => lowest + offset);
        await client.call("CLUSTER", "ADDSLOTS", ...own);
      }
      await client.call("CLUSTER", "SET-CONFIG-EPOCH", index + 1);
      await client.call("CLUSTER", "MEET", "127.0.0.1", ...first.map(Number));
    });
  }
}

/** True where a node sees all slots served. */
export async function seesAllSlots(client: Redis): Promise<boolean> {
  const info = String(await client.call("CLUSTER", "INFO"));
  return info.includes("cluster_state:ok") && info.includes(`cluster_slots_ok:${slots}`);
}

/** A node's own id. */
export async function idOf(node: ClusterMember): Promise<string> {
  return String(await node.use((client) => client.call("CLUSTER", "MYID")));
}

/** A move of a slot that has begun, to another node. */
export interface SlotMove {
  /** Names of keys that the slot still has where it was, as many at most. */
  names(count: number): Promise<string[]>;
  /** Moves one key. */
  moveKey(name: string): Promise<unknown>;
  /** Moves what is left, gives the slot to its new node, and tells these others; replicas hear of it from masters. */
  finish(others: readonly ClusterMember[]): Promise<void>;
}

/** Begins to move a slot from one master to another. */
export async function beginSlotMove(slot: number, from: ClusterMember, to: ClusterMember): Promise<SlotMove> {
  const [fromId, toId] = await Promise.all([idOf(from), idOf(to)]);
  const set = (node: ClusterMember, state: string, id: string) =>
    node.use((client) => client.call("CLUSTER", "SETSLOT", slot, state, id));
  await set(to, "IMPORTING", fromId);
  await set(from, "MIGRATING", toId);
  const names = async (count: number) =>
    (await from.use((client) => client.call("CLUSTER", "GETKEYSINSLOT", slot, count))) as string[];
  const moveKey = (name: string) => from.use((client) => client.migrate("127.0.0.1", to.port, name, 0, 5_000));
  return {
    names,
    moveKey,
    // All are told: one that learns it later, from the others, sends clients and the next move astray.
    finish: async (others) => {
      // A node refuses to give away a slot of which it holds keys, and drops them where it hears of the move first.
      for (let left = await names(100); left.length > 0; left = await names(100)) {
        for (const name of left) {
          await moveKey(name);
        }
      }
      await set(to, "NODE", toId);
      await set(from, "NODE", toId);
      for (const node of others.filter((other) => other !== from && other !== to)) {
        await set(node, "NODE", toId).catch(() => undefined);
      }
    },
  };
}
