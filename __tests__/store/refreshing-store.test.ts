import { readLog } from "../../src/store/contract/session-data.js";
import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import { refreshedOnRead } from "../../src/memory/session/open-store.js";
import type { SessionStore } from "../../src/store/contract/session-store.js";

const s = { id: "s" };

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

/** A store whose reads extend sessions, and what it asked the inner one to extend. */
function refreshed(ttlMs = 60_000) {
  const inner = new InMemorySessionStore();
  const extensions: unknown[][] = [];
  const extend = jest.spyOn(inner.data, "extendExpiry").mockImplementation(async (...args) => {
    extensions.push(args);
    return true;
  });
  const pending = new Map<Promise<unknown>, string>();
  const store = refreshedOnRead(inner, { ttlMs, pending }) as SessionStore;
  return { store, extend, extensions, pending };
}

describe("a store whose reads extend the life of sessions", () => {
  it.each([
    [60_000, 1_000],
    [5_000, 500],
  ])("extends a session that lives for %d ms after %d ms again, and not before", async (ttlMs, pause) => {
    const { store, extensions } = refreshed(ttlMs);
    await store.readView(s);
    jest.advanceTimersByTime(pause - 1);
    await store.readView(s);
    await readLog(store, s);
    expect(extensions.length).toBe(1);
    await store.readView({ id: "other" });
    expect(extensions.length).toBe(2);
    jest.advanceTimersByTime(1);
    await store.readView(s);
    expect(extensions.length).toBe(3);
  });

  it("tries again with the next read after a failure, and reads all the same", async () => {
    const { store, extend, pending } = refreshed();
    extend.mockRejectedValueOnce(new Error("The server is away."));
    expect((await store.readView(s)).epoch).toBe("");
    await Promise.all(pending.keys());
    expect(pending.size).toBe(0);
    await store.readView(s);
    await store.readView(s);
    expect(extend).toHaveBeenCalledTimes(2);
  });
});
