import fc from "fast-check";
import { readLog } from "../../src/store/contract/session-data.js";
import type { SessionView } from "../../src/store/contract/session-reads.js";
import type { SessionHold, SessionLabel, SessionRef } from "../../src/store/contract/session-ref.js";
import type { SessionStore } from "../../src/store/contract/session-store.js";
import type { LessenedTurn, NewRecord } from "../../src/store/contract/session-writes.js";
import { forkOf, storedTurn } from "../../testing/session-store/store-case.js";
import { byId, listOf } from "./listed-sessions.js";
import { identify } from "./store-commands.js";

/** Stores on the same sessions, as several instances of an application have them, and what they were seen to answer. */
export interface Clients {
  readonly stores: readonly SessionStore[];
  /** Views of each session, as they were read or as they came back. */
  readonly views: Map<string, SessionView[]>;
  readonly fences: SessionHold[];
  /** The version of each session's label, as it was read last. */
  readonly labels: Map<string, string>;
  /** Random tokens by the order in which they were first seen, so that stores that do the same give the same names. */
  readonly tokens: Map<unknown, string>;
  /** False where the clock of the server is the machine's, so that times are not compared. */
  readonly clocksStand: boolean;
  /** Lets time pass, for the stores and for their clients. */
  pass(milliseconds: number): void;
  /** Called in front of an erasure of an owner; what it returns is called behind it. */
  readonly erases?: (owner: string) => Promise<() => Promise<void>>;
}

/** One command of one client. */
export type ClientCommand = (clients: Clients, store: SessionStore) => Promise<unknown>;

type Run<Options> = (clients: Clients, store: SessionStore, options: Options) => Promise<unknown>;

/** A command that a failing run shows by its name and options. */
function command<Options>(
  name: string,
  options: fc.Arbitrary<Options>,
  run: Run<Options>,
): fc.Arbitrary<ClientCommand> {
  return options.map((chosen) => {
    const own: ClientCommand = (clients, store) => run(clients, store, chosen);
    return Object.assign(own, { [fc.toStringMethod]: () => `${name} ${JSON.stringify(chosen)}` });
  });
}

export const sessions = ["s 1", "s:2", "s3", "é4"];

export const owners = ["ann", "bob"];

const messageIds = Array.from({ length: 10 }, (_, index) => `m${index + 1}`);

const seldom = <T>(value: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 6, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: value });

/** The first ones are the likeliest, so that clients meet. */
const session = fc.constantFrom("s 1", "s 1", "s 1", "s:2", "s:2", "s3", "é4");

const owner = fc.constantFrom("ann", "ann", "ann", "ann", "ann", "bob", undefined);

const newRecord: fc.Arbitrary<NewRecord> = fc
  .record({ id: fc.constantFrom(...messageIds), variant: fc.constantFrom(0, 0, 0, 0, 0, 0, 0, 1) })
  .map(({ id, variant }) => {
    const role = ["human", "ai"][Number(id.slice(1)) % 2]!;
    const record = `{"type":"${role}","data":{"id":"${id}","variant":${variant}}}`;
    return { ...identify(record), record, usage: { model: `model ${variant}`, input: 1, output: 2, total: 3 } };
  });

/** The values without those that are undefined. */
function given<T extends object>(values: T): { [Name in keyof T]?: Exclude<T[Name], undefined> } {
  const entries = Object.entries(values).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as { [Name in keyof T]?: Exclude<T[Name], undefined> };
}

/** The session as a caller touches it who may name an owner. */
function called(id: string, whose: string | undefined): SessionRef {
  return { id, ...given({ owner: whose }) };
}

/** Reads a session's view, and remembers it. */
async function look({ views }: Clients, store: SessionStore, id: string): Promise<SessionView> {
  const view = await store.readView({ id });
  views.set(id, [...(views.get(id) ?? []), view]);
  return view;
}

/** Reads a session's view, and gives the one that was read so many reads before. */
async function lookBack(
  clients: Clients,
  store: SessionStore,
  { session: id, age }: { readonly session: string; readonly age: number },
): Promise<SessionView> {
  const view = await look(clients, store, id);
  return clients.views.get(id)!.at(-1 - age) ?? view;
}

const ticket = fc.constantFrom("t1", "t2", "t3");

// Times that pass are multiples of ten seconds: none of their sums comes near one of these.
const ttlMs = fc.constantFrom(603_000, 63_000);

const holdMs = fc.constantFrom(23_000, 303_000);

const graceMs = 43_000;

/** How long an erased session refuses writes, in milliseconds. */
export const guardMs = 153_000;

const age = fc.constantFrom(0, 0, 0, 0, 1, 2);

const turnName = fc.constantFrom("turn-name-0001", "turn-name-0002");

const label: fc.Arbitrary<SessionLabel> = fc.record(
  { title: fc.constantFrom("t", "é"), metadata: fc.constantFrom('{"a":1}', "{}") },
  { requiredKeys: [] },
);

