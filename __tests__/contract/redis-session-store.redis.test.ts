import { Cluster as Cluster6, Redis as Redis6 } from "ioredis";
import { Cluster as Cluster5, Redis as Redis5 } from "ioredis5";
import { RedisSessionStore } from "../../src/store/redis-session-store.js";
import type { RedisClient } from "../../src/store/redis-client.js";
import { sessionStoreContract } from "../../src/testing/session-store-contract.js";
import { startCluster, type PrivateCluster } from "../support/redis-cluster.js";
import { sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";

type ClosableClient = RedisClient & { disconnect(): void };

function itKeepsTheContract(open: () => ClosableClient): void {
  let client: ClosableClient;
  beforeAll(() => {
    client = open();
  });
  afterAll(() => client.disconnect());
  for (const { title, run } of sessionStoreContract({ create: () => new RedisSessionStore({ client, keyPrefix: uniquePrefix() }) })) {
    it(title, run);
  }
}

describe("RedisSessionStore keeps the contract of session stores with a Redis of ioredis 6", () => {
  itKeepsTheContract(() => new Redis6(sharedRedisUrl()));
});

describe("RedisSessionStore keeps the contract of session stores with a Redis of ioredis 5", () => {
  itKeepsTheContract(() => new Redis5(sharedRedisUrl()));
});

describe("RedisSessionStore keeps the contract of session stores with numbers as strings and automatic pipelines", () => {
  itKeepsTheContract(() => new Redis6(sharedRedisUrl(), { stringNumbers: true, enableAutoPipelining: true, replyMapping: "resp3", keyPrefix: "app:" }));
});

describe("RedisSessionStore on a cluster", () => {
  let cluster: PrivateCluster;
  beforeAll(async () => {
    cluster = await startCluster(3);
  }, 30_000);
  afterAll(() => cluster.stop());

  describe("keeps the contract of session stores with a Cluster of ioredis 6", () => {
    itKeepsTheContract(() => new Cluster6([...cluster.nodes], { scaleReads: "slave" }));
  });

  describe("keeps the contract of session stores with a Cluster of ioredis 5", () => {
    itKeepsTheContract(() => new Cluster5([...cluster.nodes]));
  });
});
