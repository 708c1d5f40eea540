import { Redis } from "ioredis";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";
import { record } from "../../testing/session-store/store-case.js";
import { startSentinels, type PrivateSentinels } from "../../tools/testkit/servers/redis-sentinel.js";
import { freePort } from "../../tools/testkit/servers/redis-server.js";
import { untilAnswered } from "../support/until-answered.js";

describe("RedisSessionStore with Sentinel", () => {
  let sentinels: PrivateSentinels;
  const password = "p/@:%";
  const encoded = encodeURIComponent(password);
  beforeAll(async () => {
    sentinels = await startSentinels({ password, downAfter: 600_000 });
  });
  afterAll(() => sentinels.stop());

  it("reads the database from the path and the query, and passes over a Sentinel that is away", async () => {
    const url = sentinels.url.replace("//", `//:${encoded}@127.0.0.1:${await freePort()},`);
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
