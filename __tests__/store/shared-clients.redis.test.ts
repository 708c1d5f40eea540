import type { Socket } from "node:net";
import { Redis, type RedisOptions } from "ioredis";
import { corkForTick } from "../../src/store/redis/connection.js";
import { sendTogether } from "../../src/store/redis/script-runner.js";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";
import { human, record, texts } from "../../testing/session-store/store-case.js";
import { startFaultProxy } from "../../tools/testkit/proxies/fault-proxy.js";
import { closedAfterEach } from "../support/closed-after-each.js";
import { sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";

const closed = closedAfterEach();
const ping = [{ verb: "ping", args: [] }];

async function opened(options: RedisOptions = {}): Promise<Redis> {
  const client = closed(new Redis(sharedRedisUrl(), { retryStrategy: () => 1, ...options }));
  client.on("error", () => undefined);
  await client.ping();
  return client;
}

const failureOf = (sent: Promise<unknown>) =>
  sent.then(
    (replies) => replies,
    (error: unknown) => error,
  );

describe("A client in a state of its own", () => {
  it("in which a transaction is open never has its replies taken for a session", async () => {
    const client = await opened();
    const store = new RedisSessionStore({ client, keyPrefix: uniquePrefix(), viewCacheBytes: 0 });
    await store.append({ id: "s" }, { records: [human("q"), record("a")] });
    await store.readView({ id: "s" });
    await client.multi({ pipeline: false });
    void client.echo("not a session");
    await expect(store.readView({ id: "s" })).rejects.toMatchObject({ code: "script_failed", sessionId: "s" });
    expect((await store.readView({ id: "s" })).records).toEqual(texts([human("q"), record("a")]));
  });

  it("in which a transaction is open never has an append acknowledged that was only queued", async () => {
    const client = await opened();
    const store = new RedisSessionStore({ client, keyPrefix: uniquePrefix() });
    await store.append({ id: "s" }, { records: [human("q")] });
    await client.multi({ pipeline: false });
    const queued = store.append({ id: "s" }, { records: [record("a")] });
    await expect(queued).rejects.toMatchObject({ code: "script_failed", sessionId: "s" });
    await expect(store.readView({ id: "s" })).rejects.toMatchObject({ code: "script_failed", sessionId: "s" });
    await client.discard();
    expect((await store.readView({ id: "s" })).records).toEqual(texts([human("q")]));
  });

  it("in which a key is watched that changed is asked again", async () => {
    const [client, other] = [await opened(), await opened()];
    const watched = uniquePrefix();
    await client.watch(watched);
    await other.set(watched, "changed");
    expect(await sendTogether(client, ping)).toEqual(["PONG"]);
  });
});

describe("A transaction that is resent", () => {
  /** Breaks the socket of the next connection at the first MULTI, or at what is written with it. */
  const breakingAtMulti = (client: Redis) =>
    client.once("connect", () => {
      const { stream } = client as unknown as { stream: Socket };
      const write = stream.write.bind(stream) as (data: string | Buffer) => boolean;
      stream.write = (data: string | Buffer) => {
        const isWritten = write(data);
        if (data.toString().includes("multi")) {
          stream.destroy(new Error("EPIPE"));
        }
        return isWritten;
      };
    });

  it("over a socket that breaks at it leaves no transaction open", async () => {
    const proxy = closed(await startFaultProxy(Number(new URL(sharedRedisUrl()).port)));
    const client = closed(new Redis(proxy.url, { retryStrategy: () => 1 }));
    client.on("error", () => undefined);
    await client.ping();
    proxy.dropReplies();
    const sent = failureOf(sendTogether(client, ping));
    const asked = failureOf(client.call("echo", ["after it"]) as Promise<unknown>);
    breakingAtMulti(client);
    proxy.restoreReplies();
    proxy.cut();
    expect([await sent, await asked]).toEqual([["PONG"], "after it"]);
    expect(await client.echo("not QUEUED")).toBe("not QUEUED");
  });
});

describe("What is sent in one tick", () => {
  const writesOf = (client: Redis) => {
    const { stream } = client as unknown as { stream: { _write(): void; _writev(): void } };
    return [jest.spyOn(stream, "_write"), jest.spyOn(stream, "_writev")];
  };
  const counts = (spies: readonly jest.SpyInstance[]) => spies.reduce((sum, { mock }) => sum + mock.calls.length, 0);

  it("is written to the socket at once: reads, appends, and what the application sends", async () => {
    const client = await opened();
    const store = new RedisSessionStore({ client, keyPrefix: uniquePrefix() });
    const ids = ["a", "b", "c"];
    await store.append({ id: "a" }, { records: [human("q")] });
    await Promise.all(ids.map((id) => store.readView({ id }, { neverReduced: true })));
    const written = writesOf(client);
    await Promise.all([
      ...ids.map((id) => store.readView({ id }, { neverReduced: true })),
      ...ids.map((id) => store.append({ id }, { records: [record(`more of ${id}`)] })),
    ]);
    expect(counts(written)).toBe(1);
  });

  it("is written before the application ends the connection, in order", async () => {
    const client = await opened();
    corkForTick(client);
    const sent = [sendTogether(client, ping), client.echo("last"), client.quit()];
    expect(await Promise.all(sent)).toEqual([["PONG"], "last", "OK"]);
    const other = await opened({ retryStrategy: () => null });
    corkForTick(other);
    const lost = failureOf(sendTogether(other, ping));
    other.disconnect();
    expect([expect.any(Error), ["PONG"]]).toContainEqual(await lost);
  });
});

describe("A batch of ioredis", () => {
  it("holds nothing once it has its replies, so that V8, which keeps it, does not keep them", async () => {
    const client = await opened();
    const multi = jest.spyOn(client, "multi");
    const store = new RedisSessionStore({ client, keyPrefix: uniquePrefix(), viewCacheBytes: 0 });
    await store.append({ id: "s" }, { records: [human("q1"), record("a1")] });
    await store.readView({ id: "s" });
    expect((await store.readView({ id: "s" })).records).toHaveLength(2);
    const batches = multi.mock.results.map(({ value }) => value as object);
    expect(batches.length).toBeGreaterThan(0);
    expect(batches.flatMap((batch) => Object.values(batch)).filter((value) => value !== undefined)).toEqual([]);
  });
});
