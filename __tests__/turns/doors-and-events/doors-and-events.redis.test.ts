import { RedisChatMemory } from "../../../src/memory/histories/redis-chat-memory.js";
import { RedisSessionStore } from "../../../src/store/redis-store/redis-session-store.js";
import { sharedClient, uniquePrefix } from "../../support/shared-redis.js";
import { testKeys } from "../../support/test-keys.js";
import { doors, type DoorName } from "./doors.js";
import { drawn, drawnCells, expectPromised } from "./drawn-cells.js";
import { turnEvents } from "./events.js";
import type { OpenStore } from "./play.js";

const client = sharedClient();

describe.each(turnEvents)("on Redis: $event", (event) => {
  it.each([
    ["plain", undefined],
    ["encrypted", testKeys("k1")],
  ] as const)("is as promised at doors that are drawn (%s)", async (_, encryption) => {
    const open: OpenStore = (wrap, reducer) => {
      const store = wrap(new RedisSessionStore({ client, keyPrefix: uniquePrefix() }));
      const options = { ...(encryption && { encryption }), ...(reducer && { reducer: reducer() }) };
      return new RedisChatMemory({ store, profile: "openai", ...options });
    };
    const possible = (Object.keys(doors) as DoorName[]).filter((door) => !event.doors?.[door]?.isImpossible);
    const [cell] = drawnCells(event, drawn(possible), [drawn(["step", "turn"])]);
    await expectPromised(cell!, open);
  });
});
