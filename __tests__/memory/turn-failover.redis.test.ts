import { Redis } from "ioredis";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";
import { record } from "../../testing/session-store/store-case.js";
import { startRedis, type PrivateRedis } from "../../tools/testkit/servers/redis-server.js";
import { uniquePrefix } from "../support/shared-redis.js";

const entry = (ticket: string) => ({ ticket, holdMs: 600_000, graceMs: 600_000 });

describe("a turn that is held while a replica takes over", () => {
  let servers: PrivateRedis[];
  let clients: Redis[];
  let master: RedisSessionStore;
  let promoted: RedisSessionStore;

  beforeEach(async () => {
    const first = await startRedis(["--repl-diskless-sync-delay", "0"]);
    const second = await startRedis(["--replicaof", "127.0.0.1", String(first.port)]);
    servers = [first, second];
    clients = servers.map(({ port }) => new Redis({ port, host: "127.0.0.1" }));
    const keyPrefix = uniquePrefix();
    [master, promoted] = clients.map((client) => new RedisSessionStore({ client, keyPrefix })) as [
      RedisSessionStore,
      RedisSessionStore,
    ];
    await master.append({ id: "s" }, { records: [record("before")] });
    await inStep();
  });
  afterEach(async () => {
    clients.forEach((client) => client.disconnect());
    await Promise.all(servers.map((server) => server.stop()));
  });

  /** Resolves when the replica has all that was written. */
  async function inStep(): Promise<void> {
    while ((await clients[0]!.wait(1, 1_000)) < 1) {
      // A replica that starts is not connected yet.
    }
  }
  async function take(store: RedisSessionStore, ticket: string) {
    const place = await store.data.acquireHold({ id: "s" }, entry(ticket));
    if (!place.isHeld) {
      throw new Error("The turn is not free.");
    }
    return { id: "s", hold: place.hold };
  }

  it("goes on where the replica knew it: others wait, and it may write", async () => {
    const first = await take(master, "first");
    await inStep();
    await clients[1]!.replicaof("NO", "ONE");
    expect(await promoted.data.acquireHold({ id: "s" }, entry("second"))).toEqual({ isHeld: false, ahead: 0 });
    expect(await promoted.append(first, { records: [record("a")] })).toMatchObject({ next: 2 });
    expect(await promoted.data.renewHold({ id: "s" }, { ticket: "first", holdMs: 600_000 })).toBe(true);
    await promoted.data.releaseHold({ id: "s" }, "first");
    await take(promoted, "second");
  });

  it("may overlap with another where the replica did not know it: only the later one may write", async () => {
    await clients[1]!.replicaof("NO", "ONE");
    const first = await take(master, "first");
    const second = await take(promoted, "second");
    const late = promoted.append(first, { records: [record("late")] });
    await expect(late).rejects.toMatchObject({ name: "ConflictError", code: "fenced" });
    const side = promoted.data.writeSide(first, { set: { field: "late" } });
    await expect(side).rejects.toMatchObject({ code: "fenced" });
    expect(await promoted.data.renewHold({ id: "s" }, { ticket: "first", holdMs: 600_000 })).toBe(false);
    expect(await promoted.append(second, { records: [record("a")] })).toMatchObject({ next: 2 });
    expect((await promoted.readView({ id: "s" })).records).toEqual([record("before").record, record("a").record]);
  });
});
