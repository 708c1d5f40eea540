import { openStore } from "../../../../src/memory/session/open-store.js";
import { reencryptSessions } from "../../../../src/memory/sessions/reencrypt-sessions.js";
import { encryption, rotated } from "../doors.js";
import type { Operation } from "./operation.js";

/** Seals the session with the other key, or again with the first, while the others go on to write with the first. */
export const rotateKeys: Operation = {
  name: "rotate-keys",
  weight: ({ isEncrypted }) => (isEncrypted ? 1.5 : 0),
  run: async (lane, random) => {
    const keys = random.chance(0.7) ? rotated : encryption;
    if (lane.session.isEncrypted) {
      const { store } = openStore("the clients", { store: lane.doors.store, encryption: keys });
      await lane.ask({ do: "reencrypt" }, async () => {
        await reencryptSessions(store, { sessionIds: [lane.session.id], onProblem: undefined, onEvent: undefined });
      });
    }
  },
};
