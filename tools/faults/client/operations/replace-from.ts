import { turnMessages } from "../conversation.js";
import type { Operation } from "./operation.js";

/** Edits one of the newest turns of this client: it and all after it go, and another takes its place. */
export const replaceFrom: Operation = {
  name: "replace-from",
  weight: ({ removals }) => (removals === "rewind" ? 0.8 : 0),
  run: async (lane, random) => {
    const turns = lane.own.filter(({ isStored, isNamed }) => isStored && isNamed).slice(-4);
    if (turns.length === 0) {
      return;
    }
    const { turn: replaces } = random.pick(turns);
    const edited = { turn: lane.newTurn(), shape: random.pick(["answer", "tool"] as const) };
    const turn = { ...edited, count: edited.shape === "answer" ? 2 : 4 };
    const messages = turnMessages(turn, { attempt: 1, ids: "named" });
    const isStored = await lane.store({ ...turn, door: "ids", do: "replace", replaces }, async () => {
      await lane.history.replaceFrom(`${replaces}-0`, messages);
    });
    lane.own.push({ ...turn, isStored, isNamed: true, again: undefined });
  },
};
