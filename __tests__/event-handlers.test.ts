import { report, type MemoryEvent } from "../src/base/events.js";

describe("a handler of events", () => {
  const event: MemoryEvent = { type: "title_failed", sessionId: "s", error: new Error("x") };

  it.each<[string, () => void]>([
    [
      "throws",
      () => {
        throw new Error("the logger is down");
      },
    ],
    ["rejects", async () => Promise.reject(new Error("the logger is down"))],
  ])("that %s fails neither the call nor the process", async (_, handler) => {
    const rejections: unknown[] = [];
    const note = (reason: unknown) => rejections.push(reason);
    process.on("unhandledRejection", note);
    expect(() => report(handler, event)).not.toThrow();
    await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setImmediate(resolve));
    process.off("unhandledRejection", note);
    expect(rejections).toEqual([]);
  });
});
