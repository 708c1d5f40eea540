import { StoreError } from "../../src/base/errors.js";
import { RedisLists } from "../../src/store/redis-lists/session-lists.js";
import type { ScriptRunner } from "../../src/store/redis/script-runner.js";

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
