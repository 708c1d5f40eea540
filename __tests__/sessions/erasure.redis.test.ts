import { RedisChatMemory } from "langchain-redis-memory";
import { expectTombstone } from "../support/tombstones.js";
import { human } from "../support/messages.js";
import { interceptedClient } from "../../tools/testkit/proxies/intercepted-client.js";
import { startRedis } from "../../tools/testkit/servers/redis-server.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";
import { ownServer } from "../support/own-server.js";

/** Sessions to erase; the full number of the promise takes longer. */
const count = Number(process.env["ERASED_SESSIONS"] ?? 300);
const guardMs = 120_000;

describe("the scan of all keys for unlisted sessions", () => {
  const client = sharedClient();

  it("is made only where the call asks for it, and then once for several owners", async () => {
    let scans = 0;
    const counting = interceptedClient(client, (send, args) => {
      scans += args[0] === "0" && args[1] === "MATCH" ? 1 : 0;
      return send();
    });
    const memory = new RedisChatMemory({ client: counting, redis: { keyPrefix: uniquePrefix() } });
    const owners = ["ann", "bob", "eve"];
    for (const owner of owners) {
      await memory.history(owner, { owner }).addMessages([human("q")]);
      await memory.history(`${owner} 2`, { owner }).addMessages([human("q")]);
    }
    await memory.drain();
    const erased = { sessions: 2, items: "not asked" };
    expect(await memory.sessions.deleteOwner("ann")).toEqual(erased);
    expect(scans).toBe(0);
    expect(await memory.sessions.deleteOwner(["bob", "eve"], { unlisted: true })).toEqual({ ...erased, sessions: 4 });
    expect(scans).toBe(1);
    expect(await memory.sessions.count({ owner: "eve" })).toBe(0);
    await memory.close();
  });
});

describe("erasing an owner", () => {
  const own = ownServer(startRedis);

  it("leaves no key after its guard, beside writers, after a crash, and with sessions that the list lost", async () => {
    const { client } = own;
    const keyPrefix = uniquePrefix();
    const memory = new RedisChatMemory({ client, redis: { keyPrefix } });
    const id = (index: number) => `session ${index}`;
    for (let first = 0; first < count; first += 200) {
      const part = Array.from({ length: Math.min(200, count - first) }, (_, index) => first + index);
      await Promise.all(part.map((index) => memory.history(id(index), { owner: "ann" }).addMessages([human("q")])));
    }
    await memory.drain();
    expect(await memory.sessions.count({ owner: "ann" })).toBe(count);
    for (let index = 0; index < 50; index += 1) {
      await client.zrem(`${keyPrefix}:{owner:ann}:sessions`, encodeURIComponent(id(index)));
    }
    let isOver = false;
    let refused = 0;
    const writers = Array.from({ length: 8 }, async (_, writer) => {
      const other = new RedisChatMemory({ client, redis: { keyPrefix } });
      // The guard stands on when the erasure is over: a writer that was not refused yet is then.
      for (let turn = 0; !isOver || refused === 0; turn += 1) {
        const session = id((turn * 8 + writer) % count);
        const identity = turn % 2 === 0 ? { owner: "ann" } : {};
        await other
          .history(session, identity)
          .addMessages([human("late")])
          .catch((error: { code?: string }) => {
            expect(error.code).toBe("erased");
            refused += 1;
          });
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      await other.drain();
    });
    const crash = new Error("The process ended.");
    const erasure = memory.sessions.deleteOwner("ann", {
      unlisted: true,
      guardMs,
      onProgress: ({ sessions }) => {
        if (sessions >= count / 3) {
          throw crash;
        }
      },
    });
    await expect(erasure).rejects.toBe(crash);
    const began = Date.now();
    await memory.sessions.deleteOwner("ann", { unlisted: true, guardMs });
    const took = Date.now() - began;
    isOver = true;
    await Promise.all(writers);
    await memory.drain();
    expect(refused).toBeGreaterThan(0);
    expect(await memory.sessions.list({ owner: "ann" })).toEqual({ sessions: [], next: null });
    // The guards of sessions and the mark of the owner, without content; each expires.
    for (const key of await client.keys("*")) {
      await expectTombstone(client, key, { guardMs });
    }
    if (count > 300) {
      process.stdout.write(`${count} sessions, resumed: ${took} ms, ${refused} writes refused\n`);
    }
  });

  it("is done on a server at its maxmemory", async () => {
    await own.client.flushall();
    const memory = new RedisChatMemory({ client: own.client });
    for (const id of ["a", "b"]) {
      await memory.history(id, { owner: "ann" }).addMessages([human("hi")]);
    }
    await memory.drain();
    await own.client.config("SET", "maxmemory", "1");
    const write = memory.history("c", { owner: "ann" }).addMessages([human("hi")]);
    await expect(write).rejects.toMatchObject({ code: "out_of_memory" });
    expect(await memory.sessions.deleteOwner("ann")).toMatchObject({ sessions: 2 });
    await memory.close();
  });
});
