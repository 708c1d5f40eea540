import { turnMessages, sizeOf, type Shape } from "../conversation.js";
import type { Lane } from "../lane.js";
import type { Operation } from "./operation.js";
import type { Random } from "../../../testkit/random.js";

/** Writes with ids that the caller gave: every attempt sends the same ids and texts. */
export const appendWithIds: Operation = {
  name: "append-with-ids",
  weight: () => 5,
  run: async (lane, random) => {
    const turn = drawTurn(lane, random);
    const messages = turnMessages(turn, { attempt: 1, ids: "named" });
    const send = async () => void (await lane.history.addMessages(messages));
    const isStored = await lane.store({ ...turn, door: "ids" }, send);
    lane.own.push({ ...turn, isStored, isNamed: true, again: undefined });
    if (random.chance(0.1)) {
      await lane.store({ ...turn, door: "ids" }, send);
    }
  },
};

/** Writes a job's turn by its `turnId`: every attempt brings other texts. Some are sent twice at once. */
export const appendWithTurnId: Operation = {
  name: "append-with-turn-id",
  weight: () => 5,
  run: async (lane, random) => {
    const turn = drawTurn(lane, random);
    const question = { ...turn, door: "turnId" };
    let attempts = 0;
    const send = async () => {
      const messages = turnMessages(turn, { attempt: (attempts += 1), ids: "none" });
      await lane.history.append(messages, { turnId: turn.turn });
    };
    const isTwice = random.chance(0.1);
    const stored = await Promise.all([lane.store(question, send), ...(isTwice ? [lane.store(question, send)] : [])]);
    const again = async () => void (await lane.store(question, send));
    lane.own.push({ ...turn, isStored: stored.includes(true), isNamed: true, again });
  },
};

/** Writes messages without ids: every attempt sends the same objects. */
export const appendPlain: Operation = {
  name: "append-plain",
  weight: () => 3,
  run: async (lane, random) => {
    const turn = drawTurn(lane, random);
    const messages = turnMessages(turn, { attempt: 1, ids: "none" });
    await lane.store({ ...turn, door: "objects" }, () => lane.history.addMessages(messages));
  },
};

function drawTurn(lane: Lane, random: Random) {
  const shape: Shape = random.weighted(["answer", "tool", "import"] as const, (name) => (name === "import" ? 1.5 : 1));
  return { turn: lane.newTurn(), shape, count: sizeOf(shape, random, lane) };
}
