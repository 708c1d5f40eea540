import { InMemorySessionStore } from "../../src/model/in-memory-session-store.js";
import { planAppend } from "../../src/store/append-decision.js";
import { decideCommit } from "../../src/store/commit-decision.js";
import type { CreateRequest, NewState } from "../../src/store/copies.js";
import type { HoldRequest } from "../../src/store/holds.js";
import type { SessionHold } from "../../src/store/session-ref.js";
import type { StoredPageRequest } from "../../src/store/session-pages.js";
import type { AppendRequest, CommitRequest, RewindRequest } from "../../src/store/session-writes.js";
import type { SideWrite } from "../../src/store/side-fields.js";
import { record, records } from "../../testing/session-store/store-case.js";

/** A call with one part that is checked. */
type Call = (store: InMemorySessionStore, part: never) => Promise<unknown>;

const s = { id: "s" };
const ticket: HoldRequest = { ticket: "t", holdMs: 1_000, graceMs: 1_000 };
const turn = { name: "turn-name-0001", stored: 0, done: true };
const read = { epoch: "e", rev: "r", next: 2 };
const empty: NewState = {
  ...{ start: 0, head: "", headCount: 0, label: {}, hasLabel: false },
  ...{ reductions: [], reduced: 0, side: {}, discardedTurns: [] },
};

const append = (store: InMemorySessionStore, part: Partial<AppendRequest>) =>
  store.append(s, { records: [record("a")], ...part });
const appendHeld = (store: InMemorySessionStore, hold: SessionHold) =>
  store.append({ ...s, hold }, { records: [record("a")] });
const commit = (store: InMemorySessionStore, part: Partial<CommitRequest>) =>
  store.commitReduction(s, { ...read, start: 0, head: "", headCount: 0, ...part });
const rewind = (store: InMemorySessionStore, part: Partial<RewindRequest>) =>
  store.edits.rewind(s, { ...read, to: 0, forget: [], ...part });
const page = (store: InMemorySessionStore, part: Partial<StoredPageRequest>) =>
  store.beside.readPage(s, { limit: 1, ...part });
const writeSide = (store: InMemorySessionStore, part: SideWrite) => store.beside.writeSide(s, part);

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

/** By method and option: the least number that is let pass, and the call with another one. */
const integers: readonly [method: string, option: string, least: number, call: Call][] = [
  ["append", "expectedNext", 0, (store, expectedNext) => append(store, { expectedNext })],
  ["append", "ttlMs", 1, (store, ttlMs) => append(store, { ttlMs })],
  ["append", "hold.token", 0, (store, token) => appendHeld(store, { epoch: "", token })],
  ["append", "turn.stored", 0, (store, stored) => append(store, { turn: { ...turn, stored } })],
  ["append", "holdMs", 1, (store, holdMs) => append(store, { take: { ...ticket, holdMs } })],
  ["append", "graceMs", 1, (store, graceMs) => append(store, { take: { ...ticket, graceMs } })],
  ["append", "ttlMs", 1, (store, ttlMs) => append(store, { take: { ...ticket, ttlMs } })],
  ["renewHold", "holdMs", 1, (store, holdMs) => store.beside.renewHold(s, { ticket: "t", holdMs })],
  ["append", "side.bound.keep", 0, (store, keep) => append(store, { side: { bound: { prefix: "", keep } } })],
  ["commitReduction", "next", 0, (store, next) => commit(store, { next })],
  ["commitReduction", "start", 0, (store, start) => commit(store, { start })],
  ["commitReduction", "headCount", 0, (store, headCount) => commit(store, { headCount })],
  [
    "commitReduction",
    "discard.remember.count",
    0,
    (store, count) => commit(store, { discard: { forget: [], remember: { count, seconds: 1 } } }),
  ],
  [
    "commitReduction",
    "discard.remember.seconds",
    0,
    (store, seconds) => commit(store, { discard: { forget: [], remember: { count: 1, seconds } } }),
  ],
  ["rewind", "next", 0, (store, next) => rewind(store, { next })],
  ["rewind", "to", 0, (store, to) => rewind(store, { to })],
  ["readLog", "from", 0, (store, from) => store.readLog(s, { from })],
  ["readLog", "limit", 1, (store, limit) => store.readLog(s, { limit })],
  ["readPage", "limit", 1, (store, limit) => page(store, { limit })],
  ["readPage", "before", 0, (store, before) => page(store, { before })],
  ["readPage", "after", -1, (store, after) => page(store, { after })],
  ["writeSide", "ttlMs", 1, (store, ttlMs) => writeSide(store, { set: { a: "1" }, ttlMs })],
  ["create", "ttlMs", 1, (store, ttlMs) => create(store, { ttlMs })],
  ["create", "base", 0, createAt],
  ["create", "headCount", 0, (store, headCount) => create(store, { headCount })],
  ["create", "reduced", 0, (store, reduced) => create(store, { reduced })],
  ["create", "rounds", 0, (store, rounds) => create(store, { rounds })],
  ["create", "createdAt", 0, (store, createdAt) => create(store, { createdAt })],
  ["create", "updatedAt", 0, (store, updatedAt) => create(store, { updatedAt })],
  ["create", "expiresAt", 0, (store, expiresAt) => create(store, { expiresAt })],
];