const append = command(
  "append",
  fc.record({
    session,
    owner,
    records: fc.array(newRecord, { maxLength: 4 }),
    label: seldom(label),
    ttlMs: seldom(ttlMs),
    /** How many turns ago the one began whose fence the write carries. */
    fence: seldom(fc.constantFrom(0, 0, 1)),
    turn: seldom(turnName),
    side: seldom(fc.constantFrom("x", "y")),
    onConflict: fc.constantFrom("keep" as const, "error" as const),
  }),
  async ({ fences }, store, { session: id, records, fence: back, turn, side, ...rest }) => {
    const stored = turn && ((await storedTurn(store, called(id, rest.owner), turn))?.count ?? 0);
    const ofTurn = (item: NewRecord) => ({ ...item, record: `${item.record.slice(0, -1)},"turn":"${turn}"}` });
    const hold = back === undefined ? undefined : fences.at(-1 - back);
    const caller = { ...called(id, rest.owner), ...given({ label: rest.label, hold }) };
    return store.append(caller, {
      records: turn === undefined ? records : records.map(ofTurn),
      onConflict: rest.onConflict,
      ...given({ ttlMs: rest.ttlMs }),
      ...(turn !== undefined && { turn: { name: turn, done: true, stored: Number(stored) } }),
      ...(side !== undefined && { side: { set: { field: side } } }),
    });
  },
);

const read = command("read", fc.record({ session, owner }), async (clients, store, { session: id, owner: caller }) => {
  const log = await readLog(store, called(id, caller));
  return [log, await look(clients, store, id)];
});

const commit = command(
  "commit",
  fc.record({
    session,
    age,
    start: fc.nat(9),
    head: fc.constantFrom("", "h"),
    discard: fc.boolean(),
  }),
  async (clients, store, options) => {
    const { epoch, rev, next, base } = await lookBack(clients, store, options);
    const { head, discard } = options;
    const start = Math.min(next, base + options.start);
    const request = { epoch, rev, next, start, head, headCount: head.length, discard };
    return store.commitReduction({ id: options.session }, request);
  },
);

const rewind = command(
  "rewind",
  fc.record({ session, age, owner, back: fc.integer({ min: 1, max: 4 }) }),
  async (clients, store, options) => {
    const { epoch, rev, next, base } = await lookBack(clients, store, options);
    const to = Math.max(base, next - options.back);
    const { records } = await readLog(store, { id: options.session }, { from: to });
    const cut = { epoch, rev, next, to, forget: messageIds, turns: turnsIn(records) };
    return store.edits.rewind(called(options.session, options.owner), cut);
  },
);

/** The turns of records that are removed, with their numbers. */
function turnsIn(records: readonly string[]): LessenedTurn[] {
  const names = records.flatMap((record) => identify(record).turn?.name ?? []);
  const removed = (name: string) => names.filter((other) => other === name).length;
  return [...new Set(names)].map((name) => ({ name, removed: removed(name) }));
}

/** As `history.replaceFrom` does it: one read of the end of the log, and one write. */
const replaceFrom = command(
  "replaceFrom",
  fc.record({
    session,
    owner,
    id: fc.constantFrom(...messageIds),
    records: fc.array(newRecord, { minLength: 1, maxLength: 3 }),
  }),
  async (_, store, { session: id, owner: caller, id: since, records }) => {
    const whose = called(id, caller);
    const page = await store.data.readPage(whose, { since, limit: 100 });
    if (page === undefined) {
      return "unknown";
    }
    const turns = turnsIn(page.records);
    const { epoch, rev, next, from: to } = page;
    const forget = page.records.map((record) => identify(record).id);
    return store.edits.replaceTail(whose, { records, cut: { epoch, rev, next, to, forget, turns } });
  },
);

const fork = command(
  "fork",
  fc.record({
    session,
    target: session,
    at: seldom(fc.nat(6)),
    ttlMs: seldom(ttlMs),
    owner: seldom(owner),
    title: seldom(fc.constant("copy")),
  }),
  (_, store, { session: id, target, owner: whose, title, ...rest }) =>
    forkOf(
      store,
      { id },
      { ...called(target, whose), ...(title !== undefined && { label: { title } }) },
      {
        ...given({ at: rest.at, ttlMs: rest.ttlMs }),
        identifyHead: () => ["m1"],
        copyRecord: (record) => ({ record, identity: identify(record) }),
      },
    ),
);

const turns = fc.oneof(
  command("enter", fc.record({ session, ticket, holdMs, ttlMs: seldom(ttlMs) }), async ({ fences }, store, options) => {
    const { session: id, ticket: own, holdMs: hold } = options;
    const entry = { ticket: own, holdMs: hold, graceMs, ...given({ ttlMs: options.ttlMs }) };
    const place = await store.data.acquireHold({ id }, entry);
    if (place.isHeld) {
      fences.push(place.hold);
    }
    return place;
  }),
  command("renew", fc.record({ session, ticket, holdMs }), (_, store, { session: id, ...turn }) =>
    store.data.renewHold({ id }, turn),
  ),
  command("leave", fc.record({ session, ticket }), (_, store, options) =>
    store.data.releaseHold({ id: options.session }, options.ticket),
  ),
  command("restart", fc.record({ session, back: fc.constantFrom(0, 0, 1) }), async ({ fences }, store, options) => {
    const hold = fences.at(-1 - options.back);
    return hold && { epoch: await store.clear({ id: options.session, hold }) };
  }),
);

