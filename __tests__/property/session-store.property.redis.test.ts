import fc from "fast-check";
import type { Redis } from "ioredis";
import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";
import { everything, outcome, session, storeCommand, type StoreUnderTest } from "../support/store-commands.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";
import { sessionKeys } from "../../src/store/redis/keys.js";
import { propertyRuns } from "../support/property-runs.js";

describe("RedisSessionStore", () => {
  const client = sharedClient();

  const commands = fc.array(fc.record({ command: storeCommand, instance: fc.nat(1) }), {
    minLength: 1,
    maxLength: 60,
    size: "max",
  });

  it("behaves like the in-memory model for any sequence of commands from two processes", async () => {
    await fc.assert(
      fc.asyncProperty(commands, async (list) => {
        const keyPrefix = uniquePrefix();
        const model: StoreUnderTest = { store: new InMemorySessionStore(), views: [], tokens: new Map() };
        // Two stores on the same keys: each remembers starts that the other may have moved since.
        const [first, second] = [0, 1].map(() => new RedisSessionStore({ client, keyPrefix }));
        const shared = { views: [], tokens: new Map<string, string>() };
        for (const { command, instance } of list) {
          const real: StoreUnderTest = { store: instance === 0 ? first! : second!, ...shared };
          expect(await outcome(command, real)).toEqual(await outcome(command, model));
          expect(await everything(real)).toEqual(await everything(model));
        }
        await expectOneExpiry(client, keyPrefix);
      }),
      { numRuns: propertyRuns(40) },
    );
  });
});

async function expectOneExpiry(client: Redis, keyPrefix: string): Promise<void> {
  const { log, ids, state } = sessionKeys(keyPrefix, session);
  const times = await Promise.all([log, ids, state].map((key) => client.call("PEXPIRETIME", key) as Promise<number>));
  expect(new Set(times.filter((time) => time !== -2)).size).toBeLessThanOrEqual(1);
}