const amounts: readonly [method: string, option: string, call: Call][] = [
  ["append", "viewLimit.messages", (store, messages) => append(store, { viewLimit: { messages } })],
  ["append", "viewLimit.tokens", (store, tokens) => append(store, { viewLimit: { tokens } })],
  ["append", "viewLimit.fromStart", (store, fromStart) => append(store, { viewLimit: { fromStart } })],
  ["append", "records.0.tokens", (store, tokens) => append(store, { records: [{ ...record("a"), tokens }] })],
  ["commitReduction", "tokens", (store, tokens) => commit(store, { tokens })],
  ["commitReduction", "tokensRead", (store, tokensRead) => commit(store, { tokensRead })],
  ["create", "tokens", (store, tokens) => create(store, { tokens, counter: "c" })],
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

describe("a number in a request to a store", () => {
  it.each(integers)("of %s: %s is an integer of %d or more", async (_, option, least, call) => {
    for (const [value, got] of [...shown, [0.5, "0.5"], [2 ** 53, String(2 ** 53)], [least - 1, `${least - 1}`]]) {
      const message = `"${option}" must be an integer of ${least} or more; got ${got as string}.`;
      await expectRefused(option, message, (store) => call(store, value as never));
    }
    await expect(call(new InMemorySessionStore(), least as never)).resolves.toBeDefined();
  });

  it.each(amounts)("of %s: %s is an amount", async (_, option, call) => {
    for (const [value, got] of shown) {
      const message = `"${option}" must be a number of 0 or more; got ${got}.`;
      await expectRefused(option, message, (store) => call(store, value as never));
    }
    for (const value of [0, 0.5]) {
      await expect(call(new InMemorySessionStore(), value as never)).resolves.toBeDefined();
    }
  });
});

const base64url = '"ticket" must be 1 to 64 characters of base64url.';
const bounds = 'must be between the position of the oldest kept record and "next", both included.';
const name14 = '"turn.name" must be 14 characters of base64url.';
const id1 = "The id of record 1 must be a non-empty string.";
const digest1 = "The digest of record 1 must be 8 characters of base64url.";
const withRecord = (part: object): Call => {
  return (store) => append(store, { records: [record("a"), { ...record("b"), ...part }] });
};
const withSide = (side: unknown): Call => {
  return (store) => append(store, { side: side as never });
};
const withTurn = (name: unknown): Call => {
  return (store) => append(store, { turn: { ...turn, name: name as string } });
};

const others: readonly [option: string, message: string, call: Call][] = [
  [
    "hold.epoch",
    '"hold.epoch" must be a string; got a value of type undefined.',
    (store) => appendHeld(store, {} as never),
  ],
  ["hold.epoch", '"hold.epoch" must be a string; got 7.', (store) => appendHeld(store, { epoch: 7 as never })],
  ["records", '"records" must be an array; got null.', (store) => append(store, { records: null as never })],
  [
    "records",
    '"records" must be an array; got a value of type object.',
    (store) => append(store, { records: {} as never }),
  ],
  ["records.0", "Record 0 must be an object; got null.", (store) => append(store, { records: [null as never] })],
  [
    "records.1",
    "Record 1 must be an object; got a value of type string.",
    (store) => append(store, { records: [record("a"), "b" as never] }),
  ],
  ["records.1.id", id1, withRecord({ id: "" })],
  ["records.1.id", id1, withRecord({ id: 7 })],
  ["records.1.digest", digest1, withRecord({ digest: 12345678 })],
  ["records.1.digest", digest1, withRecord({ digest: "1234567" })],
  ["records.1.digest", digest1, withRecord({ digest: "123456789" })],
  ["records.1.digest", digest1, withRecord({ digest: "1234567+" })],
  ["records.1.record", "Record 1 must be a string; got 7.", withRecord({ record: 7 })],
  ["counter", '"counter" must not be empty.', (store) => append(store, { counter: "" })],
  ["turn.name", name14, withTurn("turn-name-001")],
  ["turn.name", name14, withTurn("turn-name-00001")],
  ["turn.name", name14, withTurn("turn-name-000+")],
  ["turn.name", name14, withTurn("+urn-name-0001")],
  ["turn.name", name14, withTurn([..."turn-name-0001"])],
  ["turn.name", name14, withTurn(null)],
  ["side", '"side" must be an object; got null.', withSide(null)],
  ["side", '"side" must be an object; got a value of type object.', withSide([])],
  ["side", '"side" must be an object; got a value of type string.', withSide("set")],
  ["side.set", '"side.set" must be an object; got null.', withSide({ set: null })],
  ["side.bound", '"side.bound" must be an object; got 1.', withSide({ bound: 1 })],
  ["side.remove", '"side.remove" must be an array; got a value of type string.', withSide({ remove: "a" })],
  ["side.set", 'The values of "side.set" must be strings; got 7.', withSide({ set: { a: 7 } })],
  ["side.set", 'The values of "side.set" must be strings; got null.', withSide({ set: { a: "", b: null } })],
  ["side.remove", 'The values of "side.remove" must be strings; got 7.', withSide({ remove: ["a", 7] })],
  [
    "side.bound.prefix",
    'The values of "side.bound.prefix" must be strings; got 7.',
    withSide({ bound: { prefix: 7, keep: 1 } }),
  ],
  ["ticket", base64url, (store) => append(store, { take: { ...ticket, ticket: "" } })],
  ["ticket", base64url, (store) => append(store, { take: { ...ticket, ticket: "x".repeat(65) } })],
  ["ticket", base64url, (store) => append(store, { take: { ...ticket, ticket: "a b" } })],
  ["ticket", base64url, (store) => append(store, { take: { ...ticket, ticket: 7 as never } })],
  ["ticket", base64url, (store) => append(store, { giveBack: "" })],
  ["ticket", base64url, (store) => append(store, { giveBack: null as never })],
  [
    "take",
    'append: the session has a "hold" already; leave out "take".',
    (store) => store.append({ ...s, hold: { epoch: "" } }, { records: [], take: ticket }),
  ],
  ...[{}, { hold: { epoch: "e" } }].map((held): (typeof others)[number] => [
    "hold",
    'restart() needs a session with a "hold", its epoch and its token.',
    (store) => store.beside.restart({ ...s, ...held }),
  ]),
  [
    "hold.token",
    '"hold.token" must be an integer of 0 or more; got 0.5.',
    (store) => store.beside.restart({ ...s, hold: { epoch: "e", token: 0.5 } }),
  ],
  [
    "hold.token",
    '"hold.token" must be an integer of 0 or more; got 0.5.',
    (store) => store.beside.writeSide({ ...s, hold: { epoch: "", token: 0.5 } }, { set: { a: "1" } }),
  ],
  [
    "hold.token",
    '"hold.token" must be an integer of 0 or more; got 0.5.',
    (store) => store.edits.rewind({ ...s, hold: { epoch: "e", token: 0.5 } }, { ...read, to: 0, forget: [] }),
  ],
  [
    "side.set",
    'The values of "side.set" must be strings; got 7.',
    (store) => writeSide(store, { set: { a: 7 as never } }),
  ],
  ["start", `"start" ${bounds}`, (store) => commit(store, { start: 3 })],
  ["to", `"to" ${bounds}`, (store) => rewind(store, { to: 3 })],
  ["start", '"start" must be between 3 and 5, the ends of the log.', (store) => create(store, { start: 2 })],
  ["start", '"start" must be between 3 and 5, the ends of the log.', (store) => create(store, { start: 6 })],
  ["start", '"start" must be an integer of 0 or more; got 3.5.', (store) => create(store, { start: 3.5 })],
  ["rounds", '"rounds" must be at most 5, the number of records.', (store) => create(store, { rounds: 6 })],
  [
    "records",
    '"records" must not be empty; use rewind() to remove messages only.',
    (store) => store.edits.replaceTail(s, { records: [], cut: { ...read, to: 0, forget: [] } }),
  ],
  [
    "to",
    `"to" ${bounds}`,
    (store) => store.edits.replaceTail(s, { records: [record("a")], cut: { ...read, to: 3, forget: [] } }),
  ],
  [
    "sessionId",
    "The session id must be a string; got number.",
    (store) => store.append({ id: 7 as never }, { records: [record("a")] }),
  ],
  [
    "sessionId",
    "The session id must be a string; got null.",
    (store) => store.append({ id: null as never }, { records: [record("a")] }),
  ],
];

describe("a request to a store", () => {
  it.each(others)("is refused for %s: %s", (option, message, call) =>
    expectRefused(option, message, (store) => call(store, undefined as never)),
  );

  it.each<[string, Call]>([
    ["a ticket of one character", (store) => append(store, { take: ticket, giveBack: "_" })],
    ["a ticket of 64", (store) => append(store, { take: { ...ticket, ticket: "-".repeat(64) } })],
    ["side fields without values", withSide({ set: {}, remove: [], bound: { prefix: "", keep: 0 } })],
    ["a commit that moves the start to the end", (store) => commit(store, { start: 2 })],
    ["a rewind of nothing", (store) => rewind(store, { to: 2 })],
    [
      "a copy that begins at the end of its log, and began a round with each record",
      (store) => create(store, { start: 5, rounds: 5 }),
    ],
  ])("may hold %s", async (_, call) => {
    await expect(call(new InMemorySessionStore(), undefined as never)).resolves.toBeDefined();
  });

  it("is refused for its session's id by the functions that stores of one's own call", () => {
    const refused = expect.objectContaining({ option: "sessionId", message: "The session id must not be empty." });
    const reduction = { ...read, start: 0, head: "", headCount: 0 };
    expect(() => planAppend({ id: "" }, { records: [] })).toThrow(refused);
    expect(() => decideCommit({ id: "" }, reduction, undefined)).toThrow(refused);
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
