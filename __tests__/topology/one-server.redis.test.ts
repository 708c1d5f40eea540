import { Redis } from "ioredis";
import { Redis as Redis5 } from "ioredis5";
import type { RedisClient } from "../../src/store/redis/connection.js";
import { writeWhile } from "../support/busy-writers.js";
import { compare, nothingBroken } from "../support/journal-check.js";
import { sharedRedisUrl } from "../support/shared-redis.js";

describe("Writers on one server", () => {
  const clients: { disconnect(): void }[] = [];
  afterAll(() => clients.forEach((client) => client.disconnect()));
  const opened = <Client extends { disconnect(): void }>(client: Client) => {
    clients.push(client);
    return client as unknown as RedisClient;
  };

  it("of RESP 2 and RESP 3, ioredis 5 and 6, lose, double, tear and reorder nothing among each other", async () => {
    const url = sharedRedisUrl();
    const journal = await writeWhile(
      {
        clients: [
          opened(new Redis(url, { protocol: 2 })),
          opened(new Redis(url, { protocol: 3 })),
          opened(new Redis(url, { protocol: 3, replyMapping: "resp3" })),
          opened(new Redis(url, { enableAutoPipelining: true })),
          opened(new Redis5(url)),
        ],
        atLeast: 60,
        commandTimeout: 60_000,
      },
      async () => undefined,
    );
    expect(await compare(journal, opened(new Redis(url)))).toEqual({ ...nothingBroken, acknowledged: 300 });
    expect(journal.failures).toEqual({});
  });
});
