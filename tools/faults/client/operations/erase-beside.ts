import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { setTimeout as pause } from "node:timers/promises";
import { MemoryError } from "../../../../src/base/errors.js";
import { runKeys } from "../../../../src/store/redis/keys.js";
import { wireOf } from "../../../../src/store/redis-store/redis-session-store.js";
import type { Lane } from "../lane.js";
import type { Operation } from "./operation.js";

/** Longer than this client looks for what is left. */
const guardMs = 30_000;
const tries = 4;

/**
 * Erases an owner who has no session, but a thread, a run and an item: all that was acknowledged before the erasure is
 * gone behind it, and nobody begins the thread or the run again.
 */
export const eraseBeside: Operation = {
  name: "erase-beside",
  needsServers: true,
  weight: ({ removals }) => (removals === "erase" ? 0.5 : 0),
  run: async (lane) => {
    const name = lane.newTurn();
    const place = { id: `${name}.beside`, owner: `${name.replaceAll(".", "-")}-owner` };
    const written = await writtenTo(lane, place);
    const erase = async () => {
      await lane.doors.memory.sessions.deleteOwner(place.owner, { unlisted: true, guardMs });
      return { left: await leftOf(lane, place, written) };
    };
    for (let attempt = 1, isDone = false; !isDone && attempt <= tries; attempt += 1) {
      isDone = await lane.ask({ do: "erase-beside", door: "sessions" }, erase);
    }
  },
};

interface Place {
  readonly id: string;
  readonly owner: string;
}

const kinds = ["thread", "run", "item"] as const;
type Kind = (typeof kinds)[number];

/** Writes one of each kind, and returns those that were acknowledged by the first try: no late copy is under way. */
async function writtenTo(lane: Lane, place: Place): Promise<Kind[]> {
  const written = await Promise.all(
    kinds.map(async (kind) => {
      try {
        await writes[kind](lane, place);
        return [kind];
      } catch {
        return [];
      }
    }),
  );
  return written.flat();
}

const writes: Readonly<Record<Kind, (lane: Lane, place: Place) => Promise<void>>> = {
  thread: async ({ doors }, { id, owner }) => {
    const config = { configurable: { thread_id: id, checkpoint_ns: "", owner } };
    const checkpoint = { ...emptyCheckpoint(), id: uuid6(1), channel_values: { text: `${id} `.repeat(100) } };
    await doors.savers[0].put(config, checkpoint, { source: "loop", step: 1, parents: {} }, { text: 1 });
  },
  run: async ({ doors }, { id, owner }) => {
    const run = await doors.answers().runs.start(id, { turnId: id, owner }, async function* () {
      yield id;
    });
    for await (const item of run) {
      if ("state" in item && item.state !== "done") {
        throw new Error(`The run ended as ${item.state}.`);
      }
    }
  },
  item: async ({ doors }, { id, owner }) => doors.items.put([owner], id, { text: id }),
};

/** True where it is still there, or where it may begin again. */
const looks: Readonly<Record<Kind, (lane: Lane, place: Place) => Promise<boolean>>> = {
  thread: async (lane, place) => {
    const { savers } = lane.doors;
    const tuple = await savers[1].getTuple({ configurable: { thread_id: place.id } });
    return tuple !== undefined || !(await isRefused(writes.thread(lane, place)));
  },
  run: async (lane, place) => {
    // A tombstone of the session, too, keeps readers off: what is stored is looked at.
    const { runner, keyPrefix } = wireOf(lane.doors.store)!;
    const args = [runKeys(keyPrefix, place.id).run, "-", "+"];
    const entries = await runner.read({ operation: "look", sessionId: place.id }, { verb: "xrange", args });
    return JSON.stringify(entries).includes(place.id) || !(await isRefused(writes.run(lane, place)));
  },
  item: async ({ doors }, { owner }) => (await doors.items.search([owner])).length > 0,
};

/** The kinds of which something is left. A look that fails is made again. */
async function leftOf(lane: Lane, place: Place, written: readonly Kind[]): Promise<Kind[]> {
  const left = await Promise.all(
    written.map(async (kind) => {
      for (let attempt = 1; attempt <= tries; attempt += 1) {
        try {
          return (await looks[kind](lane, place)) ? [kind] : [];
        } catch {
          await pause(50 * attempt);
        }
      }
      return [];
    }),
  );
  return left.flat();
}

/** True for a call that was refused because its place was erased. @throws an error that another try may not meet. */
async function isRefused(call: Promise<void>): Promise<boolean> {
  try {
    await call;
    return false;
  } catch (error) {
    if (!MemoryError.isInstance(error) || error.retryable) {
      throw error;
    }
    return error.code === "erased";
  }
}
