import { Cluster, Redis } from "ioredis";
import { Redis as Redis5 } from "ioredis5";
import { RedisSessionStore } from "../../src/store/redis/redis-session-store.js";
import type { RedisClient } from "../../src/store/redis/redis-client.js";
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
  for (const { title, run } of sessionStoreContract({
    create: () => new RedisSessionStore({ client, keyPrefix: uniquePrefix() }),
  })) {
    it(title, run);
  }
}

describe("RedisSessionStore keeps the contract with a Redis of ioredis 6", () => {
  itKeepsTheContract(() => new Redis(sharedRedisUrl()));
});

describe("RedisSessionStore keeps the contract with a Redis of ioredis 5", () => {
  itKeepsTheContract(() => new Redis5(sharedRedisUrl()));
});

describe("RedisSessionStore keeps the contract with numbers as strings and automatic pipelines", () => {
  itKeepsTheContract(
    () =>
      new Redis(sharedRedisUrl(), {
        stringNumbers: true,
        enableAutoPipelining: true,
        replyMapping: "resp3",
        keyPrefix: "app:",
      }),
  );
});

describe("RedisSessionStore keeps the contract with a Cluster that reads from replicas", () => {
  let cluster: PrivateCluster;
  beforeAll(async () => {
    cluster = await startCluster(3);
  }, 30_000);
  afterAll(() => cluster.stop());

  itKeepsTheContract(() => new Cluster([...cluster.nodes], { scaleReads: "slave" }));
});
