import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import { record, records } from "../../testing/session-store/store-case.js";
import type { MemoryEvent } from "../../src/base/events.js";

describe("InMemorySessionStore", () => {
  it("reports each call as one round trip, also a refused one", async () => {
    const events: MemoryEvent[] = [];
    const store = new InMemorySessionStore({ onEvent: (event) => events.push(event) });
    await store.append({ id: "s" }, { records: records("a", 2) });
    await store.readView({ id: "s" });
    await expect(store.append({ id: "s" }, { records: [record("b")], expectedNext: 0 })).rejects.toMatchObject({
      code: "position",
    });
    expect(events.map((event) => event.type === "command" && [event.operation, event.sessionId])).toEqual([
      ["append", "s"],
      ["readView", "s"],
      ["append", "s"],
    ]);
  });

  it("removes expired sessions that are not read again", async () => {
    let now = 0;
    const store = new InMemorySessionStore({ now: () => now });
    for (let index = 0; index < 1_000; index += 1) {
      await store.append({ id: `old-${index}` }, { records: [record("a")], ttlMs: 10 });
    }
    now = 100;
    for (let index = 0; index < 1_001; index += 1) {
      await store.append({ id: `new-${index}` }, { records: [record("a")] });
    }
    // With the clock put back, a session that were still held would show.
    now = 0;
    expect((await store.readView({ id: "old-5" })).epoch).toBe("");
    expect((await store.readView({ id: "new-5" })).next).toBe(1);
  });

  it("accepts custom limits", async () => {
    const store = new InMemorySessionStore({ limits: { maxMessageBytes: 100, maxAppendBytes: 150 } });
    await expect(
      store.append({ id: "s" }, { records: [{ ...record("a"), record: "x".repeat(101) }] }),
    ).rejects.toMatchObject({
      code: "too_large",
    });
    const two = ["a", "b"].map((id) => ({ ...record(id), record: "x".repeat(80) }));
    await expect(store.append({ id: "s" }, { records: two })).rejects.toMatchObject({ code: "too_large" });
    await store.append({ id: "s" }, { records: two.slice(1) });
    const beside = { records: [{ ...record("c"), record: "x".repeat(80) }], side: { set: { notes: "x".repeat(70) } } };
    await store.append({ id: "s" }, beside);
    const more = { ...beside, side: { set: { notes: "x".repeat(71) } } };
    await expect(store.append({ id: "s" }, more)).rejects.toMatchObject({ code: "too_large" });
  });
});
