import { described, tokensOf } from "../lane.js";
import { writeRuns } from "../../journal/runs.js";
import type { Operation } from "./operation.js";

/** Reads the view. */
export const readView: Operation = {
  name: "read-view",
  isRead: true,
  weight: () => 4,
  run: async (lane) => void (await lane.ask({ do: "view" }, async () => described(await lane.history.getMessages()))),
};

/** Reads the whole transcript. */
export const readTranscript: Operation = {
  name: "read-transcript",
  isRead: true,
  weight: () => 0.7,
  run: async (lane) => {
    await lane.ask({ do: "transcript" }, async () => ({
      runs: writeRuns(tokensOf(await lane.history.getTranscript())),
    }));
  },
};
