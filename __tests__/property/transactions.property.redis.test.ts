import fc from "fast-check";
import { Redis } from "ioredis";
import { Redis as Redis5 } from "ioredis5";
import { toStoreError } from "../../src/redis/errors.js";
import { sendTogether, type Command } from "../../src/redis/script-runner.js";
import { corkForTick, sendTransaction } from "../../src/redis/wire.js";
import { startFaultProxy, type FaultProxy } from "../../testkit/proxies/fault-proxy.js";
import { interceptedClient } from "../../testkit/proxies/intercepted-client.js";
import { propertyRuns } from "../support/property-runs.js";
import { sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";

type Way = (client: Redis, commands: readonly Command[]) => Promise<unknown>;

const directly: Way = (client, commands) => {
  corkForTick(client);
  const sent = sendTransaction(client, commands);
  if (sent === undefined) {
    throw new Error("The transaction was not sent directly.");
  }
  return sent;
};

/** A client of which something else sees each batch. */
const byBatch: Way = (client, commands) =>
  sendTogether(
    interceptedClient(client, (send) => send()),
    commands,
  );

/** Replies, or what the store would tell of the error. */
function outcomeOf(sent: Promise<unknown>): Promise<unknown> {
  return sent.then(
    (replies) => ({ replies }),
    (error: unknown) => {
      const told = toStoreError(error, { operation: "readView", sessionId: "s" }, { writes: false });
      return { told: `${told.name}: ${told.message}`, cause: String((told.cause as Error).message) };
    },
  );
}

const prefix = uniquePrefix();
const key = fc.constantFrom("list", "hash", "text", "scores", "none").map((name) => `${prefix}:${name}`);
const text = fc.string({ unit: "binary", maxLength: 20 });
const place = fc.integer({ min: -12, max: 12 });
const commandOf = (verb: string, ...args: readonly fc.Arbitrary<string | Buffer | number>[]) =>
  fc.tuple(...args).map((made): Command => ({ verb, args: made }));
const sound = [
  commandOf("lrange", key, place, place),
  commandOf("llen", key),
  commandOf("hmget", key, text, fc.constantFrom("a", "b")),
  commandOf("hgetall", key),
  commandOf("hlen", key),
  commandOf("get", key),
  commandOf("zrange", key, fc.constant(0), fc.constant(-1), fc.constant("WITHSCORES")),
  commandOf(
    "echo",
    fc.oneof(
      text,
      fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes)),
    ),
  ),
];
const refused = commandOf("get");
const transaction = fc.array(
  fc.oneof({ weight: 12, arbitrary: fc.oneof(...sound) }, { weight: 1, arbitrary: refused }),
  { minLength: 1, maxLength: 6 },
);

describe.each([
  ["ioredis 6, RESP 2", (port: number) => new Redis({ port, protocol: 2, retryStrategy: () => 1 })],
  ["ioredis 6, RESP 3", (port: number) => new Redis({ port, protocol: 3, retryStrategy: () => 1 })],
  [
    "ioredis 6, RESP 3 with its own shapes",
    (port: number) => new Redis({ port, protocol: 3, replyMapping: "resp3", retryStrategy: () => 1 }),
  ],
  ["ioredis 6, numbers as text", (port: number) => new Redis({ port, stringNumbers: true, retryStrategy: () => 1 })],
  ["ioredis 5", (port: number) => new Redis5({ port, retryStrategy: () => 1 }) as unknown as Redis],
])("A transaction by %s", (_name, open) => {
  let proxy: FaultProxy;
  let client: Redis;
  beforeAll(async () => {
    proxy = await startFaultProxy(Number(new URL(sharedRedisUrl()).port));
    client = open(proxy.port);
    client.on("error", () => undefined);
    await client.rpush(`${prefix}:list`, "a", "é", "", "[1]", "QUEUED");
    await client.hset(`${prefix}:hash`, "a", "1", "b", "ü");
    await client.set(`${prefix}:text`, "message");
    await client.zadd(`${prefix}:scores`, 1.5, "a", 2, "b");
  });
  afterAll(async () => {
    client.disconnect();
    await proxy.stop();
  });

  /** Resolves when the connection is open, and nothing is under way by which it introduced itself. */
  const ready = async () => {
    while (client.status !== "ready") {
      await new Promise((resolve) => client.once("ready", resolve));
    }
    await client.ping();
  };

  it("has the same replies and errors directly as in a batch", async () => {
    const property = fc.asyncProperty(transaction, async (commands) => {
      const found = await outcomeOf(directly(client, commands));
      expect(found).toEqual(await outcomeOf(byBatch(client, commands)));
    });
    await fc.assert(property, { numRuns: propertyRuns(150) });
  });

  it("has the same ones where the connection dies at any byte of the replies, beside other commands", async () => {
    const bytes = fc.integer({ min: 1, max: 700 });
    const property = fc.asyncProperty(
      fc.array(transaction, { minLength: 1, maxLength: 3 }),
      bytes,
      async (all, cut) => {
        const outcomesBy = async (way: Way) => {
          await ready();
          proxy.cutAfter(cut);
          const sent = all.flatMap((commands) => [way(client, commands), client.strlen(`${prefix}:text`)]);
          const outcomes = await Promise.all(sent.map(outcomeOf));
          proxy.cutNoMore();
          return outcomes;
        };
        const found = await outcomesBy(directly);
        expect(found).toEqual(await outcomesBy(byBatch));
      },
    );
    await fc.assert(property, { numRuns: propertyRuns(60) });
  });
});