const listed = fc.record({ owner: fc.constantFrom(...owners), limit: fc.integer({ min: 1, max: 3 }) });

const lists = fc.oneof(
  command("list", listed, async (_, store, { owner: whose, limit }) => byId(await listOf(store, whose, limit))),
  command("relabel", fc.record({ session, owner, label }), async ({ labels }, store, options) => {
    const { session: id, owner: caller } = options;
    const whose = called(id, caller);
    const version = (await store.lists.describe(whose))?.labelVersion ?? "";
    const known = labels.get(id) ?? version;
    labels.set(id, version);
    return store.lists.relabel(whose, { label: options.label, version: known });
  }),
  command("scan", fc.constantFrom(...owners), async (_, store, whose) => {
    const found: string[] = [];
    for await (const id of store.lists.scan({ owner: whose })) {
      found.push(id);
    }
    return found.sort();
  }),
  command("reindex", fc.constant(undefined), (_, store) => store.lists.reindex()),
);

const ends = fc.oneof(
  command("clear", fc.record({ session, owner }), (_, store, options) =>
    store.clear(called(options.session, options.owner)),
  ),
  command("erase", fc.record({ session, owner }), (_, store, options) =>
    store.lists.erase(called(options.session, options.owner), { guardMs }),
  ),
  command("eraseOwners", fc.constantFrom(...owners), async ({ erases }, store, whose) => {
    const erased = await erases?.(whose);
    const count = await store.lists.eraseOwners({ owners: [whose], unlisted: true, guardMs });
    await erased?.();
    return count;
  }),
);

const rebuild = command("rebuild", session, async (clients, store, id) => {
  // By the read the client knows the owner, whose list follows.
  await look(clients, store, id);
  return store.edits.rebuild({ id }, identify);
});

const pass = command("pass", fc.constantFrom(10_000, 30_000, 100_000, 400_000), async (clients, _, milliseconds) =>
  clients.pass(milliseconds),
);

/** Random commands of several clients; without `timePasses` no time does. */
export function clientCommand(timePasses: boolean): fc.Arbitrary<ClientCommand> {
  return fc.oneof(
    { weight: 14, arbitrary: append },
    { weight: 5, arbitrary: turns },
    { weight: 4, arbitrary: fork },
    { weight: 4, arbitrary: lists },
    { weight: 3, arbitrary: read },
    { weight: 3, arbitrary: commit },
    { weight: 2, arbitrary: rewind },
    { weight: 3, arbitrary: replaceFrom },
    { weight: 2, arbitrary: ends },
    { weight: 1, arbitrary: rebuild },
    { weight: timePasses ? 3 : 0, arbitrary: pass },
  );
}

/** What a command gave, with errors as plain data and random tokens by name; lists show what it wrote. */
export async function outcomeOf(clients: Clients, instance: number, command: ClientCommand): Promise<unknown> {
  const store = clients.stores[instance]!;
  try {
    return named((await command(clients, store)) ?? null, clients);
  } catch (error) {
    const { name, code, option, messageId, next } = error as Record<string, unknown>;
    return { error: name, code, option, messageId, next, ...(code === undefined && { thrown: String(error) }) };
  } finally {
    await store.lists.flush();
  }
}

/** All that one client sees of all sessions and lists. */
export async function observed(clients: Clients, instance: number): Promise<unknown> {
  const store = clients.stores[instance]!;
  const [found, lists] = await Promise.all([
    Promise.all(
      sessions.map(async (id) => [
        await store.readView({ id }, { ids: ["m1", "m2"], turn: "turn-name-0001" }),
        await store.lists.describe({ id }),
      ]),
    ),
    Promise.all(owners.map(async (owner) => byId(await listOf(store, owner, 10)))),
  ]);
  return named({ found, lists }, clients);
}

const tokens: ReadonlySet<string> = new Set(["epoch", "rev", "labelVersion", "token"]);

const moments: ReadonlySet<string> = new Set(["time", "createdAt", "updatedAt"]);

function named(value: unknown, clients: Clients): unknown {
  const rename = (key: string, token: unknown): unknown => {
    if (key === "expiresAt") {
      return !clients.clocksStand ? typeof token : `in ${Math.round((Number(token) - Date.now()) / 10_000)}0 s`;
    }
    if (moments.has(key)) {
      return typeof token;
    }
    if (!tokens.has(key) || token === "") {
      return token;
    }
    const known = clients.tokens.get(token) ?? `token ${clients.tokens.size + 1}`;
    clients.tokens.set(token, known);
    return known;
  };
  return JSON.parse(JSON.stringify(value, rename));
}
