import { Cluster, Redis } from "ioredis";
import { Redis as Redis5 } from "ioredis5";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";
import { sessionKeys } from "../../src/store/redis/keys.js";
import type { RedisClient } from "../../src/store/redis/connection.js";
import type { RedisStoreSettings } from "../../src/store/redis/connection-options.js";
import { sessionStoreContract } from "../../testing/session-store-contract.js";
import { leastUser, refusalsAndUse } from "../../tools/testkit/servers/least-user.js";
import { startCluster, type PrivateCluster } from "../../tools/testkit/servers/redis-cluster.js";
import { closedAfterEach } from "../support/closed-after-each.js";
import { uniquePrefix } from "../support/shared-redis.js";
import { startContractServer, takesTime, type ContractServer } from "./contract-server.js";

type ClosableClient = RedisClient & { disconnect(): void };

/** Runs the cases on clients that `open` opens; those that take time only where the server's clock can be moved. */
function itKeepsTheContract(
  open: () => ClosableClient,
  wait?: (milliseconds: number) => void,
  settings: RedisStoreSettings = {},
): void {
  let client: ClosableClient;
  let keyPrefix: string;
  const closed = closedAfterEach();
  beforeAll(() => {
    client = open();
  });
  afterAll(() => client.disconnect());
  const cases = sessionStoreContract({
    // Closed before the client is: a Cluster answers nothing any more, and each call would wait for its timeout.
    create: () => {
      keyPrefix = uniquePrefix();
      return closed(new RedisSessionStore({ client, keyPrefix, ...settings }));
    },
    damage: (_, sessionId) => client.call("UNLINK", [sessionKeys(keyPrefix, sessionId).ids]),
    ...(wait && { wait }),
  });
  for (const { title, run } of cases.filter((contractCase) => wait !== undefined || !takesTime(contractCase))) {
    it(title, run);
  }
}

/** Of ioredis 6 as it comes, topology/least-commands.redis.test.ts plays the contract. */
describe("RedisSessionStore keeps the contract", () => {
  let server: ContractServer;
  beforeAll(async () => {
    server = await startContractServer();
  });
  afterAll(() => server.stop());
  const wait = (milliseconds: number) => server.wait(milliseconds);

  describe("with a Redis of ioredis 5, keeping no views", () => {
    itKeepsTheContract(() => new Redis5(server.url), wait, { viewCacheBytes: 0 });
  });

  describe("with numbers as strings and automatic pipelines", () => {
    const options = { stringNumbers: true, enableAutoPipelining: true, replyMapping: "resp3" } as const;
    itKeepsTheContract(() => new Redis(server.url, { ...options, keyPrefix: "app:" }), wait);
  });
});

describe("RedisSessionStore keeps the contract with a Cluster that reads from replicas, as a restricted user", () => {
  let cluster: PrivateCluster;
  beforeAll(async () => {
    cluster = await startCluster(3);
  });
  afterAll(() => cluster.stop());

  // The nodes of a cluster would take each other for dead if their clocks jumped.
  itKeepsTheContract(() => new Cluster([...cluster.nodes], { scaleReads: "slave", redisOptions: leastUser }));

  it("needs no command that the user with the least commands lacks", async () => {
    const found = await refusalsAndUse(cluster.servers, ["cluster|slots", "cluster|info"]);
    expect(found).toEqual({ refused: [], used: ["cluster|info", "cluster|slots"] });
  });
});
