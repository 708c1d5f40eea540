import { setTimeout as pause } from "node:timers/promises";
import { sizeOf, turnMessages } from "../conversation.js";
import { described } from "../lane.js";
import type { Operation } from "./operation.js";

/** Rewinds to one of the newest turns of this client. */
export const rewind: Operation = {
  name: "rewind",
  weight: ({ removals }) => (removals === "rewind" ? 0.8 : 0),
  run: async (lane, random) => {
    const turns = lane.own.filter(({ isStored, isNamed }) => isStored && isNamed).slice(-4);
    if (turns.length > 0) {
      const { turn } = random.pick(turns);
      await lane.ask({ do: "rewind", turn, index: 0 }, () => lane.history.rewind(`${turn}-0`));
    }
  },
};

/** Sends something long, takes it back at once, while it may be written or reduced, and says something else. */
export const takeBack: Operation = {
  name: "take-back",
  weight: ({ removals }) => (removals === "rewind" ? 3 : 0),
  run: async (lane, random) => {
    const turn = { turn: lane.newTurn(), shape: "import", count: sizeOf("import", random, lane) } as const;
    const messages = turnMessages(turn, { attempt: 1, ids: "named" });
    const writing = lane.store({ ...turn, door: "ids" }, () => lane.history.addMessages(messages), { patience: 1 });
    // A write is answered while a reduction in the background begins.
    await (lane.session.reduceWhen === "background" ? writing : pause(random.between(10, 200)));
    await lane.ask({ do: "rewind", turn: turn.turn, index: 0 }, () => lane.history.rewind(`${turn.turn}-0`));
    await writing;
    await pause(random.between(50, 500));
    const edited = { turn: lane.newTurn(), shape: "answer", count: 2 } as const;
    const said = turnMessages(edited, { attempt: 1, ids: "named" });
    await lane.store({ ...edited, door: "ids" }, () => lane.history.addMessages(said));
    await lane.ask({ do: "view" }, async () => described(await lane.history.getMessages()));
  },
};

/** Ends the session; the next write begins it anew. */
export const clear: Operation = {
  name: "clear",
  weight: ({ removals }) => (removals === "clear" ? 0.5 : 0),
  run: async (lane) => void (await lane.ask({ do: "clear" }, () => lane.history.clear())),
};
