import type { SessionDetails, SessionIndex } from "../store/session-index.js";

/** Sessions that are looked at together. */
const batchSize = 100;

/** All sessions, or those of an owner, in no order. Never holds more than a batch of them. */
export async function* allSessions(
  index: SessionIndex,
  { owner, signal }: { readonly owner?: string | undefined; readonly signal: AbortSignal },
): AsyncGenerator<SessionDetails> {
  let batch: Promise<SessionDetails | undefined>[] = [];
  const found = async () => {
    const details = await Promise.all(batch);
    batch = [];
    return details.filter((one) => one !== undefined);
  };
  for await (const sessionId of index.scan(owner === undefined ? {} : { owner })) {
    if (signal.aborted) {
      return;
    }
    batch.push(index.describe(sessionId));
    if (batch.length === batchSize) {
      yield* await found();
    }
  }
  yield* await found();
}
