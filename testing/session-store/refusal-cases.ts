import { strict as assert } from "node:assert";
import type { StoreCapability } from "../../src/store/capabilities.js";
import type { SessionView } from "../../src/store/session-reads.js";
import type { SessionRef } from "../../src/store/session-ref.js";
import type { CompleteSessionStore } from "../../src/store/session-store.js";
import { asRead, code, everything, record, records, type StoreCase, type StoreContext } from "./store-case.js";

/** Why a session refuses a call, in the order in which every store checks it. */
const order = ["erased", "owner", "damaged", "key", "epoch", "fence", "stale"] as const;
type Reason = (typeof order)[number];

/** What a refusal is to its caller: the code of an error, or the answer `stale`. */
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
  readonly store: CompleteSessionStore;
  /** The session as this caller may touch it. */
  readonly session: SessionRef;
  /** What a compare-and-set names; of another moment where that is a reason to refuse it. */
  readonly read: Pick<SessionView, "epoch" | "rev" | "next">;
  /** The version of the label. */
  readonly version: string;
}

/** A method that concerns one session, and the reasons for which it can be refused. */
export interface GatedMethod {
  readonly name: string;
  readonly needs: readonly StoreCapability[];
  readonly reasons: readonly Reason[];
  call(call: Call): Promise<unknown>;
}

const writes = ["erased", "owner", "damaged", "key", "epoch", "fence"] as const;
const turn = "turn-name-0001";

/** Every method that writes a session. */
const writers: readonly GatedMethod[] = [
  {
    name: "append",
    needs: [],
    reasons: writes,
    call: ({ store, session }) => store.append(session, { records: [record("n")] }),
  },
  {
    name: "replaceTail",
    needs: ["replaceTail"],
    reasons: order,
    call: ({ store, session, read }) =>
      store.replaceTail(session, { records: [record("n")], cut: { ...read, to: 1, forget: ["a2"] } }),
  },
  {
    name: "commitReduction",
    needs: [],
    reasons: order,
    call: ({ store, session, read }) => store.commitReduction(session, { ...read, start: 1, head: "", headCount: 0 }),
  },
  {
    name: "rewind",
    needs: ["rewind"],
    reasons: order,
    call: ({ store, session, read }) => store.rewind(session, { ...read, to: 1, forget: ["a2"] }),
  },
  {
    name: "writeSide",
    needs: ["sideData"],
    reasons: writes,
    call: ({ store, session }) => store.writeSide(session, { set: { field: "2" } }),
  },
  {
    name: "turnQueue.enter",
    needs: ["turnQueue"],
    reasons: ["erased", "owner"],
    call: ({ store, session }) => store.turnQueue.enter(session, { ticket: "late", holdMs: 60_000, graceMs: 60_000 }),
  },
  {
    name: "turnQueue.restart",
    needs: ["turnQueue"],
    reasons: ["erased", "owner", "epoch", "fence"],
    call: ({ store, session }) => store.turnQueue.restart(session),
  },
  {
    name: "index.relabel",
    needs: ["index"],
    reasons: ["erased", "owner", "stale"],
    call: ({ store, session, version }) => store.index.relabel(session, { label: { title: "t" }, version }),
  },
  {
    name: "rebuild",
    needs: ["rebuild"],
    reasons: ["erased", "owner"],
    call: ({ store, session }) => store.rebuild(session, () => undefined),
  },
  { name: "clear", needs: [], reasons: ["owner"], call: ({ store, session }) => store.clear(session) },
  {
    name: "index.erase",
    needs: ["index"],
    reasons: ["owner"],
    call: ({ store, session }) => store.index.erase(session, { guardMs: 60_000 }),
  },
  {
    name: "extendExpiry",
    needs: ["expiry"],
    reasons: ["owner"],
    call: ({ store, session }) => store.extendExpiry(session, 60_000),
  },
  {
    name: "recordSwaps.begin",
    needs: ["recordSwaps"],
    reasons: ["owner", "damaged", "key"],
    call: ({ store, session }) => store.recordSwaps.begin(session),
  },
  {
    name: "recordSwaps.swap",
    needs: ["recordSwaps"],
    reasons: ["owner"],
    call: ({ store, session, read }) => store.recordSwaps.swap(session, { epoch: read.epoch, records: [] }),
  },
  {
    name: "recordSwaps.finish",
    needs: ["recordSwaps"],
    reasons: ["owner"],
    call: ({ store, session, read: { epoch } }) =>
      store.recordSwaps.finish(session, { epoch, mark: "k1.AAAAAAAA", fields: {} }, "k1.AAAAAAAA"),
  },
];

