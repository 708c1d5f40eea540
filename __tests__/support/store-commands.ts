import { readLog } from "../../src/store/contract/session-data.js";
import { readLastRounds } from "../../src/memory/session/screen-pages.js";
import { storedTurn, reductionsOf } from "../../testing/session-store/store-case.js";
import fc from "fast-check";
import { createHash } from "node:crypto";
import type { SessionStore } from "../../src/store/contract/session-store.js";
import type {
  AppendRequest,
  IdentifiedRecord,
  NewRecord,
  SideChanges,
  LessenedTurn,
  TurnClaim,
} from "../../src/store/contract/session-writes.js";
import type { SessionView } from "../../src/store/contract/session-reads.js";

/**
 * A store under random commands: what it was called, and the views that were read from it, as the other store's were.
 */
export interface StoreUnderTest {
  readonly store: SessionStore;
  readonly views: SessionView[];
  /**
   * Names of random tokens in the order in which they were first seen: stores that do the same give them the same
   * names.
   */
  readonly tokens: Map<string, string>;
}

/** One command: it does the same to every store, in terms of the views that this store was seen to have. */
export type StoreCommand = (under: StoreUnderTest) => Promise<unknown>;

export const session = "a session";

const ids = Array.from({ length: 16 }, (_, index) => `m${index + 1}`);
const roles = ["human", "ai", "tool"];

/** A record whose id can be read from it, as rebuilding needs. */
export function idOf(record: string): string {
  return (JSON.parse(record) as { data: { id: string } }).data.id;
}

/** The identity of a record, made from the record alone; its turn is no part of the digest. */
export function identify(record: string): IdentifiedRecord {
  const { turn, ...content } = JSON.parse(record) as { data: { id: string }; turn?: string };
  const digest = createHash("sha256").update(JSON.stringify(content)).digest("base64url").slice(0, 8);
  const ends = record.startsWith('{"type":"ai"');
  return { id: content.data.id, digest, ...(turn !== undefined && { turn: { name: turn, ends } }) };
}

const turnNames = ["turn-name-0001", "turn-name-0002", "turn-name-0003"];

/** The record as a codec writes it for a turn. */
function ofTurn(item: NewRecord, turn: string | undefined): NewRecord {
  return turn === undefined ? item : { ...item, record: `${item.record.slice(0, -1)},"turn":"${turn}"}` };
}

/** What a rewind removes of each turn. */
async function losses({ store }: StoreUnderTest, to: number): Promise<LessenedTurn[]> {
  const { records, from } = await readLog(store, { id: session });
  const names = records.slice(Math.max(0, to - from)).map((record) => identify(record).turn?.name);
  return turnNames
    .filter((name) => names.includes(name))
    .map((name) => ({ name, removed: names.filter((other) => other === name).length }));
}

/** The claim of a writer who mostly knows what is stored of the turn. */
async function claimOf({ store }: StoreUnderTest, { name, done, unaware }: TurnChoice): Promise<TurnClaim> {
  const stored = (await storedTurn(store, { id: session }, name))?.count ?? 0;
  return { name, done, stored: unaware ? 0 : stored };
}

interface TurnChoice {
  readonly name: string;
  readonly done: boolean;
  readonly unaware: boolean;
}

const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined, freq: 2 });
const mostly = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined, freq: 8 });
const seldom = <T>(value: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 7, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: value });

const newRecord: fc.Arbitrary<NewRecord> = fc
  .record({
    id: fc.constantFrom(...ids),
    variant: fc.constantFrom(0, 0, 0, 1),
    tokens: mostly(fc.integer({ min: 0, max: 40 }).map((quarters) => quarters / 4)),
  })
  .map(({ id, variant, tokens }) => {
    // The role follows from the id, so that most repetitions are true ones.
    const record = `{"type":"${roles[Number(id.slice(1)) % 3]}","data":{"id":"${id}","variant":${variant}}}`;
    return { ...identify(record), record, ...(tokens !== undefined && { tokens }) };
  });

const name = fc.constantFrom("t:1", "t:2", "t:é", "t:👍", "t:～", "u:1");
const side: fc.Arbitrary<SideChanges> = fc.record(
  {
    set: fc.dictionary(name, fc.constantFrom("", "x", "é\u0000"), { maxKeys: 3 }),
    remove: fc.array(name, { maxLength: 2 }),
    bound: fc.record({ prefix: fc.constantFrom("t:", "", "u"), keep: fc.nat(3) }),
  },
  { requiredKeys: [] },
);

