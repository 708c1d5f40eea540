import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { inspect } from "node:util";
import { Cluster, Redis } from "ioredis";
import { Redis as Redis5 } from "ioredis5";
import type { RedisClient } from "../../src/store/redis/connection.js";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";
import type { RedisSessionStoreOptions } from "../../src/store/redis/connection-options.js";
import { record } from "../../testing/session-store/store-case.js";
import { startFaultProxy } from "../../tools/testkit/proxies/fault-proxy.js";
import {
  freePort,
  onFreePort,
  startRedis,
  startRedisOn,
  type PrivateRedis,
} from "../../tools/testkit/servers/redis-server.js";
import { uniquePrefix } from "../support/shared-redis.js";
import { tlsFiles, type TlsFiles } from "../../tools/testkit/servers/tls-files.js";

/** The failure of a call, and how many milliseconds it took. */
async function failureOf(call: Promise<unknown>): Promise<{ failure: Error; took: number }> {
  const began = performance.now();
  const failure = await call.then(
    () => new Error("The call succeeded."),
    (error: unknown) => error as Error,
  );
  return { failure, took: performance.now() - began };
}

/** The least of the times that five failing calls took: where the machine pauses, it delays one of them. */
async function quickestFailure(call: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let count = 0; count < 5; count += 1) {
    const { failure, took } = await failureOf(call());
    expect(failure).toMatchObject({ code: "unavailable" });
    times.push(took);
  }
  return Math.min(...times);
}

/** A server, and the port on which it speaks TLS. */
function startTls(tls: TlsFiles): Promise<readonly [tlsPort: number, server: PrivateRedis]> {
  return onFreePort(async (port) => [port, await startRedis(tls.args(port))] as const);
}

