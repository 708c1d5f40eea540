import type { SessionCopies } from "../store/copies.js";
import type { SessionStore } from "../store/session-store.js";
import type { KeyRing } from "./keys/key-ring.js";
import { SealedForks } from "./sealed-forks.js";
import { SealedTransfers } from "./sealed-transfers.js";

/** Whole sessions, opened and sealed. */
export function sealedCopies(inner: SessionStore, copies: SessionCopies, ring: KeyRing): SessionCopies {
  const forks = new SealedForks(copies, ring);
  const transfers = new SealedTransfers(copies, inner, ring);
  return {
    fork: (session, target, request) => forks.fork(session, target, request),
    readState: (session) => transfers.readState(session),
    readTurns: (session, names) => transfers.readTurns(session, names),
    create: (session, request) => transfers.create(session, request),
  };
}
