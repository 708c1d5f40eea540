import { RedisChatMemory } from "../../../src/memory/histories/redis-chat-memory.js";
import { InMemorySessionStore } from "../../../src/store/in-memory/in-memory-session-store.js";
import { RedisSessionStore } from "../../../src/store/redis-store/redis-session-store.js";
import { Random } from "../../../tools/testkit/random.js";
import { propertyRuns } from "../../support/property-runs.js";
import { sharedClient, uniquePrefix } from "../../support/shared-redis.js";
import { plainAndEncrypted } from "../../support/test-keys.js";
import { doors, type DoorName } from "./doors.js";
import { turnEvents, type TurnEvent } from "./events.js";
import { playCell, promisedOf, waysOf, type Cell, type OpenStore } from "./play.js";

const client = sharedClient();
const random = new Random(Math.floor(Math.random() * 2 ** 32));
const names = Object.keys(doors) as DoorName[];

/** Opens memories on stores in memory, or in Redis. */
const opener =
  (isInRedis: boolean, form: object = {}): OpenStore =>
  (wrap, reducer) => {
    const store = isInRedis ? new RedisSessionStore({ client, keyPrefix: uniquePrefix() }) : new InMemorySessionStore();
    return new RedisChatMemory({
      store: wrap(store),
      profile: "openai",
      ...form,
      ...(reducer && { reducer: reducer() }),
    });
  };

/** Cells of an event at a door, drawn anew in each run: a form and a way; none where the event cannot happen there. */
function drawnCells(event: TurnEvent, door: DoorName, persists: readonly Cell["persist"][]): Cell[] {
  const ways = waysOf(event, door);
  const draws = ways.length === 0 ? 0 : propertyRuns(1);
  return persists.flatMap((persist) =>
    Array.from({ length: draws }, () => {
      return { event, form: random.pick(Object.keys(event.forms)), door, persist, way: random.pick(ways) };
    }),
  );
}

/** Plays a cell and compares what was found with what is promised. */
async function expectPromised(cell: Cell, open: OpenStore): Promise<void> {
  const { form, persist, way } = cell;
  const found = await playCell(cell, open);
  const promised = promisedOf(cell);
  const names = { form, persist, way };
  expect({ ...names, ...found }).toEqual({ ...names, ...promised, issues: [], repeatedIds: [] });
}

describe.each(turnEvents)("$event", (event) => {
  it.each(names)("is as promised at the door %s", async (door) => {
    const cells = drawnCells(event, door, ["step", "turn"]);
    expect(cells.length > 0).toBe(event.doors?.[door]?.isImpossible !== true);
    for (const cell of cells) {
      await expectPromised(cell, opener(false));
    }
  });

  it.each(plainAndEncrypted)("is as promised on Redis at doors that are drawn (%s)", async (_, form) => {
    const possible = names.filter((door) => !event.doors?.[door]?.isImpossible);
    const [cell] = drawnCells(event, random.pick(possible), [random.pick(["step", "turn"] as const)]);
    await expectPromised(cell!, opener(true, form));
  });
});
