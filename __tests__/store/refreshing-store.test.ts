import { readLog } from "../../src/store/contract/copies.js";
import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import { refreshedOnRead } from "../../src/store/contract/groups.js";
import type { SessionStore } from "../../src/store/contract/session-store.js";
import { record, records } from "../../testing/session-store/store-case.js";

const s = { id: "s" };
const turn = { name: "turn-name-0001", stored: 0, done: true };

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
  it.each<[string, (store: SessionStore) => unknown]>([
    ["readView", (store) => store.readView(s)],
    ["readPage", (store) => store.data.readPage(s, { limit: 1 })],
    ["readSide", (store) => store.data.readSide(s, "")],
  ])("extends what %s reads, in the same tick, and tells what is under way", async (_, read) => {
    const { store, extensions, pending } = refreshed();
    const answer = read(store);
    expect(extensions).toEqual([[s, 60_000]]);
    expect([...pending.values()]).toEqual(["s"]);
    await answer;
    await Promise.all(pending.keys());
    expect(pending.size).toBe(0);
  });

  it("extends what an append reads of a stored turn, and by no other call", async () => {
    const { store, extensions } = refreshed();
    await store.append(s, { records: [record("a")], turn });
    await store.append(s, { records: [record("b")] });
    await store.data.readStats(s);
    await store.copies.readMarks(s, { turns: [turn.name] });
    await store.data.writeSide(s, { set: { a: "1" } });
    await store.copies.read(s);
    expect(extensions).toEqual([]);
    await store.append(s, { records: [record("c")], turn });
    expect(extensions).toEqual([[s, 60_000]]);
    await store.clear(s);
    expect(extensions.length).toBe(1);
  });

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

  it("names the owner of each caller, and holds none back for another", async () => {
    const { store, extensions } = refreshed();
    await store.append({ id: "s", owner: "ann" }, { records: records("a", 1) });
    const readers = [{ id: "s", owner: "ann" }, { id: "s" }, { id: "s", owner: "bob" }];
    await Promise.allSettled(readers.map((reader) => store.readView({ ...reader, keys: {} })));
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
