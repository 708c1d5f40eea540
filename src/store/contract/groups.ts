import { ConfigurationError } from "../../base/errors.js";
import { loadedOnce, promised } from "../../base/bounds.js";
import type { SessionRef } from "./session-ref.js";
import type { SessionStoreCore, SessionStoreGroups, SessionStore } from "./session-store.js";

/** The name of a group of methods of a store. */
export type StoreGroup = keyof SessionStoreGroups;

/** All methods of an interface: the compiler refuses a missing and a surplus name. */
const named =
  <T>() =>
  <const Names extends readonly (keyof T)[]>(...names: keyof T extends Names[number] ? Names : never) =>
    names as readonly string[];

const coreMethods = named<SessionStoreCore>()("append", "readView", "commitReduction", "clear");
const groupMethods: Readonly<Record<StoreGroup, readonly string[]>> = {
  edits: named<SessionStoreGroups["edits"]>()("rewind", "replaceTail", "rebuild", "readKey", "rewrapKey"),
  data: named<SessionStoreGroups["data"]>()(
    "readSide",
    "writeSide",
    "readPage",
    "readStats",
    "acquireHold",
    "renewHold",
    "releaseHold",
    "acquireLease",
    "releaseLease",
    "extendExpiry",
  ),
  lists: named<SessionStoreGroups["lists"]>()(
    "list",
    "count",
    "describe",
    "relabel",
    "erase",
    "eraseOwners",
    "scan",
    "reindex",
    "flush",
  ),
  copies: named<SessionStoreGroups["copies"]>()("read", "readMarks", "create", "replace"),
};
const storeGroups = Object.keys(groupMethods) as readonly StoreGroup[];

/** The methods of a group whose code is loaded with the first call of one. */
export function groupWhenUsed<G extends StoreGroup>(
  group: G,
  load: () => Promise<SessionStoreGroups[G]>,
): SessionStoreGroups[G] {
  return whenUsed(groupMethods[group], loadedOnce(load));
}

/** A store with the limits of `like` whose code is loaded with the first call of a method. */
export function storeWhenUsed(like: SessionStore, load: () => Promise<SessionStore>): SessionStore {
  const loaded = loadedOnce(load);
  const groups = groupsOf((group) =>
    whenUsed<object>(groupMethods[group], () => behind(loaded(), (all) => all[group])),
  );
  const core = whenUsed<SessionStoreCore>(coreMethods, loaded);
  return { ...core, ...groups, limits: like.limits, close: () => like.close() };
}

/** Each group, made by its name. */
function groupsOf(make: (group: StoreGroup) => object): SessionStoreGroups {
  return Object.fromEntries(storeGroups.map((group) => [group, make(group)])) as unknown as SessionStoreGroups;
}

type AnyMethods = Readonly<Record<string, (...args: unknown[]) => unknown>>;

function whenUsed<Methods extends object>(names: readonly string[], loaded: () => Methods | Promise<Methods>): Methods {
  const calls = names.map((method) => {
    const iterate = async function* (...args: unknown[]) {
      yield* ((await loaded()) as AnyMethods)[method]!(...args) as AsyncIterable<unknown>;
    };
    const call = (...args: unknown[]) =>
      promised(() => behind(loaded(), (all) => (all as AnyMethods)[method]!(...args)) as Promise<unknown>);
    return [method, method === "scan" ? iterate : call];
  });
  return Object.fromEntries(calls) as Methods;
}

/** The result of `then` for a value: at once, where the value is there. */
function behind<T, Result>(value: T | Promise<T>, then: (value: T) => Result | Promise<Result>) {
  return value instanceof Promise ? value.then(then) : then(value);
}

/** A call that concerns one session. */
interface StoreCall {
  readonly method: string;
  readonly session: SessionRef;
}

/** Wraps a call; `go` makes it, of the same session or as another caller. */
type Around = (call: StoreCall, go: (session?: SessionRef) => Promise<unknown>) => Promise<unknown>;

/** Wraps every call of a store that concerns one session. */
export function around(store: SessionStore, wrap: Around): SessionStore {
  const groups = groupsOf((group) => wrapped<object>(store[group], groupMethods[group], wrap));
  const core = wrapped<SessionStoreCore>(store, coreMethods, wrap);
  return { ...core, ...groups, limits: store.limits, close: () => store.close() };
}

/** Calls of one session begin with its reference. */
function wrapped<Methods extends object>(methods: Methods, names: readonly string[], wrap: Around): Methods {
  const target = methods as AnyMethods;
  const calls = names.map((method) => {
    const call = (...args: unknown[]) => target[method]!(...args) as Promise<unknown>;
    const wrappedCall = (...[first, ...rest]: unknown[]) =>
      isSession(first)
        ? wrap({ method, session: first }, (session = first) => call(session, ...rest))
        : call(first, ...rest);
    return [method, wrappedCall];
  });
  return Object.fromEntries(calls) as Methods;
}

function isSession(value: unknown): value is SessionRef {
  return typeof value === "object" && value !== null && "id" in value;
}

/** Rejects a value that is no store of this package, also of another copy of it. @throws ConfigurationError `store`. */
export function checkSessionStore(user: string, store: unknown): asserts store is SessionStore {
  const candidate = (typeof store === "object" ? (store ?? {}) : {}) as Partial<SessionStore>;
  const isOne = coreMethods.every((name) => typeof (candidate as AnyMethods)[name] === "function");
  if (!isOne || storeGroups.some((group) => candidate[group] === undefined)) {
    const message = `${user}: option "store" must be an InMemorySessionStore or a RedisSessionStore.`;
    throw new ConfigurationError("store", message);
  }
}
