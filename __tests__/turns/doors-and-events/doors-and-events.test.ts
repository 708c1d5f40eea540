import { RedisChatMemory } from "../../../src/memory/histories/redis-chat-memory.js";
import { InMemorySessionStore } from "../../../src/store/in-memory/in-memory-session-store.js";
import { doors, type DoorName } from "./doors.js";
import { drawnCells, expectPromised } from "./drawn-cells.js";
import { turnEvents } from "./events.js";
import type { OpenStore } from "./play.js";

const open: OpenStore = (wrap, reducer) =>
  new RedisChatMemory({
    store: wrap(new InMemorySessionStore()),
    profile: "openai",
    ...(reducer && { reducer: reducer() }),
  });

describe.each(turnEvents)("$event", (event) => {
  it.each(Object.keys(doors) as DoorName[])("is as promised at the door %s", async (door) => {
    const cells = drawnCells(event, door, ["step", "turn"]);
    expect(cells.length > 0).toBe(event.doors?.[door]?.isImpossible !== true);
    for (const cell of cells) {
      await expectPromised(cell, open);
    }
  });
});