/** Every method that reads a session. */
const readers: readonly GatedMethod[] = (
  [
    ["readView", [], ({ store, session }) => store.readView(session)],
    ["readLog", [], ({ store, session }) => store.readLog(session)],
    ["readTurn", ["turns"], ({ store, session }) => store.readTurn(session, turn)],
    ["readRounds", ["rounds"], ({ store, session }) => store.readRounds(session, 1)],
    ["readSide", ["sideData"], ({ store, session }) => store.readSide(session, "")],
    ["pages.readPage", ["pages"], ({ store, session }) => store.pages.readPage(session, { limit: 1 })],
    ["pages.readStats", ["pages"], ({ store, session }) => store.pages.readStats(session)],
    ["pages.readReductions", ["pages"], ({ store, session }) => store.pages.readReductions(session)],
    ["index.describe", ["index"], ({ store, session }) => store.index.describe(session)],
    ["transfers.readState", ["transfers"], ({ store, session }) => store.transfers.readState(session)],
    ["transfers.readTurns", ["transfers"], ({ store, session }) => store.transfers.readTurns(session, [turn])],
  ] as const satisfies readonly (readonly [string, readonly StoreCapability[], GatedMethod["call"]])[]
).map(([name, needs, call]) => ({ name, needs, call, reasons: ["owner"] as const }));

/** Every method that asks who calls. */
export const gatedMethods: readonly GatedMethod[] = [...writers, ...readers];

const key = "k1.AAAAAAAA";
const keys = { current: key, known: [key] };

/** Of each method, whatever closes the session: the refusal that comes is the first of all that apply. */
export const refusalCases: readonly StoreCase[] = gatedMethods.map((method) => ({
  title: `a refused ${method.name} gives the first reason of: ${order.join(", ")}`,
  needs: ["index", "turnQueue", ...method.needs],
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
    const version = (await context.store.index.describe({ id }))?.labelVersion ?? "";
    if (state === "erased") {
      await context.store.index.erase({ id }, { guardMs: 600_000 });
    }
    await (state === "damaged" ? damage?.(id) : undefined);
    const own = { ...context, session: { id } };
    const before = await everything(own);
    for (const reasons of subsets(callerReasons.filter((reason) => !(bringsKeys && reason === "key")))) {
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
    }
    assert.deepEqual(await everything(own), before);
  }
}

/** Reasons that lie in how the caller names the session. */
const callerReasons = ["owner", "key", "epoch", "fence", "stale"] as const;

function callerOf(
  id: string,
  { all, view, token }: { readonly all: ReadonlySet<Reason>; readonly view: SessionView; readonly token: number },
): SessionRef {
  const hold = { epoch: all.has("epoch") ? "another" : view.epoch, token: all.has("fence") ? token - 1 : token };
  return { id, owner: all.has("owner") ? "bob" : "ann", hold, ...(!all.has("key") && { keys }) };
}

async function written({ store }: StoreContext, id: string): Promise<SessionView> {
  await store.append({ id, owner: "ann", keys }, { records: records("a", 3) });
  return store.readView({ id });
}

/** The fence of the second hold of a session. */
async function heldTwice({ store }: StoreContext, id: string): Promise<number> {
  for (const ticket of ["first", "second"]) {
    const place = await store.turnQueue.enter({ id }, { ticket, holdMs: 60_000, graceMs: 60_000 });
    await store.turnQueue.leave({ id }, ticket);
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

function subsets<T>(list: readonly T[]): T[][] {
  return list.reduce<T[][]>((found, item) => [...found, ...found.map((set) => [...set, item])], [[]]);
}
