import { Redis } from "ioredis";
import { ConnectionWatch, openConnection, type RedisClient } from "../../src/store/redis/connection.js";
import { RoundTrips } from "../../src/store/redis/round-trips.js";
import { freePort } from "../../tools/testkit/servers/redis-server.js";
import { sharedRedisUrl } from "../support/shared-redis.js";
import { script } from "../../src/store/redis/script.js";
import { ScriptRunner } from "../../src/store/redis/script-runner.js";

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
    const make = tripsOf(client);
    const ended: number[] = [];
    const silent = () => new Promise<never>(() => undefined);
    const times = [200, 50, 125, 1];
    await Promise.all(
      times.map((time) =>
        expect(make(silent, time).finally(() => ended.push(time))).rejects.toMatchObject({ code: "timeout" }),
      ),
    );
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
    const make = tripsOf(client);
    await make();
    const loading = Object.assign(new Error("LOADING Redis is loading the dataset in memory"), { name: "ReplyError" });
    const sends = [() => Promise.reject(loading), () => new Promise<never>(() => undefined)];
    await expect(make(() => sends.shift()!(), 50)).rejects.toMatchObject({ code: "unavailable", cause: loading });
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
