import { readLog } from "../../src/store/contract/session-data.js";
import { strict as assert } from "node:assert";
import { randomUUID } from "node:crypto";
import type { SessionView } from "../../src/store/contract/session-reads.js";
import type { SessionRef } from "../../src/store/contract/session-ref.js";
import type { SessionStore } from "../../src/store/contract/session-store.js";
import { replacing, unreadState } from "./replaced-session.js";
import { asRead, code, everything, record, records, type StoreCase, type StoreContext } from "./store-case.js";

/** Why a session refuses a call, in the order in which every store checks it. */
const order = ["erased", "owner", "damaged", "key", "epoch", "fence", "stale"] as const;
type Reason = (typeof order)[number];

/** A refusal as its caller sees it: the code of an error, or the answer `stale`. */
const shown: Readonly<Record<Reason, string>> = {
  erased: "erased",
  owner: "other_owner",
  damaged: "damaged",
  key: "unknown_key",
  epoch: "epoch",
  fence: "fenced",
  stale: "stale",
};

interface Call {
  readonly store: SessionStore;
  /** The session as this caller may touch it. */
  readonly session: SessionRef;
  /** The expected values of a compare-and-set; of another moment if that is a reason to refuse it. */
  readonly read: Pick<SessionView, "epoch" | "rev" | "next">;
  /** The version of the label. */
  readonly version: string;
}

/** A method that concerns one session, and the reasons for which it can be refused. */
export interface GatedMethod {
  readonly name: string;
  readonly reasons: readonly Reason[];
  call(call: Call): Promise<unknown>;
}

const writes = ["erased", "owner", "damaged", "key", "epoch", "fence"] as const;
const turn = "turn-name-0001";

/** Every method that writes a session. */
const writers: readonly GatedMethod[] = [
  {
    name: "append",
    reasons: writes,
    call: ({ store, session }) => store.append(session, { records: [record("n")] }),
  },
  {
    name: "edits.replaceTail",
    reasons: order,
    call: ({ store, session, read }) =>
      store.edits.replaceTail(session, { records: [record("n")], cut: { ...read, to: 1, forget: ["a2"] } }),
  },
  {
    name: "commitReduction",
    reasons: order,
    call: ({ store, session, read }) => store.commitReduction(session, { ...read, start: 1, head: "", headCount: 0 }),
  },
  {
    name: "edits.rewind",
    reasons: order,
    call: ({ store, session, read }) => store.edits.rewind(session, { ...read, to: 1, forget: ["a2"] }),
  },
  {
    name: "data.writeSide",
    reasons: writes,
    call: ({ store, session }) => store.data.writeSide(session, { set: { field: "2" } }),
  },
  {
    name: "data.acquireHold",
    reasons: ["erased", "owner"],
    call: ({ store, session }) => store.data.acquireHold(session, { ticket: "late", holdMs: 60_000, graceMs: 60_000 }),
  },
  {
    name: "clear",
    reasons: ["erased", "owner", "epoch", "fence"],
    call: ({ store, session }) => store.clear(session),
  },
  {
    name: "lists.relabel",
    reasons: ["erased", "owner", "key", "stale"],
    call: ({ store, session, version }) => store.lists.relabel(session, { label: { title: "t" }, version }),
  },
  {
    name: "edits.rebuild",
    reasons: ["erased", "owner", "key"],
    call: ({ store, session }) => store.edits.rebuild(session, () => undefined),
  },
  {
    name: "lists.erase",
    reasons: ["owner"],
    call: ({ store, session }) => store.lists.erase(session, { guardMs: 60_000 }),
  },
  {
    name: "data.extendExpiry",
    reasons: ["owner"],
    call: ({ store, session }) => store.data.extendExpiry(session, 60_000),
  },
  {
    name: "edits.rewrapKey",
    reasons: ["owner"],
    call: ({ store, session }) => {
      const none = { key: "", dek: "" };
      return store.edits.rewrapKey(session, { was: none, now: none });
    },
  },
  {
    name: "copies.replace",
    reasons: ["erased", "owner", "damaged", "key"],
    call: async ({ store, session }) => {
      const anybody = { id: session.id, keys };
      const was = await store.copies.read(anybody);
      const { records: texts } = await readLog(store, anybody);
      const copied = texts.map((text, index) => ({ ...record(`a${index + 1}`), record: text }));
      const request = { records: copied, key: { ...keys.made, key: "BBBBBBBB k1" }, tag: randomUUID() };
      return store.copies.replace(session, replacing(was ?? unreadState, request));
    },
  },
];

/** Every method that reads texts of a session. */
const readers: readonly GatedMethod[] = (
  [
    ["readView", ({ store, session }) => store.readView(session)],
    ["data.readSide", ({ store, session }) => store.data.readSide(session, "")],
    ["data.readPage", ({ store, session }) => store.data.readPage(session, { limit: 1 })],
    ["copies.read", ({ store, session }) => store.copies.read(session)],
  ] as const satisfies readonly (readonly [string, GatedMethod["call"]])[]
).map(([name, call]) => ({ name, call, reasons: ["owner", "key"] as const }));

/** Every method that reads anything else of a session. */
const lookers: readonly GatedMethod[] = (
  [
    ["data.readStats", ({ store, session }) => store.data.readStats(session)],
    ["edits.readKey", ({ store, session }) => store.edits.readKey(session)],
    ["lists.describe", ({ store, session }) => store.lists.describe(session)],
    ["copies.readMarks", ({ store, session }) => store.copies.readMarks(session, { turns: [turn] })],
  ] as const satisfies readonly (readonly [string, GatedMethod["call"]])[]
).map(([name, call]) => ({ name, call, reasons: ["owner"] as const }));

