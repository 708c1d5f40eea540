import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { Socket } from "node:net";
import { Cluster, Redis, type RedisOptions } from "ioredis";
import { Redis as Redis5 } from "ioredis5";
import type { RedisClient } from "../../src/redis/client.js";
import { sendTogether } from "../../src/redis/script-runner.js";
import { corkForTick, sendTransaction } from "../../src/redis/wire.js";
import { RedisSessionStore } from "../../src/redis-store/redis-session-store.js";
import { human, record, texts } from "../../testing/session-store/store-case.js";
import { interceptedClient } from "../../testkit/proxies/intercepted-client.js";
import { startFaultProxy } from "../../testkit/proxies/fault-proxy.js";
import { startCluster } from "../../testkit/servers/redis-cluster.js";
import { startRedis } from "../../testkit/servers/redis-server.js";
import { closedAfterEach } from "../support/closed-after-each.js";
import { sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";

const closed = closedAfterEach();
const ping = [{ verb: "ping", args: [] }];

async function opened(options: RedisOptions = {}, Class: typeof Redis = Redis): Promise<Redis> {
  const client = closed(new Class(sharedRedisUrl(), { retryStrategy: () => 1, ...options }));
  client.on("error", () => undefined);
  await client.ping();
  return client;
}

const byBatch = (client: Redis) => interceptedClient(client, (send) => send()) as RedisClient;
const failureOf = (sent: Promise<unknown>) =>
  sent.then(
    (replies) => replies,
    (error: unknown) => error,
  );

class Derived extends Redis {}

class Watching extends Redis {
  override multi: Redis["multi"] = (...args: unknown[]) => (super.multi as (...given: unknown[]) => never)(...args);
}

describe("A transaction is sent directly", () => {
  it.each<[string, () => Promise<Redis>]>([
    ["a client of ioredis 6", () => opened()],
    ["one of RESP 2", () => opened({ protocol: 2 })],
    ["one of ioredis 5", () => opened({}, Redis5 as unknown as typeof Redis)],
    ["one of a class derived from ioredis's", () => opened({}, Derived)],
  ])("by %s", async (_name, open) => {
    expect(await sendTransaction(await open(), ping)).toEqual(["PONG"]);
  });

  it.each<[string, () => Promise<RedisClient>]>([
    ["a client with a prefix of its own", () => opened({ keyPrefix: "p:" })],
    ["one with a commandTimeout of its own", () => opened({ commandTimeout: 60_000 })],
    ["one that collects commands by itself", () => opened({ enableAutoPipelining: true })],
    ["one with friendly stacks", () => opened({ showFriendlyErrorStack: true })],
    ["one of a class that makes its batches", () => opened({}, Watching)],
    ["one of which a proxy sees each batch", async () => byBatch(await opened())],
    ["one that is not open yet", async () => closed(new Redis(sharedRedisUrl(), { lazyConnect: true }))],
  ])("not by %s", async (_name, open) => {
    const client = await open();
    expect(sendTransaction(client, ping)).toBeUndefined();
    expect(await sendTogether(client, ping)).toEqual(["PONG"]);
  });

  it("not by a client whose commands are not as ioredis makes them", async () => {
    const client = await opened();
    const { sendCommand } = client;
    const odd = Object.setPrototypeOf(client, {
      ...{ multi: Redis.prototype.multi, sendCommand },
      __proto__: Redis.prototype,
      // Of a later version, say, whose commands resolve by something else.
      call(this: Redis, verb: string, args: string[]) {
        return this.sendCommand(Object.assign(new Redis.Command(verb, args), { resolve: undefined }) as never);
      },
    }) as Redis;
    expect(sendTransaction(odd, ping)).toBeUndefined();
    expect(await sendTogether(odd, ping)).toEqual(["PONG"]);
  });

  it.each(["tracing:ioredis:batch:start", "tracing:ioredis:command:asyncEnd"])(
    "not while something listens to %s, which hears of the batch",
    async (channel) => {
      const client = await opened();
      const heard: unknown[] = [];
      const listener = (message: unknown) => void heard.push(message);
      subscribe(channel, listener);
      try {
        expect(sendTransaction(client, ping)).toBeUndefined();
        await sendTogether(client, ping);
        expect(heard.length).toBeGreaterThan(0);
      } finally {
        unsubscribe(channel, listener);
      }
      expect(await sendTransaction(client, ping)).toEqual(["PONG"]);
    },
  );

  it("not by a Cluster; and a single node refuses a slot of another's as it does in a batch", async () => {
    const cluster = closed(await startCluster(2));
    const client = closed(new Cluster([...cluster.nodes]));
    const { other } = await cluster.locate("k");
    const read = [{ verb: "get", args: ["k"] }];
    expect(await sendTogether(client as RedisClient, read)).toEqual([null]);
    expect(sendTransaction(client as RedisClient, read)).toBeUndefined();
    const node = closed(new Redis(other.url));
    await node.ping();
    const [direct, batch] = [
      await failureOf(sendTransaction(node, read)!),
      await failureOf(sendTogether(byBatch(node), read)),
    ];
    expect(direct).toMatchObject({ name: "ReplyError", message: expect.stringMatching(/^MOVED /) as unknown });
    expect(batch).toMatchObject({ previousErrors: [direct] });
  });
});

describe("A client in a state of its own", () => {
  it.each([
    ["directly", (client: Redis): RedisClient => client],
    ["in a batch", byBatch],
  ])("in which a transaction is open never has its replies taken for a session, %s", async (_name, as) => {
    const client = await opened();
    const store = new RedisSessionStore({ client: as(client), keyPrefix: uniquePrefix(), viewCacheBytes: 0 });
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

  it("that listens to channels refuses as it does in a batch", async () => {
    const client = await opened({ protocol: 2 });
    const read = [{ verb: "get", args: ["k"] }];
    await client.subscribe(uniquePrefix());
    const [direct, batch] = [
      await failureOf(sendTransaction(client, read)!),
      await failureOf(sendTogether(byBatch(client), read)),
    ];
    expect(direct).toMatchObject({ message: expect.stringContaining("subscriber mode") as unknown });
    expect(batch).toMatchObject({ previousErrors: expect.arrayContaining([direct]) as unknown });
  });

  it("that monitors refuses as it does in a batch", async () => {
    const own = closed(await startRedis());
    const client = closed(await closed(new Redis(own.url)).monitor());
    expect(sendTransaction(client, ping)).toBeUndefined();
    expect(await failureOf(sendTogether(client, ping))).toMatchObject({
      message: expect.stringContaining("monitoring mode") as unknown,
    });
  });

  it.each([1, 2] as const)("that reconnects on errors (%i) fails once, and goes on", async (reconnectOnError) => {
    const client = await opened({
      reconnectOnError: ({ message }) => (/arguments/.test(message) ? reconnectOnError : false),
    });
    expect(await failureOf(sendTransaction(client, [{ verb: "get", args: [] }])!)).toBeInstanceOf(Error);
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

  it.each<[string, (client: Redis) => RedisClient]>([
    ["directly", (client) => client],
    ["in a batch", byBatch],
  ])("over a socket that breaks at it leaves no transaction open, %s", async (_name, as) => {
    const proxy = closed(await startFaultProxy(Number(new URL(sharedRedisUrl()).port)));
    const client = closed(new Redis(proxy.url, { retryStrategy: () => 1 }));
    client.on("error", () => undefined);
    await client.ping();
    proxy.dropReplies();
    const sent = failureOf(sendTogether(as(client), ping));
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
    const sent = [sendTransaction(client, ping), client.echo("last"), client.quit()];
    expect(await Promise.all(sent)).toEqual([["PONG"], "last", "OK"]);
    const other = await opened({ retryStrategy: () => null });
    corkForTick(other);
    const lost = failureOf(sendTransaction(other, ping)!);
    other.disconnect();
    expect([expect.any(Error), ["PONG"]]).toContainEqual(await lost);
  });
});
