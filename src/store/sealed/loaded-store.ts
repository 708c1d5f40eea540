import { storeWhenUsed } from "../contract/groups.js";
import type { SessionStore } from "../contract/session-store.js";
import { SessionKeys } from "./keys/data-keys.js";
import type { KeyRing } from "./keys/key-ring.js";

/** Parts of a sealed store. */
export interface SealedParts {
  /** The store underneath. */
  readonly store: SessionStore;
  readonly keys: SessionKeys;
}

/** The store underneath, and the keys; undefined for a store that does not seal. */
export function sealedParts(store: SessionStore & { readonly sealed?: SealedParts }): SealedParts | undefined {
  return store.sealed;
}

/** The sealed store around a store, whose code is loaded with the first call of one of its methods. */
export function sealedWhenUsed(inner: SessionStore, ring: KeyRing): SessionStore & { readonly sealed: SealedParts } {
  const keys = new SessionKeys(ring);
  const load = async () => (await import("./store.js")).sealedStore(inner, ring, keys);
  return { ...storeWhenUsed(inner, load), sealed: { store: inner, keys } };
}
