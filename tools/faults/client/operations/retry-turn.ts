import type { Operation } from "./operation.js";

/** Runs an earlier job of this session again, with other words and ids. */
export const retryTurn: Operation = {
  name: "retry-turn",
  weight: () => 1.5,
  run: async (lane, random) => {
    const turns = lane.own.filter(({ again }) => again !== undefined);
    await (turns.length > 0 ? random.pick(turns).again!() : Promise.resolve());
  },
};
