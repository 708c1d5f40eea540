import { setTimeout as pause } from "node:timers/promises";
import { turnMessages } from "../conversation.js";
import type { Lane } from "../lane.js";
import type { Operation } from "./operation.js";
import type { Random } from "../../../testkit/random.js";

const holdMs = 200;

/**
 * Writes a question and, a while later, its answer, with the session held for this turn. Sometimes the process stops
 * for longer than it holds the session. It is not tried again: the answer would then stand behind the turns of others.
 */
export const heldTurn: Operation = {
  name: "held-turn",
  weight: () => 0.8,
  run: (lane, random) => writeHeld(lane, random),
};

/** The same, but the session is cleared at first, inside of the turn: the hold stays, though all else is new. */
export const clearHeld: Operation = {
  name: "clear-held",
  weight: ({ removals }) => (removals === "clear" ? 0.4 : 0),
  run: (lane, random) => writeHeld(lane, random, { clears: true }),
};

async function writeHeld(lane: Lane, random: Random, { clears = false } = {}): Promise<void> {
  const turn = { turn: lane.newTurn(), shape: "answer", count: 2 } as const;
  const [question, answer] = turnMessages(turn, { attempt: 1, ids: "named" });
  const isStopped = random.chance(0.2);
  const write = () =>
    lane.doors.memory.withTurn(
      lane.session.id,
      async (history) => {
        if (clears) {
          await lane.ask({ do: "clear" }, () => history.clear());
        }
        await history.addMessages([question!]);
        await (isStopped ? stop(holdMs * 2) : pause(random.between(0, holdMs)));
        await history.addMessages([answer!]);
      },
      { waitMs: 2_000, holdMs },
    );
  await lane.store({ ...turn, door: "held", steps: true, held: true }, write, { patience: 1 });
}

/** Stops the whole process, timers included. */
function stop(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}
