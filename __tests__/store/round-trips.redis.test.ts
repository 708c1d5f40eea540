import { Redis, type RedisOptions } from "ioredis";
import type { Socket } from "node:net";
import { ConnectionWatch, openConnection, type RedisClient, corkForTick } from "../../src/store/redis/connection.js";
import { RoundTrips } from "../../src/store/redis/round-trips.js";
import { freePort } from "../../tools/testkit/servers/redis-server.js";
import { sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";
import { script } from "../../src/store/redis/script.js";
import { ScriptRunner, sendTogether } from "../../src/store/redis/script-runner.js";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";
import { human, record, texts } from "../../testing/session-store/store-case.js";
import { startFaultProxy } from "../../tools/testkit/proxies/fault-proxy.js";
import { closedAfterEach } from "../support/closed-after-each.js";

/** Time passes only by steps; what the server sends arrives as ever. */
const stopClock = () => jest.useFakeTimers({ doNotFake: ["nextTick", "queueMicrotask", "setImmediate"] });
const name = { operation: "append", sessionId: "s" };
const ping = (client: RedisClient) => client.call("ping", []);

/** Counts the listeners of round trips on the watch of a client's connection. */
function listenersOf(client: Redis): number {
  return ConnectionWatch.of(client as unknown as RedisClient).listeners.size;
}

/** Round trips through a client; `ready` delays the connection. */
function tripsOf(client: Redis, { commandTimeout = 60_000, ready = Promise.resolve() } = {}) {
  const connection = { client: () => ready.then(() => client as unknown as RedisClient), renew: () => undefined };
  const trips = new RoundTrips({ connection, commandTimeout, onEvent: undefined });
  const exchange = { name, writes: true, accept: (reply: unknown) => reply };
  return (send = ping, milliseconds = commandTimeout) =>
    trips.make({ ...exchange, send }, performance.now() + milliseconds);
}

describe("round trips", () => {
  let client: Redis;
  afterEach(() => {
    client.disconnect();
    jest.useRealTimers();
    jest.restoreAllMocks();
  });

  it("leave no listener behind while the connection is up", async () => {
    client = new Redis(sharedRedisUrl());
    const make = tripsOf(client);
    for (let round = 0; round < 3; round += 1) {
      await Promise.all(Array.from({ length: 10 }, () => make()));
      expect(listenersOf(client)).toBe(0);
    }
  });

  it("share one timer", async () => {
    client = new Redis(sharedRedisUrl());
    const make = tripsOf(client);
    await make();
    const timers = jest.spyOn(globalThis, "setTimeout");
    for (let round = 0; round < 3; round += 1) {
      await Promise.all(Array.from({ length: 10 }, () => make()));
    }
    expect(timers).not.toHaveBeenCalled();
  });

  it("end each at the end of its own time", async () => {
    client = new Redis(sharedRedisUrl());
    stopClock();
    const make = tripsOf(client);
    const ended: number[] = [];
    const silent = () => new Promise<never>(() => undefined);
    const times = [200, 50, 125, 1];
    const ends = times.map((time) =>
      expect(make(silent, time).finally(() => ended.push(time))).rejects.toMatchObject({ code: "timeout" }),
    );
    await jest.advanceTimersByTimeAsync(250);
    await Promise.all(ends);
    jest.useRealTimers();
    expect(ended).toEqual([1, 50, 125, 200]);
    expect(listenersOf(client)).toBe(0);
    await make();
  });

  it("leave no listener behind while it cannot be opened", async () => {
    client = new Redis(await freePort());
    client.on("error", () => undefined);
    const make = tripsOf(client);
    for (let round = 0; round < 3; round += 1) {
      await Promise.all(
        Array.from({ length: 10 }, () => expect(make()).rejects.toMatchObject({ code: "unavailable" })),
      );
      expect(listenersOf(client)).toBe(0);
    }
  });

  it("leave no listener behind, and send nothing, where the time ends before there is a client", async () => {
    client = new Redis(sharedRedisUrl());
    let open!: () => void;
    const ready = new Promise<void>((resolve) => (open = resolve));
    const make = tripsOf(client, { commandTimeout: 5, ready });
    const send = jest.fn(ping);
    await Promise.all(Array.from({ length: 10 }, () => expect(make(send)).rejects.toMatchObject({ code: "timeout" })));
    open();
    await new Promise((resolve) => setImmediate(resolve));
    expect({ sent: send.mock.calls.length, listeners: listenersOf(client) }).toEqual({ sent: 0, listeners: 0 });
  });

  it("say what the server refused for the moment where the next try has no reply in time", async () => {
    client = new Redis(sharedRedisUrl());
    stopClock();
    const make = tripsOf(client);
    const loading = Object.assign(new Error("LOADING Redis is loading the dataset in memory"), { name: "ReplyError" });
    const sends = [() => Promise.reject(loading), () => new Promise<never>(() => undefined)];
    const refused = make(() => sends.shift()!(), 50);
    await Promise.all([
      expect(refused).rejects.toMatchObject({ code: "unavailable", cause: loading }),
      jest.advanceTimersByTimeAsync(60),
    ]);
    expect(sends).toHaveLength(0);
  });
});

const broken = script(["local function sound()\nend", "sound()\nlocal nothing\nreturn nothing.field"]);

describe("A script that fails on a server", () => {
  const connection = openConnection("the test", { url: sharedRedisUrl() }, 60_000);
  afterAll(() => connection.close(1_000));

  it("names its line in the cause", async () => {
    const none = { waitReplicas: undefined, onEvent: undefined };
    const runner = new ScriptRunner({ connection, commandTimeout: 60_000, ...none });
    const call = { script: broken, keys: [], args: [], writes: false };
    await expect(runner.run({ operation: "append", sessionId: "a" }, call)).rejects.toMatchObject({
      name: "StoreError",
      code: "script_failed",
      cause: { message: expect.stringMatching(/user_script:5/) },
    });
  });
});

const closed = closedAfterEach();
const pings = [{ verb: "ping", args: [] }];

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
    expect(await sendTogether(client, pings)).toEqual(["PONG"]);
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
    const sent = failureOf(sendTogether(client, pings));
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
    const sent = [sendTogether(client, pings), client.echo("last"), client.quit()];
    expect(await Promise.all(sent)).toEqual([["PONG"], "last", "OK"]);
    const other = await opened({ retryStrategy: () => null });
    corkForTick(other);
    const lost = failureOf(sendTogether(other, pings));
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
