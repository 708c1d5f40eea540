import { once } from "node:events";
import type { Socket } from "node:net";
import { Redis } from "ioredis";
import { closedAfterEach } from "./closed-after-each.js";
import { monitorOf } from "./monitor.js";
import { sharedRedisUrl } from "./shared-redis.js";

const closed = closedAfterEach();

describe("A monitor", () => {
  it("sees what was sent until it is stopped, in order", async () => {
    const client = closed(new Redis(sharedRedisUrl()));
    const monitor = closed(await monitorOf(client));
    await client.echo("one");
    await client.echo("two");
    expect(await monitor.stop()).toEqual([
      ["echo", "one"],
      ["echo", "two"],
    ]);
  });

  it("that is closed takes lines that are still on their way", async () => {
    const client = closed(new Redis(sharedRedisUrl()));
    const monitor = await monitorOf(client);
    const { stream } = monitor.client as unknown as { stream: Socket };
    const end = once(monitor.client, "end");
    monitor.disconnect();
    const late = Buffer.from('+1700000000.000001 [0 127.0.0.1:1] "get" "k"\r\n');
    expect(() => [stream.emit("data", late), stream.emit("data", late)]).not.toThrow();
    await end;
  });
});
