import { ConfigurationError } from "../errors.js";
import type { SessionStore, SessionStoreCore } from "./session-store.js";

/** Every method of the core. The compiler refuses a missing and a surplus name. */
const coreMethods = {
  append: true,
  readView: true,
  readLog: true,
  commitReduction: true,
  clear: true,
} as const satisfies Record<keyof SessionStoreCore, true>;

/** What a store may be able to do beyond the core, and the methods for it. */
export interface CapabilityMethods {
  readonly rounds: "readRounds";
  readonly rewind: "rewind";
  readonly replaceTail: "replaceTail";
  readonly turns: "readTurn";
  readonly rebuild: "rebuild";
  readonly sideData: "readSide" | "writeSide";
  readonly leases: "acquireLease" | "releaseLease";
  readonly close: "close";
}

/** The name of something that a store may be able to do beyond the core. */
export type StoreCapability = keyof CapabilityMethods;

/** A store that has the methods of a capability. */
export type StoreWith<C extends StoreCapability> = SessionStore & Required<Pick<SessionStore, CapabilityMethods[C]>>;

type OptionalMethod = Exclude<keyof SessionStore, keyof SessionStoreCore>;

/** Every method beyond the core. The compiler refuses a missing and a surplus name. */
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
  close: "close",
} as const satisfies Record<OptionalMethod, StoreCapability>;

const optionalMethods = Object.keys(capabilityOf) as OptionalMethod[];

/** Every capability. */
export const allCapabilities: ReadonlySet<StoreCapability> = new Set(Object.values(capabilityOf));

/** The capabilities of a store, or of all stores of a class by its prototype. */
export function capabilitiesOf(store: object): ReadonlySet<StoreCapability> {
  const methods = optionalMethods.filter((method) => isMethod(store, method));
  return new Set(methods.map((method) => capabilityOf[method]));
}

/** True for a store that has the methods of the capability. */
export function hasCapability<C extends StoreCapability>(store: SessionStore, capability: C): store is StoreWith<C> {
  return methodsOf(capability).every((method) => isMethod(store, method));
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
  const methods = methodsOf(capability);
  throw new ConfigurationError(
    "store",
    `${user} needs a store with the ${methods.length > 1 ? "methods" : "method"} ${quoted(methods)}; ` +
      "the store in use has no such capability.",
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
  const missing = names.find((method) => !isMethod(store, method));
  if (missing !== undefined) {
    throw refuse(`the store has no method "${missing}"; a SessionStore needs ${quoted(names)}.`);
  }
  for (const method of optionalMethods) {
    const value = (store as SessionStore)[method];
    if (value === undefined && capabilitiesOf(store).has(capabilityOf[method])) {
      const others = methodsOf(capabilityOf[method]).filter((other) => other !== method);
      throw refuse(`the store has the method ${quoted(others)} but not "${method}"; implement both or neither.`);
    }
    if (value !== undefined && typeof value !== "function") {
      throw refuse(`the store's "${method}" must be a method; got a value of type ${typeof value}.`);
    }
  }
}

function methodsOf(capability: StoreCapability): OptionalMethod[] {
  return optionalMethods.filter((method) => capabilityOf[method] === capability);
}

function isMethod(store: object, method: string): boolean {
  return typeof (store as Readonly<Record<string, unknown>>)[method] === "function";
}

function quoted(names: readonly string[]): string {
  const list = names.map((name) => `"${name}"`);
  return list.length < 2 ? list.join("") : `${list.slice(0, -1).join(", ")} and ${list.at(-1)!}`;
}
