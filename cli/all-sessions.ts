import { EncryptionError, StoreError } from "../src/base/errors.js";
import { isLocked } from "../src/memory/session/identity.js";
import type { SessionDetails } from "../src/store/contract/session-ref.js";
import type { StoredStats } from "../src/store/contract/session-data.js";
import { remainsOf } from "./damage.js";
import type { Server } from "./server.js";

/** Sessions that are looked at together. */
const batchSize = 100;

/**
 * A session; `locked` where its title is encrypted with a key that is not at hand, and left out. Redis lost a
 * part of a `damaged` one: its figures are those of the rest, and its times are 0 where they are lost.
 */
export interface FoundSession extends SessionDetails {
  readonly locked?: true;
  readonly damaged?: true;
}

/** A session's metadata; undefined if the session does not exist. */
export async function describeSession(
  server: Pick<Server, "store" | "plainLists" | "client" | "keyPrefix">,
  sessionId: string,
): Promise<FoundSession | undefined> {
  const [details, figures] = await Promise.all([detailsOf(server, sessionId), figuresOf(server.store, sessionId)]);
  // The index of its messages may be the only key left of a session.
  if (figures === undefined && (await remainsOf(server, sessionId)) === undefined) {
    return undefined;
  }
  const base = details ?? {
    sessionId,
    label: {},
    labelVersion: "",
    createdAt: 0,
    updatedAt: 0,
    messages: 0,
    rounds: 0,
  };
  if (figures === undefined || figures === "wrong type") {
    return { ...base, messages: 0, rounds: 0, damaged: true };
  }
  const { messages, rounds, damaged } = figures;
  return { ...base, messages, rounds: Math.max(0, Math.min(rounds, messages)), ...(damaged && { damaged }) };
}

async function detailsOf(
  { store, plainLists }: Pick<Server, "store" | "plainLists">,
  sessionId: string,
): Promise<FoundSession | undefined> {
  try {
    const details = await store.lists.describe({ id: sessionId }).catch((error: unknown) => {
      if (!EncryptionError.isInstance(error)) {
        throw error;
      }
      return plainLists.describe({ id: sessionId });
    });
    return details && isLocked(details.label) ? { ...details, label: {}, locked: true } : details;
  } catch (error) {
    return isOfWrongType(error) ? undefined : Promise.reject(error as Error);
  }
}

async function figuresOf(
  { data }: Server["store"],
  sessionId: string,
): Promise<StoredStats | "wrong type" | undefined> {
  try {
    return await data.readStats({ id: sessionId });
  } catch (error) {
    return isOfWrongType(error) ? "wrong type" : Promise.reject(error as Error);
  }
}

/** A key of the session holds another type of value, and says nothing of it. */
function isOfWrongType(error: unknown): boolean {
  return StoreError.isInstance(error) && error.code === "wrong_type";
}

/**
 * All sessions, or those of an owner, in no order, those that Redis lost a part of included. Never holds more than a
 * batch of them.
 */
export async function* allSessions(
  server: Pick<Server, "store" | "plainLists" | "client" | "keyPrefix">,
  { owner, signal }: { readonly owner?: string | undefined; readonly signal?: AbortSignal } = {},
): AsyncGenerator<FoundSession> {
  let batch: string[] = [];
  // Asked for only when they are awaited: what this generator's reader leaves early must not be rejected unseen.
  const batchDetails = async () => {
    const details = await Promise.all(batch.map((sessionId) => describeSession(server, sessionId)));
    batch = [];
    return details.filter((one) => one !== undefined);
  };
  for await (const sessionId of server.plainLists.scan(owner === undefined ? {} : { owner })) {
    if (signal?.aborted) {
      return;
    }
    batch.push(sessionId);
    if (batch.length === batchSize) {
      yield* await batchDetails();
    }
  }
  yield* await batchDetails();
}
