import type { Operation } from "./operation.js";

/** Longer than a writer tries; short enough to see that nothing is left of it. */
const guardMs = 6_000;
const tries = 4;

/** Erases the owner of the session while others write to it, again where that fails. Then nobody writes any more. */
export const eraseOwner: Operation = {
  name: "erase-owner",
  weight: ({ removals }) => (removals === "erase" ? 0.5 : 0),
  run: async (lane) => {
    const { owner } = lane.session;
    const erase = async () => void (await lane.doors.memory.sessions.deleteOwner(owner!, { unlisted: true, guardMs }));
    for (let attempt = 1, isDone = false; !isDone && attempt <= tries; attempt += 1) {
      isDone = await lane.ask({ do: "erase", owner: owner!, guardMs }, erase);
    }
    lane.isErased = true;
  },
};
