import { setTimeout as delay } from "node:timers/promises";
import { Redis } from "ioredis";
import { allSessions } from "../../cli/all-sessions.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";
import { human } from "../support/messages.js";
import { sharedRedisUrl } from "../support/shared-redis.js";

const unhandled: unknown[] = [];
const note = (reason: unknown) => void unhandled.push(reason);
beforeAll(() => process.on("unhandledRejection", note));
afterAll(() => process.off("unhandledRejection", note));

/** Ends the connection at once: what was asked is not answered any more. */
const cut = (client: Redis) => void client.stream.destroy();

const endings: [string, (client: Redis, interruption: AbortController) => Promise<void> | void][] = [
  ["is interrupted", (_, interruption) => interruption.abort()],
  ["is refused further ids", () => Promise.reject(new Error("refused"))],
  ["loses the connection", cut],
];

it.each(endings)("A look at all sessions that %s leaves no rejection that nobody awaits", async (name, end) => {
  const interruption = new AbortController();
  const client = new Redis(sharedRedisUrl(), { retryStrategy: () => null });
  const keyPrefix = `all-sessions-${process.pid}-${name.replaceAll(" ", "-")}`;
  const store = new RedisSessionStore({ client, keyPrefix });
  const memory = new RedisChatMemory({ store });
  for (const sessionId of ["ann", "bob"]) {
    await memory.history(sessionId).addMessages([human("Oslo?")]);
  }
  const scan = async function* () {
    yield "ann";
    await end(client, interruption);
    yield "bob";
  };
  const server = { store, plainLists: { ...store.lists, scan }, client, keyPrefix };
  const look = async () => {
    for await (const found of allSessions(server as never, { signal: interruption.signal })) {
      expect(found.messages).toBe(1);
    }
  };
  await look().catch(() => undefined);
  cut(client);
  await delay(50);
  expect(unhandled).toEqual([]);
});
