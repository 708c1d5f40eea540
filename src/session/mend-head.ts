import { decodeHead } from "../codec/head.js";
import type { SessionView } from "../store/session-reads.js";
import type { SessionOfMemory } from "./session-of-memory.js";

const attempts = 3;

/**
 * Makes the head of a session's view agree with its count. A head that cannot be read goes, and the view is the whole
 * log until the next reduction. One round trip; one more where there is something to mend.
 */
export async function mendHead(session: SessionOfMemory): Promise<void> {
  const { store } = session.context;
  for (let attempt = 1; attempt <= attempts; attempt += 1) {
    const view = await store.readView(session.ref);
    const { epoch, rev, next } = view;
    const mended = mendedHead(view);
    if (
      mended === undefined ||
      (await store.commitReduction(session.reductionRef, { epoch, rev, next, ...mended })) !== "stale"
    ) {
      return;
    }
  }
}

function mendedHead({ epoch, head, headCount, base, start }: SessionView) {
  try {
    const count = decodeHead(head).length;
    return epoch === "" || count === headCount ? undefined : { start, head, headCount: count };
  } catch {
    return { start: base, head: "", headCount: 0 };
  }
}
