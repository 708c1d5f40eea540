import { Redis } from "ioredis";
import { closedAfterEach } from "./closed-after-each.js";
import { monitorOf } from "./monitor.js";
import { sharedRedisUrl } from "./shared-redis.js";

const closed = closedAfterEach();

async function opened(): Promise<Redis> {
  const client = closed(new Redis(sharedRedisUrl()));
  await client.ping();
  return client;
}

describe("A monitor", () => {
  it("sees what its client sent until it is stopped, in order", async () => {
    const client = await opened();
    const monitor = closed(await monitorOf(client));
    await client.echo("one");
    await client.echo('"two" \\ three');
    expect(await monitor.stop()).toEqual([
      ["echo", "one"],
      ["echo", '"two" \\ three'],
    ]);
  });

  it("sees its client alone where others use the server, from its first moment to its last", async () => {
    const client = await opened();
    const other = await opened();
    let isOver = false;
    const others = (async () => {
      while (!isOver) {
        await Promise.all(Array.from({ length: 200 }, async () => other.echo("other")));
      }
    })();
    try {
      for (let times = 0; times < 20; times++) {
        const monitor = closed(await monitorOf(client));
        await client.echo("ours");
        expect(await monitor.stop()).toEqual([["echo", "ours"]]);
      }
    } finally {
      isOver = true;
      await others;
    }
  });
});