/** Every method that asks who calls. */
export const gatedMethods: readonly GatedMethod[] = [...writers, ...readers, ...lookers];

const keys = { name: "AAAAAAAA", made: { key: "AAAAAAAA k1", dek: "wrapped" } };

/** For each method and each combination of its reasons: the first reason that applies decides the refusal. */
export const refusalCases: readonly StoreCase[] = gatedMethods.map((method) => ({
  title: `a refused ${method.name} gives the first reason of: ${order.join(", ")}`,
  check: (context) => checkMethod(context, method),
}));

async function checkMethod(context: StoreContext, method: GatedMethod): Promise<void> {
  const { damage } = context;
  const bringsKeys = await hasKeysOfItsOwn(context);
  const states = ["sound", "erased", ...(damage === undefined ? [] : ["damaged"])] as const;
  for (const state of states) {
    const id = `${context.session.id}-${state}`;
    const view = await written(context, id);
    const token = await heldTwice(context, id);
    const version = (await context.store.lists.describe({ id }))?.labelVersion ?? "";
    if (state === "erased") {
      await context.store.lists.erase({ id }, { guardMs: 600_000 });
    }
    await (state === "damaged" ? damage?.(id) : undefined);
    const own = { ...context, session: { id } };
    const before = await everything(own);
    // Together, because all of them are refused.
    const refused = combinationsFor(method, bringsKeys).map(async (reasons) => {
      const all = new Set<Reason>(state === "sound" ? reasons : [state as Reason, ...reasons]);
      // Nothing is left of an erased session that could tell who its owner was, or which keys it needed.
      const applying = order.filter((reason) => all.has(reason) && method.reasons.includes(reason));
      const isKnown = state !== "erased" || method.reasons.includes("erased");
      if (applying.length > 0 && isKnown) {
        const session = callerOf(id, { all, view, token });
        const read = all.has("stale") ? { ...asRead(view), rev: "another" } : asRead(view);
        const call = { store: context.store, session, read, version: all.has("stale") ? "another" : version };
        await assertRefused(method.call(call), `${method.name}, ${[...all].join(" and ")}`, shown[applying[0]!]);
      }
    });
    await Promise.all(refused);
    assert.deepEqual(await everything(own), before);
    // A store that brings keys may take the caller's own, too, which the session does not know.
    if (state === "sound" && !(bringsKeys && method.reasons.includes("key"))) {
      const all = new Set<Reason>(callerReasons.filter((reason) => !method.reasons.includes(reason)));
      const session = callerOf(id, { all, view, token });
      await assertPasses(method.call({ store: context.store, session, read: asRead(view), version }), method.name);
    }
  }
}

/** Reasons that lie in how the caller names the session. */
const callerReasons = ["owner", "key", "epoch", "fence", "stale"] as const;

/** Every combination of the reasons that the method looks at, with none of the others and with all of them. */
function combinationsFor(method: GatedMethod, bringsKeys: boolean): Reason[][] {
  const possible = callerReasons.filter((reason) => !(bringsKeys && reason === "key"));
  const others = possible.filter((reason) => !method.reasons.includes(reason));
  const own = subsets<Reason>(possible.filter((reason) => method.reasons.includes(reason)));
  return others.length === 0 ? own : own.flatMap((reasons) => [reasons, [...reasons, ...others]]);
}

function callerOf(
  id: string,
  { all, view, token }: { readonly all: ReadonlySet<Reason>; readonly view: SessionView; readonly token: number },
): SessionRef {
  const hold = { epoch: all.has("epoch") ? "another" : view.epoch, token: all.has("fence") ? token - 1 : token };
  return { id, owner: all.has("owner") ? "bob" : "ann", hold, ...(!all.has("key") && { keys }) };
}

async function written({ store }: StoreContext, id: string): Promise<SessionView> {
  await store.append({ id, owner: "ann", keys }, { records: records("a", 3) });
  return store.readView({ id, keys: {} });
}

/** The fence of the second hold of a session. */
async function heldTwice({ store }: StoreContext, id: string): Promise<number> {
  for (const ticket of ["first", "second"]) {
    const place = await store.data.acquireHold({ id }, { ticket, holdMs: 60_000, graceMs: 60_000 });
    await store.data.releaseHold({ id }, ticket);
    if (ticket === "second" && place.isHeld) {
      return place.hold.token;
    }
  }
  throw new Error("A session that nobody holds was not given.");
}

/** True for a store that gives every caller the keys of its own, as one that encrypts does. */
async function hasKeysOfItsOwn(context: StoreContext): Promise<boolean> {
  const id = `${context.session.id}-probe`;
  await written(context, id);
  const appended = context.store.append({ id }, { records: [record("n")] });
  return appended.then(
    () => true,
    (error: unknown) => !code("unknown_key")(error),
  );
}

async function assertRefused(call: Promise<unknown>, title: string, expected: string): Promise<void> {
  const outcome = await call.then(
    (result) => result,
    (error: { readonly code?: unknown }) => error.code ?? error,
  );
  assert.equal(outcome, expected, title);
}

/** The call is not refused for what its method does not look at. */
async function assertPasses(call: Promise<unknown>, title: string): Promise<void> {
  const outcome = await call.then(
    () => "passed",
    (error: { readonly code?: unknown }) => error.code ?? error,
  );
  assert.ok(!Object.values<unknown>(shown).includes(outcome), `${title} is refused as ${String(outcome)}`);
}

function subsets<T>(list: readonly T[]): T[][] {
  return list.reduce<T[][]>((found, item) => [...found, ...found.map((set) => [...set, item])], [[]]);
}
