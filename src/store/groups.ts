import { ConfigurationError } from "../base/errors.js";
import { loadedOnce } from "../base/loaded-once.js";
import type { SessionRef } from "./session-ref.js";
import type { SessionStore, SessionStoreCore, SessionStoreGroups } from "./session-store.js";

/**
 * The name of an optional group of methods of a store.
 * @example
 * import { InMemorySessionStore, type StoreGroup } from "langchain-redis-memory/store";
 *
 * const store = new InMemorySessionStore();
 * const groups: readonly StoreGroup[] = ["edits", "beside", "lists", "copies"];
 * console.log(groups.every((group) => store[group] !== undefined)); // true
 */
export type StoreGroup = keyof SessionStoreGroups;

/** A store that has a group. */
export type StoreWith<G extends StoreGroup> = SessionStore & Pick<SessionStoreGroups, G>;

/** The methods of an interface; true for those whose first argument is a session. `iterates`: returns no promise. */
type MethodsOf<T> = Readonly<Record<keyof T, boolean | "iterates">>;

/** Every method of the core. The compiler refuses a missing and a surplus name, here and below. */
const coreMethods: MethodsOf<SessionStoreCore> = {
  append: true,
  readView: true,
  readLog: true,
  commitReduction: true,
  clear: true,
};

const groupMethods: { readonly [G in StoreGroup]: MethodsOf<SessionStoreGroups[G]> } = {
  edits: {
    rewind: true,
    replaceTail: true,
    rebuild: true,
    beginSwaps: true,
    swapRecords: true,
    finishSwaps: true,
  },
  beside: {
    readSide: true,
    writeSide: true,
    readTurn: true,
    readRounds: true,
    readPage: true,
    readStats: true,
    readReductions: true,
    takeHold: true,
    renewHold: true,
    giveBackHold: true,
    restart: true,
    acquireLease: true,
    releaseLease: true,
    extendExpiry: true,
  },
  lists: {
    list: false,
    count: false,
    describe: true,
    relabel: true,
    erase: true,
    eraseOwner: false,
    scan: "iterates",
    reindex: false,
    flush: false,
  },
  copies: { read: true, readMarks: true, create: true },
};

/** Every group. */
export const storeGroups = Object.keys(groupMethods) as readonly StoreGroup[];

/**
 * Returns the store, typed as one with the group.
 *
 * @throws ConfigurationError `store`; `user` names the feature that needs the group.
 */
export function requireGroup<G extends StoreGroup>(user: string, store: SessionStore, group: G): StoreWith<G> {
  if (store[group] === undefined) {
    throw new ConfigurationError("store", `${user} needs a store with "${group}"; the store in use has none.`);
  }
  return store as StoreWith<G>;
}

/** The methods of a group, bound to their object, for a wrapper that passes them on unchanged. */
export function passedOn<G extends StoreGroup>(group: G, methods: SessionStoreGroups[G]): SessionStoreGroups[G] {
  return wrapped(methods, groupMethods[group], (_, go) => go());
}

/** The methods of a group whose code is loaded with the first call of one. */
export function groupWhenUsed<G extends StoreGroup>(
  group: G,
  load: () => Promise<SessionStoreGroups[G]>,
): SessionStoreGroups[G] {
  return whenUsed(groupMethods[group], loadedOnce(load));
}

/** A store with the groups of `like` whose code is loaded with the first call of a method. */
export function storeWhenUsed<Store extends SessionStore>(like: Store, load: () => Promise<Store>): Store {
  const given: SessionStore = like;
  const loaded = loadedOnce<SessionStore>(load);
  const groups = groupsOf(given, (_, group) => {
    return whenUsed<object>(groupMethods[group], async () => (await loaded())[group]!);
  });
  const store: SessionStore = {
    ...whenUsed<SessionStoreCore>(coreMethods, loaded),
    ...groups,
    ...(given.limits && { limits: given.limits }),
    ...(given.close && { close: () => given.close!() }),
  };
  return store as Store;
}

