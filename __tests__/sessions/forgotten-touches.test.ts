import { ListTouches } from "../../src/redis-lists/touches.js";

describe("the update of a list", () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  it("is forgotten a second behind the flush that sent it", async () => {
    const described = { details: { sessionId: "s", owner: "ann" } };
    const describer = { describeOf: async () => described };
    const index = { announce: async () => undefined, put: async () => undefined };
    const touches = new ListTouches(index as never, describer as never);
    const ended = touches.begin("s", "ann");
    touches.announce("s", "ann", undefined);
    ended();
    touches.touch("s", { owner: "ann", mode: "front" });
    for (let flush = 1; flush <= 3; flush += 1) {
      await touches.flush();
      // Only its timer forgets it.
      expect(jest.getTimerCount()).toBe(1);
    }
    jest.advanceTimersByTime(1_000);
    expect(jest.getTimerCount()).toBe(0);
  });
});
