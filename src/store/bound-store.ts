import type { SessionClaim } from "./lists.js";
import type { SessionStore } from "./session-store.js";
import { shareLimits } from "./size-limits.js";

/** See {@link accessPlace}. */
const places: Readonly<Record<string, number>> = {
  append: 1,
  replaceTail: 1,
  readView: 1,
  readLog: 1,
  commitReduction: 1,
  rewind: 1,
  clear: 1,
  writeSide: 1,
  readRounds: 2,
  readTurn: 2,
  rebuild: 2,
  readSide: 2,
  readPage: 1,
  readStats: 1,
  readReductions: 1,
  extendExpiry: 1,
  fork: 2,
  enter: 1,
  restart: 1,
};
/** The parts of a store that take who calls, too. */
const parts = new Set<string | symbol>(["pages", "forks", "turnQueue"]);
const claiming = new Set(["append", "replaceTail", "writeSide"]);
const originals = new WeakMap<object, SessionStore>();

/** Index of the argument in which a method of a store takes who calls; undefined for a method that does not take it. */
export function accessPlace(method: string): number | undefined {
  return Object.hasOwn(places, method) ? places[method] : undefined;
}

/**
 * The same store for one caller: each call names the owner, and writes bring the label. So nobody who is handed the
 * store can forget to.
 */
export function boundStore(store: SessionStore, claim: SessionClaim): SessionStore {
  const bound = boundObject(store, claim);
  shareLimits(bound, store);
  originals.set(bound, originalStore(store));
  return bound;
}

/** The store behind a bound one; any other store itself. */
export function originalStore(store: SessionStore): SessionStore {
  return originals.get(store) ?? store;
}

function boundObject<T extends object>(target: T, claim: SessionClaim): T {
  return new Proxy(target, {
    get(_, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (parts.has(name) && typeof value === "object" && value !== null) {
        return boundObject(value, claim);
      }
      return typeof value === "function" ? boundMethod(target, { name: String(name), method: value, claim }) : value;
    },
  });
}

interface BoundMethod {
  readonly name: string;
  // eslint-disable-next-line @typescript-eslint/no-unsafe-function-type
  readonly method: Function;
  readonly claim: SessionClaim;
}

function boundMethod(target: object, { name, method, claim }: BoundMethod): unknown {
  const place = accessPlace(name);
  return (...given: unknown[]): unknown => {
    if (place !== undefined) {
      const own = claiming.has(name) ? claim : { owner: claim.owner };
      given[place] = { ...(given[place] as object | undefined), ...own };
    }
    return Reflect.apply(method, target, given);
  };
}
