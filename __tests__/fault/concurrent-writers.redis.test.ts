import { readLog } from "../../src/store/contract/session-data.js";
import { Redis } from "ioredis";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";
import { human, record, texts } from "../../testing/session-store/store-case.js";
import { sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";

const turns = 1_000;

describe("Two writers and a reducer on one session", () => {
  it("lose, duplicate and split nothing in two thousand turns, some of which are sent twice", async () => {
    const keyPrefix = uniquePrefix();
    const clients = [0, 1, 2].map(() => new Redis(sharedRedisUrl()));
    const [first, second, third] = clients.map((client) => new RedisSessionStore({ client, keyPrefix }));
    let writing = true;
    let committed = 0;

    const write = async (store: RedisSessionStore, writer: string) => {
      for (let turn = 0; turn < turns; turn += 1) {
        const request = { records: turnOf(writer, turn), ttlMs: 60_000 };
        await store.append({ id: "s" }, request);
        if (turn % 10 === 0) {
          expect(await store.append({ id: "s" }, request)).toMatchObject({ appended: 0, duplicates: 2 });
        }
      }
    };
    const reduce = async (store: RedisSessionStore) => {
      while (writing) {
        const { epoch, rev, next, records } = await store.readView({ id: "s" });
        if (epoch !== "" && records.length > 6) {
          const outcome = await store.commitReduction(
            { id: "s" },
            {
              epoch,
              rev,
              next,
              start: next - 4,
              head: `up to ${next - 4}`,
              headCount: 1,
            },
          );
          committed += outcome === "committed" ? 1 : 0;
        }
      }
    };
    const reducing = reduce(third!);
    await Promise.all([write(first!, "a"), write(second!, "b")]);
    writing = false;
    await reducing;

    const { records: log, next } = await readLog(third!, { id: "s" });
    expect(next).toBe(4 * turns);
    for (const writer of ["a", "b"]) {
      const mine = Array.from({ length: turns }, (_, turn) => texts(turnOf(writer, turn)));
      const places = mine.map(([question]) => log.indexOf(question!));
      expect(places.every((place, turn) => log[place + 1] === mine[turn]![1])).toBe(true);
      expect([...places].sort((a, b) => a - b)).toEqual(places);
      expect(new Set(places).size).toBe(turns);
    }
    expect(committed).toBeGreaterThan(10);
    const view = await first!.readView({ id: "s" });
    expect(view.head).toBe(`up to ${view.start}`);
    expect(view.records).toEqual(log.slice(view.start));
    clients.forEach((client) => client.disconnect());
  });

  it("read all or nothing of a session that expires", async () => {
    const client = new Redis(sharedRedisUrl());
    const store = new RedisSessionStore({ client, keyPrefix: uniquePrefix() });
    const turn = turnOf("a", 1);
    for (let index = 0; index < 30; index += 1) {
      await store.append({ id: `s${index}` }, { records: turn, ttlMs: 20 + index, side: { set: { field: "x" } } });
    }
    let left = 30;
    while (left > 0) {
      const views = await Promise.all(Array.from({ length: 30 }, (_, index) => store.readView({ id: `s${index}` })));
      for (const view of views) {
        expect([view.damaged, view.records.length, view.epoch === ""]).toEqual([
          false,
          view.epoch === "" ? 0 : 2,
          view.records.length === 0,
        ]);
      }
      left = views.filter(({ epoch }) => epoch !== "").length;
    }
    client.disconnect();
  });
});

function turnOf(writer: string, turn: number) {
  return [human(`${writer}-q${turn}`), record(`${writer}-a${turn}`)];
}
