import { setTimeout as pause } from "node:timers/promises";
import { MemoryError } from "../../../../src/base/errors.js";
import { writeRuns } from "../../journal/runs.js";
import { tokensOf, type Lane } from "../lane.js";
import type { Operation } from "./operation.js";

const tries = 4;

/** Copies the session or its beginning, tries again where that fails, and reads the copy meanwhile. */
export const forkSession: Operation = {
  name: "fork-session",
  // Which copies an erasure finds is not followed.
  weight: ({ removals }) => (removals === "erase" ? 0 : 0.4),
  run: async (lane, random) => {
    const into = `${lane.session.id}.copy.${lane.newTurn()}`;
    const upTo = random.chance(0.3) ? { upTo: random.between(1, 60) } : {};
    let isOver = false;
    const forking = lane
      .ask({ do: "fork", into, ...upTo }, () => fork(lane, into, upTo.upTo))
      .finally(() => (isOver = true));
    // Once more behind the end: a copy that the call left incomplete is not to be read later either.
    for (let isLast = false; !isLast; await pause(random.between(2, 40))) {
      isLast = isOver;
      await readCopy(lane, into);
    }
    await forking;
  },
};

async function fork(lane: Lane, into: string, at: number | undefined): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return void (await lane.history.fork(into, at === undefined ? {} : { at }));
    } catch (error) {
      const code = MemoryError.isInstance(error) ? error.code : "unknown";
      if (code === "exists" && attempt > 1) {
        return;
      }
      if (attempt === tries || ["unknown_session", "position", "exists"].includes(code)) {
        throw error;
      }
      await pause(30 * attempt);
    }
  }
}

async function readCopy(lane: Lane, into: string): Promise<void> {
  await lane.ask({ do: "transcript", session: into }, async () => ({
    runs: writeRuns(tokensOf(await lane.doors.memory.history(into).getTranscript())),
  }));
}