const append = fc
  .record({
    records: fc.array(newRecord, { maxLength: 5 }),
    expectedNext: seldom(fc.nat(1)),
    expectedEpoch: seldom(fc.nat(5)),
    expectNone: seldom(fc.constant(true)),
    token: seldom(fc.nat(2)),
    onConflict: fc.constantFrom("keep" as const, "error" as const, undefined),
    ttlMs: optional(fc.constantFrom(600_000, 900_000)),
    counter: mostly(fc.constantFrom("c1", "c1", "c1", "c1", "c2")),
    side: optional(side),
    viewLimit: optional(fc.record({ messages: optional(fc.nat(6)), tokens: optional(fc.nat(20)) })),
    turn: optional(
      fc.record({ name: fc.constantFrom(...turnNames), done: fc.boolean(), unaware: fc.constantFrom(false, true) }),
    ),
  })
  .map(({ expectedEpoch, expectNone, expectedNext, token, turn, records, ...rest }): StoreCommand => {
    return async (under) => {
      const epoch = expectNone ? "" : expectedEpoch === undefined ? undefined : viewAt(under, expectedEpoch)?.epoch;
      const next = expectedNext === undefined ? undefined : (viewAt(under, 0)?.next ?? 0) + expectedNext;
      const request: AppendRequest = {
        ...rest,
        records: records.map((item) => ofTurn(item, turn?.name)),
        ...(turn && { turn: await claimOf(under, turn) }),
        expectedNext: next,
      };
      const hold = { epoch: epoch ?? viewAt(under, 0)?.epoch ?? "", ...(token !== undefined && { token }) };
      const isWithin = epoch !== undefined || token !== undefined;
      const result = await under.store.append({ id: session, ...(isWithin && { hold }) }, request);
      if (result.view !== undefined) {
        under.views.push(result.view);
      }
      return result;
    };
  });

const readView = fc.boolean().map((neverReduced): StoreCommand => async (under) => {
  const view = await under.store.readView({ id: session }, { neverReduced });
  under.views.push(view);
  return view;
});

const age = fc.constantFrom(0, 0, 0, 0, 0, 1, 2, 9);

const commit = fc
  .record({
    view: age,
    start: fc.double({ min: 0, max: 1, noNaN: true }),
    head: fc.constantFrom("", "head", "👍\u0000"),
    headCount: fc.nat(2),
    tokens: mostly(fc.nat(30)),
    counter: mostly(fc.constantFrom("c1", "c1", "c1", "c2")),
    knowsTokens: fc.boolean(),
    discard: seldom(fc.constant(true)),
  })
  .map((options): StoreCommand => {
    return async (under) => {
      const view = viewAt(under, options.view);
      const { epoch, rev, next, base, tokens } = view ?? { epoch: "", rev: "", next: 3, base: 0, tokens: undefined };
      const { head, headCount, counter } = options;
      const start = placeIn({ base, next }, options.start);
      return under.store.commitReduction(
        { id: session },
        {
          ...{ epoch, rev, next, start, head, headCount, tokens: options.tokens, counter },
          ...(options.knowsTokens && { tokensRead: tokens }),
          ...(options.discard && { discard: true }),
        },
      );
    };
  });

const rewind = fc
  .record({
    view: age,
    start: fc.double({ min: 0.3, max: 1, noNaN: true }),
    forget: fc.oneof(fc.constant(ids), fc.subarray(ids)),
  })
  .map(({ view: viewAge, forget, start }): StoreCommand => {
    return async (under) => {
      const { epoch, rev, next, base } = viewAt(under, viewAge) ?? { epoch: "", rev: "", next: 3, base: 0 };
      const to = placeIn({ base, next }, start);
      return under.store.edits.rewind(
        { id: session },
        { epoch, rev, next, to, forget, turns: await losses(under, to) },
      );
    };
  });

const replaceTail = fc
  .record({
    view: age,
    start: fc.double({ min: 0.3, max: 1, noNaN: true }),
    records: fc.array(newRecord, { minLength: 1, maxLength: 3 }),
    turn: optional(
      fc.record({ name: fc.constantFrom(...turnNames), done: fc.boolean(), unaware: fc.constantFrom(false, true) }),
    ),
    viewLimit: optional(fc.record({ messages: optional(fc.nat(6)) })),
  })
  .map(({ view: viewAge, records, turn, viewLimit, start }): StoreCommand => {
    return async (under) => {
      const { epoch, rev, next, base } = viewAt(under, viewAge) ?? { epoch: "", rev: "", next: 3, base: 0 };
      const to = placeIn({ base, next }, start);
      return under.store.edits.replaceTail(
        { id: session },
        {
          records: records.map((item) => ofTurn(item, turn?.name)),
          ...(turn && { turn: await claimOf(under, turn) }),
          viewLimit,
          cut: { epoch, rev, next, to, forget: ids, turns: await losses(under, to) },
        },
      );
    };
  });

