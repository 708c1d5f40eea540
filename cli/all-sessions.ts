import { EncryptionError } from "../src/base/errors.js";
import { isLocked } from "../src/session/session-labels.js";
import type { SessionDetails } from "../src/store/lists.js";
import type { Server } from "./server.js";

/** Sessions that are looked at together. */
const batchSize = 100;

/** A session; `locked` where its title is encrypted with a key that is not at hand, and left out. */
export interface FoundSession extends SessionDetails {
  readonly locked?: true;
}

/** What is kept about a session besides its messages; undefined for one that does not exist. */
export async function describeSession(
  { store, plainIndex }: Pick<Server, "store" | "plainIndex">,
  sessionId: string,
): Promise<FoundSession | undefined> {
  const details = await store.index.describe(sessionId).catch((error: unknown) => {
    if (!EncryptionError.isInstance(error)) {
      throw error;
    }
    return plainIndex.describe(sessionId);
  });
  return details && isLocked(details.label) ? { ...details, label: {}, locked: true } : details;
}

/** All sessions, or those of an owner, in no order. Never holds more than a batch of them. */
export async function* allSessions(
  server: Pick<Server, "store" | "plainIndex">,
  { owner, signal }: { readonly owner?: string | undefined; readonly signal?: AbortSignal } = {},
): AsyncGenerator<FoundSession> {
  let batch: Promise<FoundSession | undefined>[] = [];
  const found = async () => {
    const details = await Promise.all(batch);
    batch = [];
    return details.filter((one) => one !== undefined);
  };
  for await (const sessionId of server.plainIndex.scan(owner === undefined ? {} : { owner })) {
    if (signal?.aborted) {
      return;
    }
    batch.push(describeSession(server, sessionId));
    if (batch.length === batchSize) {
      yield* await found();
    }
  }
  yield* await found();
}
