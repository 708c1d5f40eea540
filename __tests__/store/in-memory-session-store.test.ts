import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import { record, records } from "../../testing/session-store/store-case.js";
import type { MemoryEvent } from "../../src/base/events.js";
import type { NewState } from "../../src/store/contract/session-data.js";

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

const s = { id: "s" };
const empty: NewState = {
  ...{ start: 0, head: "", headCount: 0, label: {}, hasLabel: false },
  ...{ reductions: [], reduced: 0, side: {} },
};

/** Creates a session of two records at the positions 3 and 4. */
function create(store: InMemorySessionStore, state: Partial<NewState>) {
  return store.copies.create(s, {
    base: 3,
    pages: async function* () {
      yield { records: records("a", 2).map(({ record }) => ({ record, identity: undefined })), turns: [] };
    },
    finish: async () => ({ ...empty, start: 3, ...state }),
  });
}

describe("a session that is created from an import", () => {
  it.each<[string, string, Partial<NewState>]>([
    ["start", '"start" must be between 3 and 5, the ends of the log.', { start: 2 }],
    ["start", '"start" must be between 3 and 5, the ends of the log.', { start: 6 }],
    ["rounds", '"rounds" must be at most 5, the number of records.', { rounds: 6 }],
  ])("has a %s that fits: %s", async (option, message, part) => {
    const store = new InMemorySessionStore();
    await expect(create(store, part)).rejects.toMatchObject({ name: "ConfigurationError", option, message });
    expect(await store.copies.read(s)).toBeUndefined();
  });

  it("may begin at the end of its log, and have begun a round with each record", async () => {
    expect(await create(new InMemorySessionStore(), { start: 5, rounds: 5 })).toBeDefined();
  });
});

describe("a refusal of a store", () => {
  it("is named in errors by the first 80 characters of its session's id", async () => {
    const store = new InMemorySessionStore();
    const messageFor = async (id: string) => {
      await store.append({ id, owner: "ann" }, { records: [record("a")] });
      return store.readView({ id, owner: "bob" }).catch((error: Error) => error.message);
    };
    expect(await messageFor("x".repeat(80))).toContain(`Session ${"x".repeat(80)} belongs`);
    expect(await messageFor("x".repeat(81))).toContain(`Session ${"x".repeat(80)}… belongs`);
    expect(await messageFor("a\nb")).toContain("Session a%0Ab belongs");
  });
});
