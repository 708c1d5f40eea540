import { decodeHead } from "../../store/codec/stored-record.js";
import { sealedParts } from "../../store/sealed/loaded-store.js";
import { headField, SealedCalls, unlessChanged } from "../../store/sealed/sealed-calls.js";
import type { WholeState } from "../../store/contract/session-data.js";
import type { SessionOfMemory } from "./memory-context.js";

/**
 * Repairs a head that differs from its stored count, of a session that was rebuilt. An unreadable head is dropped, and
 * the view is the whole log until the next reduction. One round trip; one more for a repair.
 */
export async function mendHead(session: SessionOfMemory): Promise<void> {
  const state = await stateWithHead(session);
  const mended = state && mendedHead(state);
  if (mended !== undefined) {
    // The rebuild has set both tokens to the same; where somebody has reduced since, the head is mended.
    const { epoch, cut: rev, next } = state!;
    await session.context.store.commitReduction(session.reductionRef, { epoch, rev, next, ...mended });
  }
}

/** The session's state with its head decrypted; if the key does not decrypt the head, as stored. */
async function stateWithHead({ context: { store }, ref }: SessionOfMemory): Promise<WholeState | undefined> {
  const sealed = sealedParts(store);
  if (sealed === undefined) {
    return store.copies.read(ref);
  }
  const calls = new SealedCalls(sealed.keys, ref);
  const state = await calls.read((caller) => sealed.store.copies.read(caller));
  const head = state && unlessChanged(() => calls.field(headField, state.head));
  return state && { ...state, head: typeof head === "string" ? head : state.head };
}

function mendedHead({ epoch, head, headCount, base, start }: WholeState) {
  try {
    const count = decodeHead(head).length;
    return epoch === "" || count === headCount ? undefined : { start, head, headCount: count };
  } catch {
    return { start: base, head: "", headCount: 0 };
  }
}
