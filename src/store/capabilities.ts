import { ConfigurationError } from "../base/errors.js";
import type { CompleteSessionStore, SessionStore, SessionStoreCore } from "./session-store.js";

/** Every method of the core. The compiler refuses a missing and a surplus name. */
const coreMethods = {
  append: true,
  readView: true,
  readLog: true,
  commitReduction: true,
  clear: true,
} as const satisfies Record<keyof SessionStoreCore, true>;

/** What a store may be able to do beyond the core, and the members for it: methods, or objects of their own. */
export interface CapabilityMethods {
  /** The last rounds in one read. */
  readonly rounds: "readRounds";
  /** Removing records from the end. */
  readonly rewind: "rewind";
  /** Replacing the end of the log in one step. */
  readonly replaceTail: "replaceTail";
  /** Remembering which turns are stored. */
  readonly turns: "readTurn";
  /** Mending a damaged session from its log. */
  readonly rebuild: "rebuild";
  /** Fields beside the log. */
  readonly sideData: "readSide" | "writeSide";
  /** A lease for work that only one process should pay for. */
  readonly leases: "acquireLease" | "releaseLease";
  /** Extending a session's life without a write. */
  readonly expiry: "extendExpiry";
  /** Pages of the log, figures and reductions. */
  readonly pages: "pages";
  /** Lists of sessions by owner. */
  readonly index: "index";
  /** Copies of sessions. */
  readonly forks: "forks";
  /** Replacing stored texts, for encryption. */
  readonly recordSwaps: "recordSwaps";
  /** Whole sessions out and in. */
  readonly transfers: "transfers";
  /** One turn of a session at a time. */
  readonly turnQueue: "turnQueue";
  /** Closing what the store opened. */
  readonly close: "close";
}

/**
 * The name of something that a store may be able to do beyond the core.
 * @example
 * import { hasCapability, InMemorySessionStore, type SessionStore } from "langchain-redis-memory/store";
 *
 * const store: SessionStore = new InMemorySessionStore();
 * if (hasCapability(store, "rounds")) {
 *   await store.readRounds({ id: "chat-7" }, 3); // the type has the method now
 * }
 */
export type StoreCapability = keyof CapabilityMethods;

/** A store that has the members of a capability. */
export type StoreWith<C extends StoreCapability> = SessionStore & Required<Pick<SessionStore, CapabilityMethods[C]>>;

type OptionalMember = Exclude<keyof SessionStore, keyof SessionStoreCore | "limits">;

type ObjectMember = {
  [Name in OptionalMember]: CompleteSessionStore[Name] extends (...args: never[]) => unknown ? never : Name;
}[OptionalMember];

/** Every member that is an object with methods, and no method itself. */
const objectMembers = {
  pages: true,
  index: true,
  forks: true,
  recordSwaps: true,
  transfers: true,
  turnQueue: true,
} as const satisfies Record<ObjectMember, true>;

/** Every member beyond the core. The compiler refuses a missing and a surplus name. */
const capabilityOf = {
  readRounds: "rounds",
  rewind: "rewind",
  replaceTail: "replaceTail",
  readTurn: "turns",
  rebuild: "rebuild",
  readSide: "sideData",
  writeSide: "sideData",
  acquireLease: "leases",
  releaseLease: "leases",
  extendExpiry: "expiry",
  pages: "pages",
  index: "index",
  forks: "forks",
  recordSwaps: "recordSwaps",
  transfers: "transfers",
  turnQueue: "turnQueue",
  close: "close",
} as const satisfies Record<OptionalMember, StoreCapability>;

/** The names of all members beyond the core. */
export const optionalMembers = Object.keys(capabilityOf) as OptionalMember[];

/** Every capability. */
export const allCapabilities: ReadonlySet<StoreCapability> = new Set(Object.values(capabilityOf));

/** The capabilities of a store, or of all stores of a class by its prototype. */
export function capabilitiesOf(store: object): ReadonlySet<StoreCapability> {
  const members = optionalMembers.filter((member) => isPresent(store, member));
  return new Set(members.map((member) => capabilityOf[member]));
}

/** True for a store that has the members of the capability. */
export function hasCapability<C extends StoreCapability>(store: SessionStore, capability: C): store is StoreWith<C> {
  return membersOf(capability).every((member) => isPresent(store, member));
}

/**
 * The store, as one that has the capability.
 *
 * @throws ConfigurationError `store`; `user` is what needs the capability, the message's first words.
 */
export function requireCapability<C extends StoreCapability>(
  user: string,
  store: SessionStore,
  capability: C,
): StoreWith<C> {
  if (hasCapability(store, capability)) {
    return store;
  }
  const members = membersOf(capability);
  const kind = isObject(members[0]!) ? "property" : members.length > 1 ? "methods" : "method";
  throw new ConfigurationError(
    "store",
    `${user} needs a store with the ${kind} ${quoted(members)}; ` + "the store in use has no such capability.",
  );
}

/**
 * Refuses what is not a session store: without a method of the core, or with a part of a capability only.
 *
 * @throws ConfigurationError `store`, with the method's name; `owner` is what the user constructs.
 */
export function checkSessionStore(owner: string, store: unknown): asserts store is SessionStore {
  const refuse = (reason: string) => new ConfigurationError("store", `${owner}: ${reason}`);
  if (typeof store !== "object" || store === null) {
    throw refuse(`option "store" must be a SessionStore; got ${store === null ? "null" : `a ${typeof store}`}.`);
  }
  const names = Object.keys(coreMethods);
  const missing = names.find((method) => !isPresent(store, method));
  if (missing !== undefined) {
    throw refuse(`the store has no method "${missing}"; a SessionStore needs ${quoted(names)}.`);
  }
  for (const member of optionalMembers) {
    const value = (store as SessionStore)[member];
    if (value === undefined && capabilitiesOf(store).has(capabilityOf[member])) {
      const others = membersOf(capabilityOf[member]).filter((other) => other !== member);
      throw refuse(`the store has the method ${quoted(others)} but not "${member}"; implement both or neither.`);
    }
    if (value !== undefined && !isPresent(store, member)) {
      const kind = isObject(member) ? "an object" : "a method";
      throw refuse(`the store's "${member}" must be ${kind}; got ${value === null ? "null" : `a ${typeof value}`}.`);
    }
  }
}

function membersOf(capability: StoreCapability): OptionalMember[] {
  return optionalMembers.filter((member) => capabilityOf[member] === capability);
}

function isObject(member: string): boolean {
  return Object.hasOwn(objectMembers, member);
}

function isPresent(store: object, member: string): boolean {
  try {
    const value = (store as Readonly<Record<string, unknown>>)[member];
    return isObject(member) ? typeof value === "object" && value !== null : typeof value === "function";
  } catch {
    // The prototype of a class with a getter for it, which only works on a store.
    return true;
  }
}

function quoted(names: readonly string[]): string {
  const list = names.map((name) => `"${name}"`);
  return list.length < 2 ? list.join("") : `${list.slice(0, -1).join(", ")} and ${list.at(-1)!}`;
}
