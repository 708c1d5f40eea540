import { readLog } from "../../src/store/contract/session-data.js";
import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import { refreshedOnRead } from "../../src/memory/session/open-store.js";
import type { SessionStore } from "../../src/store/contract/session-store.js";
import { record } from "../../testing/session-store/store-case.js";

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

  it("extends what an append reads of a stored turn, and by no other call", async () => {
    const { store, extensions } = refreshed();
    const turn = { name: "turn-name-0001", stored: 0, done: true };
    await store.append(s, { records: [record("a")], turn });
    await store.append(s, { records: [record("b")] });
    await store.data.readStats(s);
    await store.copies.readMarks(s, { turns: [turn.name] });
    await store.data.writeSide(s, { set: { a: "1" } });
    await store.copies.read(s);
    expect(extensions).toEqual([]);
    await store.append(s, { records: [record("c")], turn });
    expect(extensions).toEqual([[s, 60_000]]);
  });

  it("names the owner of each caller, and holds none back for another", async () => {
    const { store, extensions } = refreshed();
    const readers = [{ id: "s", owner: "ann" }, { id: "s" }, { id: "s", owner: "bob" }];
    await Promise.all(readers.map((reader) => store.readView({ ...reader, keys: {} })));
    expect(extensions).toEqual(readers.map((reader) => [reader, 60_000]));
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