const writeSide = fc
  .record({
    changes: side,
    expected: optional(fc.dictionary(name, optional(fc.constantFrom("", "x")), { maxKeys: 2 })),
    ttlMs: optional(fc.constant(700_000)),
  })
  .map(
    ({ changes, expected, ttlMs }): StoreCommand =>
      ({ store }) =>
        store.data.writeSide({ id: session }, { ...changes, expected, ttlMs }),
  );

const others: fc.Arbitrary<StoreCommand> = fc.oneof(
  fc.integer({ min: 1, max: 4 }).map(
    (count): StoreCommand =>
      ({ store }) =>
        readLastRounds(store, { id: session }, count),
  ),
  fc.record({ from: optional(fc.nat(12)), limit: optional(fc.integer({ min: 1, max: 5 })) }).map(
    (page): StoreCommand =>
      ({ store }) =>
        readLog(store, { id: session }, page),
  ),
  fc.constantFrom(...turnNames).map((turn): StoreCommand => async ({ store }) => {
    const view = await store.readView({ id: session }, { turn, ids });
    return [await storedTurn(store, { id: session }, turn), view.turn, view.positions];
  }),
  fc.constantFrom("", "t:", "u:1").map(
    (prefix): StoreCommand =>
      ({ store }) =>
        store.data.readSide({ id: session }, prefix),
  ),
  fc.nat(9).map(
    (unreadable): StoreCommand =>
      ({ store }) =>
        store.edits.rebuild({ id: session }, (record, position) =>
          position === unreadable ? undefined : identify(record),
        ),
  ),
);

const clear: fc.Arbitrary<StoreCommand> = fc.constant(({ store }) => store.clear({ id: session }));

/** Random commands, weighted as a busy session would see them. */
export const storeCommand: fc.Arbitrary<StoreCommand> = fc.oneof(
  { weight: 10, arbitrary: append },
  { weight: 5, arbitrary: readView },
  { weight: 5, arbitrary: commit },
  { weight: 3, arbitrary: rewind },
  { weight: 3, arbitrary: replaceTail },
  { weight: 3, arbitrary: writeSide },
  { weight: 3, arbitrary: others },
  { weight: 1, arbitrary: clear },
);

/** What a command gave, with errors as plain data and random tokens by name. */
export async function outcome(command: StoreCommand, under: StoreUnderTest): Promise<unknown> {
  try {
    return named((await command(under)) ?? null, under);
  } catch (error) {
    const { name: errorName, code, option, messageId, message } = error as Record<string, unknown>;
    return { errorName, code, option, messageId, message };
  }
}

/** Everything that can be read, with random tokens by name. */
export async function everything(under: StoreUnderTest): Promise<unknown> {
  const { store } = under;
  const view = await store.readView({ id: session });
  under.views.push(view);
  const [log, rounds, side, page, around, stats, reductions] = await Promise.all([
    readLog(store, { id: session }),
    readLastRounds(store, { id: session }, 2),
    store.data.readSide({ id: session }, ""),
    store.data.readPage({ id: session }, { limit: 4, before: Math.max(0, view.next - 1) }),
    store.data.readPage({ id: session }, { limit: 3, around: "m4" }),
    store.data.readStats({ id: session }),
    reductionsOf(store, { id: session }),
  ]);
  const rest = { log, rounds, side, page, around, stats, reductions };
  return named({ view, ...rest }, under);
}

/** The place of a share of the log. */
function placeIn({ base, next }: { base: number; next: number }, share: number): number {
  return base + Math.round(share * (next - base));
}

// The newest views are the likeliest to be used, as in real life.
function viewAt({ views }: StoreUnderTest, age: number): SessionView | undefined {
  return views.at(-1 - age);
}

function named(value: unknown, { tokens }: StoreUnderTest): unknown {
  const rename = (key: string, token: unknown): unknown => {
    if (["time", "at", "createdAt", "updatedAt", "expiresAt"].includes(key)) {
      return typeof token;
    }
    if ((key !== "epoch" && key !== "rev") || token === "" || typeof token !== "string") {
      return token;
    }
    const known = tokens.get(token) ?? `token ${tokens.size + 1}`;
    tokens.set(token, known);
    return known;
  };
  return JSON.parse(JSON.stringify(value, rename));
}
