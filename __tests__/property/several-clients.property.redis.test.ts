import fc from "fast-check";
import { Redis } from "ioredis";
import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import { RedisSessionStore } from "../../src/store/redis/redis-session-store.js";
import type { Clients } from "../support/client-command.js";
import { clientCommand } from "../support/client-commands.js";
import { startFakedClockRedis, type FakedClockRedis } from "../support/faked-clock.js";
import { observed, outcomeOf } from "../support/observed-sessions.js";
import { uniquePrefix } from "../support/shared-redis.js";

/** Runs of the suite; `SEVERAL_CLIENTS_RUNS=10000` is the promise. */
const numRuns = Number(process.env["SEVERAL_CLIENTS_RUNS"] ?? 40);
const seed = process.env["SEVERAL_CLIENTS_SEED"];

describe("several clients of one server", () => {
  let server: FakedClockRedis;
  let client: Redis;
  const realNow = Date.now;
  beforeAll(async () => {
    server = await startFakedClockRedis();
    client = new Redis(server.url);
  }, 60_000);
  afterAll(async () => {
    client.disconnect();
    await server.stop();
  });
  afterEach(() => {
    Date.now = realNow;
  });

  const commands = fc.array(fc.record({ command: clientCommand(true), instance: fc.nat(2) }), {
    minLength: 1,
    maxLength: 30,
    size: "max",
  });

  it("see what the in-memory model says, whatever they do with sessions, owners, forks, turns and time", async () => {
    let passed = 0;
    Date.now = () => realNow() + passed;
    const pass = (milliseconds: number) => {
      passed += milliseconds;
      server.shiftClock(passed / 1_000);
    };
    await fc.assert(
      fc.asyncProperty(commands, async (list) => {
        await client.flushall();
        const keyPrefix = uniquePrefix();
        const stores = [0, 1, 2].map(() => new RedisSessionStore({ client, keyPrefix }));
        const inMemory = new InMemorySessionStore();
        const real = newClients(stores, pass);
        const model = newClients([inMemory, inMemory, inMemory], () => undefined);
        try {
          for (const { command, instance } of list) {
            const expected = await outcomeOf(model, instance, command);
            expect(await outcomeOf(real, instance, command)).toEqual(expected);
            expect(await observed(real, instance)).toEqual(await observed(model, instance));
          }
        } finally {
          await Promise.all(stores.map((store) => store.close()));
        }
      }),
      { numRuns, ...(seed !== undefined && { seed: Number(seed) }) },
    );
  }, 3_600_000);
});

function newClients(stores: Clients["stores"], pass: Clients["pass"]): Clients {
  const maps = { views: new Map(), labels: new Map(), cursors: new Map(), tokens: new Map() };
  return { stores, ...maps, fences: [], wasRefused: false, pass };
}