/** Each group that a store has, made of its methods. */
function groupsOf(store: SessionStore, make: (methods: object, group: StoreGroup) => object): object {
  const present = storeGroups.filter((group) => store[group] !== undefined);
  return Object.fromEntries(present.map((group) => [group, make(store[group]!, group)]));
}

type AnyMethods = Readonly<Record<string, (...args: unknown[]) => unknown>>;

function whenUsed<Methods extends object>(
  names: MethodsOf<Methods>,
  loaded: () => Methods | Promise<Methods>,
): Methods {
  const methods = async () => (await loaded()) as AnyMethods;
  const calls = Object.entries(names).map(([method, kind]) => {
    const iterate = async function* (...args: unknown[]) {
      yield* (await methods())[method]!(...args) as AsyncIterable<unknown>;
    };
    const call = async (...args: unknown[]) => (await methods())[method]!(...args);
    return [method, kind === "iterates" ? iterate : call];
  });
  return Object.fromEntries(calls) as Methods;
}

/** A call that concerns one session. */
export interface StoreCall {
  /** The method's name, such as `readView` or `readSide`. */
  readonly method: string;
  readonly session: SessionRef;
}

/** Wraps a call; `go` makes it. */
export type Around = (call: StoreCall, go: () => Promise<unknown>) => Promise<unknown>;

/** Wraps every call of a store that concerns one session. */
export function around<Store extends SessionStore>(store: Store, wrap: Around): Store {
  const given: SessionStore = store;
  return {
    ...store,
    ...wrapped<SessionStoreCore>(store, coreMethods, wrap),
    ...groupsOf(given, (methods, group) => wrapped(methods, groupMethods[group], wrap)),
    ...(given.limits && { limits: given.limits }),
    ...(given.close && { close: () => given.close!() }),
  };
}

function wrapped<Methods extends object>(methods: Methods, names: MethodsOf<Methods>, wrap: Around): Methods {
  const target = methods as AnyMethods;
  const calls = Object.entries(names).map(([method, isOfSession]) => {
    const call = (...args: unknown[]) => target[method]!(...args) as Promise<unknown>;
    const around = (...args: unknown[]) => wrap({ method, session: args[0] as SessionRef }, () => call(...args));
    return [method, isOfSession === true ? around : call];
  });
  return Object.fromEntries(calls) as Methods;
}

/**
 * Rejects a value that lacks a method of the core, or has only a part of a group.
 *
 * @throws ConfigurationError `store`, with the method's name; `user` is what the user constructs.
 */
export function checkSessionStore(user: string, store: unknown): asserts store is SessionStore {
  const refuse = (reason: string) => new ConfigurationError("store", `${user}: ${reason}`);
  if (!isObject(store)) {
    throw refuse(`option "store" must be a SessionStore; got ${received(store)}.`);
  }
  const lacking = missingMethod(store, coreMethods);
  if (lacking !== undefined) {
    throw refuse(`the store has no method "${lacking}"; a SessionStore needs ${quoted(Object.keys(coreMethods))}.`);
  }
  for (const group of storeGroups) {
    const methods = store[group];
    if (methods !== undefined && !isObject(methods)) {
      throw refuse(`the store's "${group}" must be an object with methods; got ${received(methods)}.`);
    }
    const missing = methods && missingMethod(methods, groupMethods[group]);
    if (missing !== undefined) {
      throw refuse(`the store's "${group}" has no method "${missing}"; give it all methods of the group, or no group.`);
    }
  }
}

function missingMethod(methods: Readonly<Record<string, unknown>>, names: object): string | undefined {
  return Object.keys(names).find((name) => typeof methods[name] !== "function");
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

function received(value: unknown): string {
  return value === null ? "null" : `a ${typeof value}`;
}

function quoted(names: readonly string[]): string {
  const list = names.map((name) => `"${name}"`);
  return `${list.slice(0, -1).join(", ")} and ${list.at(-1)!}`;
}