/** Stands before a server and keeps back what it says until `release`, which closes the connection too. */
async function holdServer(port: number) {
  const [held, waiting]: [Buffer[], (() => void)[]] = [[], []];
  let release!: () => void;
  let end!: () => void;
  const ended = new Promise<void>((resolve) => (end = resolve));
  const proxy = createServer({ allowHalfOpen: true }, (client) => {
    const server = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    [client, server].forEach((socket) => socket.on("error", () => undefined));
    client.pipe(server);
    client.on("close", end);
    server.on("data", (data: Buffer) => {
      held.push(data);
      waiting.forEach((look) => look());
    });
    release = () => client.end(Buffer.concat(held));
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  return {
    port: (proxy.address() as AddressInfo).port,
    /** Resolves when the server has said so many things. */
    said: (count: number) =>
      new Promise<void>((resolve) => {
        const look = () => void (held.length >= count && resolve());
        waiting.push(look);
        look();
      }),
    release: () => release(),
    ended,
    stop: () => new Promise((resolve) => proxy.close(resolve)),
  };
}

const unreachable = (code: unknown) =>
  expect.objectContaining({
    name: "StoreError",
    code: "unavailable",
    retryable: true,
    cause: code === undefined ? expect.any(Error) : expect.objectContaining({ code }),
  });

describe("RedisSessionStore whose connection cannot be opened", () => {
  afterEach(() => void jest.useRealTimers());

  it("says that the server is loading its data, to a client that does not check that itself", async () => {
    jest.useFakeTimers({ doNotFake: ["nextTick", "queueMicrotask", "setImmediate"] });
    let calls = 0;
    const server = createServer((socket) => {
      // A server that loads serves its connections from time to time only.
      socket
        .on("error", () => undefined)
        .on("data", () => {
          calls += 1;
          socket.write(calls < 3 ? "-LOADING Redis is loading the dataset in memory\r\n" : "");
        });
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const client = new Redis(port, { enableReadyCheck: false, disableClientInfo: true });
    client.on("error", () => undefined);
    const store = new RedisSessionStore({ client, commandTimeout: 60_000 });
    const failing = failureOf(store.append({ id: "s" }, { records: [record("a")] }));
    // A millisecond passes in each turn of the event loop, however long that takes.
    for (; calls < 3; await new Promise((resolve) => setImmediate(resolve))) {
      jest.advanceTimersByTime(1);
    }
    await jest.advanceTimersByTimeAsync(60_000);
    const { failure } = await failing;
    client.disconnect();
    server.close();
    expect(failure).toEqual(unreachable(undefined));
    expect(failure.message).toContain("is loading its data; try again later");
  });

  it("names maxclients where the server has no connection left, and goes on once it has", async () => {
    const server = await startRedis(["--maxclients", "3"]);
    const others = [1, 2].map(() => new Redis(server.port));
    await Promise.all(others.map((other) => other.ping()));
    const store = new RedisSessionStore({ url: server.url, commandTimeout: 20_000 });
    others.push(new Redis(server.port));
    await others[2]!.ping();
    const { failure } = await failureOf(store.append({ id: "s" }, { records: [record("a")] }));
    expect(failure).toEqual(unreachable(expect.anything()));
    expect(failure.message).toContain("it has reached maxclients: raise it, or open fewer connections");
    others.forEach((other) => other.disconnect());
    expect((await store.append({ id: "s" }, { records: [record("a")] })).next).toBe(1);
    await store.close();
    await server.stop();
  });

  it.each(["url", "config", "client", "client of ioredis 5", "cluster"])(
    "says at once that the connection was refused, by %s",
    async (way) => {
      const port = await freePort();
      const at = { host: "127.0.0.1", port };
      const silent = <T extends { on(event: "error", listener: () => void): unknown }>(client: T): T => {
        client.on("error", () => undefined);
        return client;
      };
      const [options, done]: [RedisSessionStoreOptions, (() => void)?] = await (async () => {
        if (way === "url" || way === "config") {
          return [way === "url" ? { url: `redis://127.0.0.1:${port}` } : { config: at }];
        }
        const client = silent(
          way === "cluster" ? new Cluster([at]) : way === "client" ? new Redis(at) : (new Redis5(at) as never as Redis),
        );
        return [{ client: client as RedisClient }, () => client.disconnect()];
      })();
      const store = new RedisSessionStore({ ...options, commandTimeout: 200_000 });
      // A Cluster of ioredis keeps what its nodes said to itself.
      const code = way === "cluster" ? undefined : "ECONNREFUSED";
      const first = await failureOf(store.append({ id: "s" }, { records: [record("a")] }));
      expect(first.failure).toEqual(unreachable(code));
      const place = way === "cluster" ? `${at.host}:${port} (nodes of a Cluster)` : `${at.host}:${port}`;
      const reason = code === undefined ? "" : ` (${code})`;
      const sentence = `Session s: Redis at ${place} cannot be reached${reason}`;
      expect(first.failure.message).toBe(`${sentence}; the outcome is unknown, and the same call again is safe.`);
      const second = await failureOf(store.readView({ id: "s" }));
      expect(second.failure).toEqual(unreachable(code));
      expect(second.failure.message).toBe(`${sentence}.`);
      expect(first.took + second.took).toBeLessThan(35_000);
      await store.close();
      done?.();
    },
  );

  it("says at once that the host is unknown, and shows no password", async () => {
    const store = new RedisSessionStore({ url: "redis://:secret@no-such-host.invalid", commandTimeout: 60_000 });
    const { failure, took } = await failureOf(store.readView({ id: "s" }));
    // The second code: no name server can be reached.
    expect(failure).toEqual(unreachable(expect.stringMatching(/^(ENOTFOUND|EAI_AGAIN)$/)));
    expect(inspect(failure, { depth: 9, showHidden: true })).not.toContain("secret");
    expect(took).toBeLessThan(50_000);
    await store.close();
  });

  it("says at once that the certificate was refused, and works with the right one", async () => {
    const tls = tlsFiles();
    const [tlsPort, server] = await startTls(tls);
    const url = `rediss://localhost:${tlsPort}`;
    const doubtful = new RedisSessionStore({ url, commandTimeout: 200_000 });
    const trusting = new RedisSessionStore({
      config: { host: "localhost", port: tlsPort, tls: { ca: tls.client.ca } },
    });
    try {
      const { failure, took } = await failureOf(doubtful.readView({ id: "s" }));
      expect(failure).toMatchObject({
        name: "StoreError",
        code: "unavailable",
        retryable: false,
        message: expect.stringContaining("certificate"),
        cause: { code: "DEPTH_ZERO_SELF_SIGNED_CERT" },
      });
      expect(took).toBeLessThan(35_000);
      expect(await trusting.append({ id: "s" }, { records: [record("a")] })).toMatchObject({ appended: 1 });
    } finally {
      await doubtful.close();
      await trusting.close();
      await server.stop();
      tls.remove();
    }
  });

  it("is closed while its certificate is being refused, and the process goes on", async () => {
    const tls = tlsFiles();
    const [tlsPort, server] = await startTls(tls);
    const held = await holdServer(tlsPort);
    const store = new RedisSessionStore({ url: `rediss://localhost:${held.port}`, commandTimeout: 20_000 });
    const call = failureOf(store.readView({ id: "s" }));
    await held.said(1);
    await store.close();
    // The answer to the first message, and to its end.
    await Promise.race([held.said(2), new Promise((resolve) => setTimeout(resolve, 250))]);
    held.release();
    expect((await call).failure).toMatchObject({ name: "StoreError" });
    // Node.js throws an error that nobody hears a moment later, and Jest ascribes it to the test that runs.
    await held.ended;
    await new Promise((resolve) => setImmediate(resolve));
    await held.stop();
    await server.stop();
    tls.remove();
  });

  it("names the cause also of a call that runs into its timeout", async () => {
    const store = new RedisSessionStore({
      config: { host: "127.0.0.1", port: await freePort(), connectionName: "x", maxRetriesPerRequest: 0 },
      commandTimeout: 10_000,
    });
    for (let count = 0; count < 3; count += 1) {
      expect((await failureOf(store.readView({ id: "s" }))).failure).toEqual(unreachable("ECONNREFUSED"));
      await new Promise((resolve) => setTimeout(resolve, 60));
    }
    await store.close();
  });
});

describe("RedisSessionStore whose server goes away", () => {
  it("opens a new connection where ioredis has given up the old one", async () => {
    const server = await startRedis();
    const direct = new Redis(server.url);
    const proxy = await startFaultProxy(server.port);
    const config = { host: "127.0.0.1", port: proxy.port, retryStrategy: () => null };
    const store = new RedisSessionStore({ config, keyPrefix: uniquePrefix() });
    await store.append({ id: "s" }, { records: [record("a")] });
    for (let count = 0; count < 3; count += 1) {
      proxy.cut();
      // A call that the client takes before it notices the cut fails with it.
      await store.append({ id: "s" }, { records: [record(`b${count}`)] }).catch(() => undefined);
      // One of the calls that notice it opens the new connection; the others share it.
      const clients = () => direct.info("clients").then((text) => /connected_clients:(\d+)/.exec(text)![1]);
      await Promise.all(["x", "y", "z"].map((session) => store.readView({ id: session })));
      expect(await store.append({ id: "s" }, { records: [record(`b${count}`)] })).toMatchObject({ next: 2 + count });
      while ((await clients()) !== "2") {
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    }
    direct.disconnect();
    await store.close();
    await expect(store.readView({ id: "s" })).rejects.toMatchObject({ code: "closed" });
    await proxy.stop();
    await server.stop();
  });

  it("waits for a short restart, says soon that a longer one refuses connections, and goes on after it", async () => {
    const keyPrefix = uniquePrefix();
    let server = await startRedis();
    const { port } = server;
    const config = { host: "127.0.0.1", port, retryStrategy: () => 50, maxRetriesPerRequest: null };
    // A connection that broke has a fifth of the command timeout to come back.
    const patient = new RedisSessionStore({ config, keyPrefix, commandTimeout: 100_000 });
    const store = new RedisSessionStore({ config, keyPrefix, commandTimeout: 10_000 });
    try {
      await patient.append({ id: "s" }, { records: [record("a")] });
      await server.stop();
      const pending = patient.append({ id: "s" }, { records: [record("b")] });
      server = await startRedisOn(port);
      expect(await pending).toMatchObject({ appended: 1 });
      await store.readView({ id: "s" });
      await server.stop();
      const { failure, took } = await failureOf(store.append({ id: "s" }, { records: [record("c")] }));
      expect(failure).toEqual(unreachable("ECONNREFUSED"));
      expect(took).toBeLessThan(10_000);
      expect(await quickestFailure(() => store.readView({ id: "s" }))).toBeLessThan(1_500);
      server = await startRedisOn(port);
      while ((await failureOf(store.readView({ id: "s" }))).failure.message !== "The call succeeded.") {
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    } finally {
      await Promise.all([store.close(), patient.close()]);
      await server.stop();
    }
  });

  describe.each(["config", "client", "client of ioredis 5"])(
    "and comes back a moment after a failure, by %s",
    (way) => {
      it("refuses no call with a failure that is older than the call, and opens one connection for all", async () => {
        const server = await startRedis();
        const door = await startDoor(server.port);
        const retryStrategy = () => 50;
        const at = { host: "127.0.0.1", port: door.port, retryStrategy, maxRetriesPerRequest: null };
        const client = {
          config: () => undefined,
          client: () => new Redis(at),
          "client of ioredis 5": () => new Redis5(at) as never as Redis,
        }[way]!();
        client?.on("error", () => undefined);
        const options = client === undefined ? { config: at } : { client: client as RedisClient };
        // A connection that broke has a fifth of it to come back.
        const store = new RedisSessionStore({ ...options, keyPrefix: uniquePrefix(), commandTimeout: 2_000 });
        const read = () => store.readView({ id: "s" });
        try {
          for (let count = 0; count < 12; count += 1) {
            await read();
            await door.shut();
            const failing = await Promise.all(Array.from({ length: 5 }, () => failureOf(read())));
            failing.forEach(({ failure }) => expect(failure).toEqual(unreachable("ECONNREFUSED")));
            expect(Math.min(...failing.map(({ took }) => took))).toBeLessThan(1_800);
            // Known to be down, each says so as it is now, and soon.
            const known = await Promise.all([failureOf(read()), failureOf(read())]);
            known.forEach(({ failure }) => expect(failure).toEqual(unreachable("ECONNREFUSED")));
            await new Promise((resolve) => (count % 3 === 0 ? setImmediate(resolve) : setTimeout(resolve, 3 * count)));
            const before = door.opened;
            await door.open();
            await Promise.all(Array.from({ length: 5 }, read));
            expect(door.opened - before).toBe(1);
          }
        } finally {
          await store.close();
          client?.disconnect();
          await door.shut();
          await server.stop();
        }
      });
    },
  );
});

/** Stands before a server, and refuses and takes connections as it is told. */
async function startDoor(serverPort: number) {
  const sockets = new Set<Socket>();
  let opened = 0;
  const proxy = createServer((client) => {
    opened += 1;
    const server = connect({ port: serverPort, host: "127.0.0.1" });
    for (const socket of [client, server]) {
      sockets.add(socket);
      socket.on("error", () => undefined);
      socket.on("close", () => sockets.delete(socket));
    }
    client.pipe(server).pipe(client);
  });
  const listen = (at: number) => new Promise<void>((resolve) => proxy.listen(at, "127.0.0.1", resolve));
  await listen(0);
  const { port } = proxy.address() as AddressInfo;
  return {
    port,
    /** Connections so far. */
    get opened() {
      return opened;
    },
    open: () => listen(port),
    shut: () =>
      new Promise((resolve) => {
        proxy.close(resolve);
        sockets.forEach((socket) => socket.destroy());
      }),
  };
}
