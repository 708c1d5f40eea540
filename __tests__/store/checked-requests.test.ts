import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import type { CreateRequest, NewState } from "../../src/store/contract/copies.js";
import { record, records } from "../../testing/session-store/store-case.js";

/** A call with one part that is checked. */
type Call = (store: InMemorySessionStore, part: never) => Promise<unknown>;

const s = { id: "s" };
const empty: NewState = {
  ...{ start: 0, head: "", headCount: 0, label: {}, hasLabel: false },
  ...{ reductions: [], reduced: 0, side: {} },
};

/** Creates a session of two records at the positions 3 and 4. */
function create(store: InMemorySessionStore, part: Partial<NewState> & Pick<CreateRequest, "ttlMs"> = {}) {
  const { ttlMs, ...state } = part;
  return store.copies.create(s, {
    base: 3,
    pages: async function* () {
      yield { records: records("a", 2).map(({ record }) => ({ record, identity: undefined })), turns: [] };
    },
    finish: async () => ({ ...empty, start: 3, ...state }),
    ...(ttlMs !== undefined && { ttlMs }),
  });
}

const createAt = (store: InMemorySessionStore, base: number) =>
  store.copies.create(s, { base, pages: async function* () {}, finish: async () => ({ ...empty, start: base }) });

/** By option: the least number that is let pass, and the call with another one. */
const integers: readonly [option: string, least: number, call: Call][] = [
  ["ttlMs", 1, (store, ttlMs) => create(store, { ttlMs })],
  ["base", 0, createAt],
  ["headCount", 0, (store, headCount) => create(store, { headCount })],
  ["reduced", 0, (store, reduced) => create(store, { reduced })],
  ["rounds", 0, (store, rounds) => create(store, { rounds })],
  ["createdAt", 0, (store, createdAt) => create(store, { createdAt })],
  ["updatedAt", 0, (store, updatedAt) => create(store, { updatedAt })],
  ["expiresAt", 0, (store, expiresAt) => create(store, { expiresAt })],
];

/** What an error says of a value. */
const shown: readonly [unknown, string][] = [
  [-2, "-2"],
  [Number.NaN, "NaN"],
  [Infinity, "Infinity"],
  ["1", "a value of type string"],
  [null, "null"],
  [{}, "a value of type object"],
];

/** Sees that a call is refused for an option, in these words, and that it writes nothing. */
async function expectRefused(option: string, message: string, call: (store: InMemorySessionStore) => Promise<unknown>) {
  const store = new InMemorySessionStore();
  await expect(call(store)).rejects.toMatchObject({ name: "ConfigurationError", option, message });
  expect(await store.copies.read(s)).toBeUndefined();
}

describe("a session that is created from an import", () => {
  it.each(integers)("has as %s an integer of %d or more", async (option, least, call) => {
    for (const [value, got] of [...shown, [0.5, "0.5"], [2 ** 53, String(2 ** 53)], [least - 1, `${least - 1}`]]) {
      const message = `"${option}" must be an integer of ${least} or more; got ${got as string}.`;
      await expectRefused(option, message, (store) => call(store, value as never));
    }
    await expect(call(new InMemorySessionStore(), least as never)).resolves.toBeDefined();
  });

  it("has an amount of tokens", async () => {
    for (const [value, got] of shown) {
      const message = `"tokens" must be a number of 0 or more; got ${got}.`;
      await expectRefused("tokens", message, (store) => create(store, { tokens: value as number, counter: "c" }));
    }
  });

  it.each<[string, string, Partial<NewState>]>([
    ["start", '"start" must be between 3 and 5, the ends of the log.', { start: 2 }],
    ["start", '"start" must be between 3 and 5, the ends of the log.', { start: 6 }],
    ["start", '"start" must be an integer of 0 or more; got 3.5.', { start: 3.5 }],
    ["rounds", '"rounds" must be at most 5, the number of records.', { rounds: 6 }],
  ])("has a %s that fits: %s", (option, message, part) =>
    expectRefused(option, message, (store) => create(store, part)),
  );

  it("may begin at the end of its log, and have begun a round with each record", async () => {
    expect(await create(new InMemorySessionStore(), { start: 5, rounds: 5 })).toBeDefined();
  });

  it("is refused for the id of a session to create before its pages are read", async () => {
    const pages = () => {
      throw new Error("The pages were read.");
    };
    const creating = new InMemorySessionStore().copies.create(
      { id: "" },
      { base: 0, pages, finish: async () => empty },
    );
    await expect(creating).rejects.toMatchObject({ option: "sessionId" });
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
