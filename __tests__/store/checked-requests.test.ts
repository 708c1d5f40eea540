import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import type { NewState } from "../../src/store/contract/copies.js";
import { record, records } from "../../testing/session-store/store-case.js";

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

/** Sees that a call is refused for an option, in these words, and that it writes nothing. */
async function expectRefused(option: string, message: string, call: (store: InMemorySessionStore) => Promise<unknown>) {
  const store = new InMemorySessionStore();
  await expect(call(store)).rejects.toMatchObject({ name: "ConfigurationError", option, message });
  expect(await store.copies.read(s)).toBeUndefined();
}

describe("a session that is created from an import", () => {
  it.each<[string, string, Partial<NewState>]>([
    ["start", '"start" must be between 3 and 5, the ends of the log.', { start: 2 }],
    ["start", '"start" must be between 3 and 5, the ends of the log.', { start: 6 }],
    ["rounds", '"rounds" must be at most 5, the number of records.', { rounds: 6 }],
  ])("has a %s that fits: %s", (option, message, part) =>
    expectRefused(option, message, (store) => create(store, part)),
  );

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
