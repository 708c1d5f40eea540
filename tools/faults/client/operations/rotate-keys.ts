import { openStore } from "../../../../src/memory/session/open-store.js";
import { concernsOneSession } from "../../../../src/memory/sessions/stored-sessions.js";
import { reencryptSession } from "../../../../src/memory/sessions/reencrypt-sessions.js";
import { sealedParts } from "../../../../src/store/sealed/loaded-store.js";
import { encryption, rotated } from "../doors.js";
import type { Operation } from "./operation.js";

/** Brings the session under the other key, or the first again, while the others go on to write with the first. */
export const rotateKeys: Operation = {
  name: "rotate-keys",
  weight: ({ isEncrypted }) => (isEncrypted ? 1.5 : 0),
  run: async (lane, random) => {
    const keys = random.chance(0.7) ? rotated : encryption;
    const dataKeys = random.chance(0.3);
    if (lane.session.isEncrypted) {
      const { store } = openStore("the clients", { store: lane.doors.store, encryption: keys });
      const work = { ...sealedParts(store)!, session: { id: lane.session.id }, dataKeys };
      await lane.ask({ do: "reencrypt" }, async () => {
        await reencryptSession(work).catch((error: unknown) => {
          if (!concernsOneSession(error)) {
            throw error;
          }
        });
      });
    }
  },
};
