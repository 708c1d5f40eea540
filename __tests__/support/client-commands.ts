import { readLog } from "../../src/store/contract/copies.js";
import fc from "fast-check";
import type { SessionLabel } from "../../src/store/contract/session-ref.js";
import { byId, listOf } from "./listed-sessions.js";
import type { NewRecord, LessenedTurn } from "../../src/store/contract/session-writes.js";
import {
  called,
  command,
  given,
  look,
  lookBack,
  messageIds,
  newRecord,
  owner,
  owners,
  seldom,
  session,
  type ClientCommand,
} from "./client-command.js";
import { storedTurn, forkOf } from "../../testing/session-store/store-case.js";
import { identify } from "./store-commands.js";

const ticket = fc.constantFrom("t1", "t2", "t3");
// Times that pass are multiples of ten seconds: none of their sums comes near one of these.
const ttlMs = fc.constantFrom(603_000, 63_000);
const holdMs = fc.constantFrom(23_000, 303_000);
const [graceMs, guardMs] = [43_000, 153_000];
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
  command("eraseOwners", fc.constantFrom(...owners), (_, store, whose) =>
    store.lists.eraseOwners({ owners: [whose], unlisted: true, guardMs }),
  ),
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
