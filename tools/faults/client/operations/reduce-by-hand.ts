import type { Operation } from "./operation.js";

/** Reduces the view now. */
export const reduceByHand: Operation = {
  name: "reduce-by-hand",
  weight: ({ reducer }) => (reducer === "none" ? 0 : 0.5),
  run: async (lane) => void (await lane.ask({ do: "reduce" }, async () => void (await lane.history.reduceView()))),
};
