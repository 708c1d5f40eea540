import { ListWrites, RedisLists } from "../../src/store/redis-lists/session-lists.js";
import { StoreError } from "../../src/base/errors.js";
import type { ScriptRunner } from "../../src/store/redis/script-runner.js";
import type { OwnerLists } from "../../src/store/redis-lists/owner-lists.js";

/** Lists whose server answers with a time of its own, and what they were sent. */
function listsAt(micros: () => number) {
  const sent: [kind: "script" | "ZADD", session: string, score?: number][] = [];
  const lists = {
    enter: async (_: string, session: string) => {
      sent.push(["script", session]);
      return { score: micros() };
    },
    move: async (_: string, session: string, score: number) => ({ isNew: !sent.push(["ZADD", session, score]) }),
  };
  return { sent, writes: new ListWrites(lists as unknown as OwnerLists, () => undefined) };
}

describe("the entries of a process", () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  it("have scores that grow with each write, also of one microsecond, and behind those of the server", async () => {
    const { sent, writes } = listsAt(() => 1_000_000);
    for (const sessionId of ["a", "b", "a", "b", "a"]) {
      await writes.enter({ owner: "ann", sessionId });
    }
    jest.advanceTimersByTime(7);
    await writes.enter({ owner: "ann", sessionId: "b" });
    expect(sent).toEqual([
      ["script", "a"],
      ["script", "b"],
      ["ZADD", "a", 1_000_001],
      ["ZADD", "b", 1_000_002],
      ["ZADD", "a", 1_000_003],
      ["ZADD", "b", 1_007_000],
    ]);
  });

  it("keep the list once in a tenth of a time to live, for a longer one, and for a session that stays", async () => {
    const { sent, writes } = listsAt(() => 1_000_000);
    const kinds = async (ttlMs: number | undefined, passMs: number) => {
      jest.advanceTimersByTime(passMs);
      await writes.enter({ owner: "ann", sessionId: "s", ttlMs });
      return sent.at(-1)![0];
    };
    expect(await kinds(1_000, 0)).toBe("script");
    expect(await kinds(1_000, 99)).toBe("ZADD");
    expect(await kinds(1_000, 2)).toBe("script");
    expect(await kinds(2_000, 0)).toBe("script");
    expect(await kinds(1_000, 0)).toBe("ZADD");
    expect(await kinds(0, 0)).toBe("ZADD");
    expect(await kinds(undefined, 0)).toBe("script");
    expect(await kinds(5_000_000, 600_000)).toBe("ZADD");
  });
});

describe("entries that fail", () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  it("are sent again every two seconds by one timer, up to the first that fails again", async () => {
    let [calls, isAllowed] = [0, false];
    const answer = async () => {
      calls += 1;
      if (!isAllowed) {
        throw new StoreError("No permission.", { code: "unavailable", operation: "append", sessionId: "s" });
      }
      return ["1", "1"];
    };
    const runner = new Proxy({}, { get: () => answer }) as unknown as ScriptRunner;
    const lists = new RedisLists(runner, "p", () => undefined);
    await Promise.all(Array.from({ length: 500 }, (_, index) => lists.enter({ owner: "ann", sessionId: `s${index}` })));
    expect([calls, jest.getTimerCount()]).toEqual([500, 1]);
    await jest.advanceTimersByTimeAsync(60_000);
    expect([calls, jest.getTimerCount()]).toEqual([530, 1]);
    isAllowed = true;
    await jest.advanceTimersByTimeAsync(2_000);
    expect([calls, jest.getTimerCount()]).toEqual([1_030, 0]);
  });
});
