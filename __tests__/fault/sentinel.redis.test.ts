import { Redis } from "ioredis";
import { Redis as Redis5 } from "ioredis5";
import type { RedisClient } from "../../src/store/redis/connection.js";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";
import type { RedisSessionStoreOptions } from "../../src/store/redis/connection-options.js";
import { record, texts } from "../../testing/session-store/store-case.js";
import { startSentinels, type PrivateSentinels } from "../../tools/testkit/servers/redis-sentinel.js";
import { freePort } from "../../tools/testkit/servers/redis-server.js";
import { untilAnswered } from "../support/until-answered.js";

describe("RedisSessionStore with Sentinel", () => {
  let sentinels: PrivateSentinels;
  const password = "p/@:%";
  const encoded = encodeURIComponent(password);
  beforeAll(async () => {
    sentinels = await startSentinels({ password });
  });
  afterAll(() => sentinels.stop());

  const ways = async (): Promise<[string, RedisSessionStoreOptions, () => void][]> => {
    const { sentinels: list, name, url } = sentinels;
    const dead = { host: "127.0.0.1", port: await freePort() };
    const client = new Redis({ sentinels: [...list], name, password, disconnectTimeout: 20 });
    const older = new Redis5({ sentinels: [...list], name, password, disconnectTimeout: 20 });
    client.on("error", () => undefined);
    older.on("error", () => undefined);
    return [
      ["url", { url: url.replace("//", `//:${encoded}@127.0.0.1:${dead.port},`) }, () => undefined],
      ["config", { config: { sentinels: [dead, ...list], name, password } }, () => undefined],
      ["client", { client }, () => client.disconnect()],
      ["client of ioredis 5", { client: older as unknown as RedisClient }, () => older.disconnect()],
    ];
  };

  it("reads the number of the database from the path and from the query", async () => {
    const url = sentinels.url.replace("//", `//:${encoded}@`);
    const [one, two] = [`${url}/1`, `${url}?db=2`].map((text) => new RedisSessionStore({ url: text }));
    await one!.append({ id: "s" }, { records: [record("a")] });
    expect((await two!.readView({ id: "s" })).next).toBe(0);
    const direct = new Redis(sentinels.master.port, "127.0.0.1", { password, db: 1 });
    expect(await direct.dbsize()).toBe(3);
    direct.disconnect();
    await one!.close();
    await two!.close();
  });

  it("says at once that the Sentinels do not know the master", async () => {
    const config = { sentinels: [...sentinels.sentinels], name: "another", password };
    const store = new RedisSessionStore({ config, commandTimeout: 60_000 });
    const began = performance.now();
    await expect(store.readView({ id: "s" })).rejects.toMatchObject({
      code: "unavailable",
      retryable: true,
      cause: { message: expect.stringMatching(/No such master|invalid reply/) },
    });
    expect(performance.now() - began).toBeLessThan(30_000);
    await store.close();
  });

  it("writes and reads by url, config and client, and continues after the master is killed", async () => {
    const opened = (await ways()).map(([way, options, done]) => ({ way, done, store: new RedisSessionStore(options) }));
    for (const { way, store } of opened) {
      expect(await store.append({ id: way }, { records: [record("a")] })).toMatchObject({ appended: 1 });
    }
    const direct = new Redis(sentinels.replica.port, "127.0.0.1", { password });
    while ((await direct.dbsize()) < 3 * opened.length) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    direct.disconnect();
    sentinels.master.process.kill("SIGKILL");
    try {
      await Promise.all(
        opened.map(({ way, store }) => untilAnswered(() => store.append({ id: way }, { records: [record("b")] }))),
      );
      await sentinels.untilPromoted();
      for (const { way, store } of opened) {
        expect((await untilAnswered(() => store.readView({ id: way }))).records).toEqual(
          texts([record("a"), record("b")]),
        );
      }
    } finally {
      for (const { store, done } of opened) {
        await store.close();
        done();
      }
    }
  });

  it("leaves a frozen master as soon as the Sentinels have promoted its replica", async () => {
    // Those of the other tests have lost their master.
    const others = await startSentinels({ password });
    const { url, master } = others;
    const store = new RedisSessionStore({ url: url.replace("//", `//:${encoded}@`), commandTimeout: 2_000 });
    await untilAnswered(() => store.append({ id: "s" }, { records: [record("a")] }));
    master.process.kill("SIGSTOP");
    const began = performance.now();
    await untilAnswered(() => store.append({ id: "s" }, { records: [record("b")] }));
    // Two seconds until the master counts as down, a vote, and at most two timeouts of the connection.
    expect(performance.now() - began).toBeLessThan(40_000);
    await others.untilPromoted();
    master.process.kill("SIGCONT");
    await untilAnswered(() => store.append({ id: "s" }, { records: [record("c")] }));
    await store.close();
    const promoted = new Redis(others.replica.port, "127.0.0.1", { password });
    expect(await promoted.llen("lcmem:{s}:log")).toBeGreaterThanOrEqual(2);
    promoted.disconnect();
    await others.stop();
  });
});
