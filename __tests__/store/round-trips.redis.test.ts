import { Redis } from "ioredis";
import { ConnectionWatch } from "../../src/store/redis/connection.js";
import { RoundTrips } from "../../src/store/redis/round-trips.js";
import type { RedisClient } from "../../src/store/redis/client.js";
import { freePort } from "../../tools/testkit/servers/redis-server.js";
import { sharedRedisUrl } from "../support/shared-redis.js";

const name = { operation: "append", sessionId: "s" };
const ping = (client: RedisClient) => client.call("ping", []);

/** Counts the listeners that round trips have added to the watches of connections and not yet taken away. */
function countListeners(): () => number {
  let count = 0;
  for (const method of ["onFailure", "onOpen"] as const) {
    const add = ConnectionWatch.prototype[method];
    jest.spyOn(ConnectionWatch.prototype, method).mockImplementation(function (this: ConnectionWatch, listener) {
      const stop = add.call(this, listener);
      count += 1;
      return () => {
        count -= 1;
        stop();
      };
    });
  }
  return () => count;
}

/** Round trips through a client; `ready` delays the connection. */
function tripsOf(client: Redis, { commandTimeout = 60_000, ready = Promise.resolve() } = {}) {
  const connection = { client: () => ready.then(() => client as unknown as RedisClient), renew: () => undefined };
  const trips = new RoundTrips({ connection, commandTimeout, onEvent: undefined });
  const exchange = { accept: (reply: unknown) => reply, recover: (error: unknown) => Promise.reject(error as Error) };
  return (send = ping) =>
    trips.make({ name, writes: true, at: performance.now() + commandTimeout }, { ...exchange, send });
}

describe("round trips", () => {
  let client: Redis;
  afterEach(() => {
    client.disconnect();
    jest.restoreAllMocks();
  });

  it("leave no listener behind while the connection is up", async () => {
    client = new Redis(sharedRedisUrl());
    const listeners = countListeners();
    const make = tripsOf(client);
    for (let round = 0; round < 3; round += 1) {
      await Promise.all(Array.from({ length: 10 }, () => make()));
      expect(listeners()).toBe(0);
    }
  });

  it("leave no listener behind while it cannot be opened", async () => {
    client = new Redis(await freePort());
    client.on("error", () => undefined);
    const listeners = countListeners();
    const make = tripsOf(client);
    for (let round = 0; round < 3; round += 1) {
      await Promise.all(
        Array.from({ length: 10 }, () => expect(make()).rejects.toMatchObject({ code: "ECONNREFUSED" })),
      );
      expect(listeners()).toBe(0);
    }
  });

  it("leave no listener behind, and send nothing, where the time ends before there is a client", async () => {
    client = new Redis(sharedRedisUrl());
    const listeners = countListeners();
    let open!: () => void;
    const ready = new Promise<void>((resolve) => (open = resolve));
    const make = tripsOf(client, { commandTimeout: 5, ready });
    const send = jest.fn(ping);
    await Promise.all(Array.from({ length: 10 }, () => expect(make(send)).rejects.toMatchObject({ code: "timeout" })));
    open();
    await new Promise((resolve) => setImmediate(resolve));
    expect({ sent: send.mock.calls.length, listeners: listeners() }).toEqual({ sent: 0, listeners: 0 });
  });
});
