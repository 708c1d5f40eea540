import { Redis } from "ioredis";
import { RedisChatMemory } from "langchain-redis-memory";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";
import { record, records, texts } from "../../testing/session-store/store-case.js";
import { writeWhile } from "../support/busy-writers.js";
import { compare, nothingBroken } from "../support/journal-check.js";
import { startRestartableRedis, type RestartableRedis } from "../../tools/testkit/servers/restartable-redis.js";
import { uniquePrefix } from "../support/shared-redis.js";

describe("A server that is started again", () => {
  const clients: Redis[] = [];
  const open = (server: RestartableRedis, options: object = {}) => {
    const client = new Redis(server.url, { retryStrategy: () => 20, ...options });
    client.on("error", () => undefined);
    clients.push(client);
    return client;
  };
  const servers: RestartableRedis[] = [];
  const started = async (...args: string[]) => {
    const server = await startRestartableRedis(args);
    servers.push(server);
    return server;
  };
  afterAll(async () => {
    clients.forEach((client) => client.disconnect());
    await Promise.all(servers.map((server) => server.stop()));
  });

  it("from its append-only file has every acknowledged message, once, also when it was killed", async () => {
    const server = await started("--appendonly", "yes", "--appendfsync", "everysec");
    const journal = await writeWhile({ clients: [open(server), open(server)] }, async () => {
      await server.restart("SIGKILL");
      await server.restart("SIGKILL");
    });
    expect(await compare(journal, open(server))).toMatchObject(nothingBroken);
  });

  it("from a snapshot that it wrote when it stopped has every acknowledged message, once", async () => {
    const server = await started("--save", "3600 1");
    const journal = await writeWhile({ clients: [open(server), open(server)] }, () => server.restart("SIGTERM"));
    expect(await compare(journal, open(server))).toMatchObject(nothingBroken);
  });

  it("from an older snapshot lacks what came after it, and only that: whole turns, which a resend stores", async () => {
    const server = await started("--save", "3600 1000000");
    const direct = open(server);
    const journal = await writeWhile({ clients: [open(server)], sessionCount: 1 }, async () => {
      await direct.save();
      await direct.ping();
    });
    await server.restart("SIGKILL");
    const found = await compare(journal, direct);
    expect(found).toMatchObject({ ...nothingBroken, lost: expect.any(Array) });
    expect(found.lost.length).toBeGreaterThan(0);
    expect(found.lost).toEqual(journal.entries.slice(-found.lost.length).map(({ texts: [first] }) => first));
    const memory = new RedisChatMemory({ client: direct, redis: { keyPrefix: journal.keyPrefix } });
    for (const entry of journal.entries.slice(-found.lost.length)) {
      expect((await entry.send(memory)).appended).toBe(entry.texts.length);
    }
    expect(await compare(journal, direct)).toMatchObject(nothingBroken);
  });

  it("answers calls that came while it loaded its data, whether or not the client checks that itself", async () => {
    const server = await started("--appendonly", "yes");
    const direct = open(server);
    const keyPrefix = uniquePrefix();
    const before = new RedisSessionStore({ client: direct, keyPrefix });
    await before.append({ id: "s" }, { records: records("a", 3) });
    const filler = direct.pipeline();
    for (let index = 0; index < 100; index += 1) {
      filler.set(`filler-${index}`, "x".repeat(4_000));
    }
    await filler.exec();
    await direct.call("BGREWRITEAOF");
    while (/aof_rewrite_(in_progress|scheduled):1/.test(await direct.info("persistence"))) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    const unchecked = open(server, { enableReadyCheck: false });
    // Its next connection is then one to the server that begins again.
    await unchecked.get("x");
    const loading: string[] = [];
    // 100 keys of 100 ms each, until it is told to hurry; it answers LOADING meanwhile, after every 1,024 bytes.
    const slow = ["--key-load-delay", "100000", "--loading-process-events-interval-bytes", "1024"];
    const restarting = server.restart("SIGKILL", slow);
    await new Promise((resolve) => unchecked.once("connect", resolve));
    const probing = (async () => {
      while (!loading.at(-1)?.startsWith("PONG")) {
        loading.push(
          await unchecked.get("x").then(
            () => "PONG",
            (error: Error) => error.message,
          ),
        );
        if (loading.length === 5) {
          await unchecked.call("CONFIG", "SET", "key-load-delay", "0");
        }
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    })();
    const stores = [open(server), unchecked].map(
      (client) => new RedisSessionStore({ client, keyPrefix, commandTimeout: 60_000 }),
    );
    const views = await Promise.all(
      stores.map(async (store, index) => {
        await store.append({ id: "s" }, { records: [record(`b${index}`)] });
        return store.readView({ id: "s" });
      }),
    );
    await Promise.all([restarting, probing]);
    expect(loading.some((reply) => reply.startsWith("LOADING"))).toBe(true);
    expect(views.map(({ records: [...read] }) => read.slice(0, 3))).toEqual(Array(2).fill(texts(records("a", 3))));
    expect((await before.readView({ id: "s" })).next).toBe(5);
  });
});
