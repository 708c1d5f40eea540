import { identifyRecord } from "../src/store/codec/stored-record.js";
import { digestLength } from "../src/store/redis/stored-fields.js";
import { idHash, sessionKeys } from "../src/store/redis/keys.js";
import { KeyRing } from "../src/store/sealed/keys/key-ring.js";
import { sealedParts } from "../src/store/sealed/loaded-store.js";
import { SessionKeys } from "../src/store/sealed/keys/data-keys.js";
import { SealedCalls, unlessChanged } from "../src/store/sealed/sealed-calls.js";
import { lengthBefore, type Remains } from "./damage.js";
import type { Server } from "./server.js";

const pageLength = 1_000;

/** A run of positions, both ends included. */
export type PositionRange = readonly [first: number, last: number];

/** Lost and kept messages of a session. */
export interface LostMessages {
  /** Positions of messages that are gone; undefined where they are not known. */
  readonly gone: readonly PositionRange[] | undefined;
  /** Indexes in the log of records that cannot be read. */
  readonly unreadable: readonly number[];
  /** Indexes in the log of records that their key does not open. */
  readonly changed: readonly number[];
}

/**
 * Finds out which messages a session lost: its index still knows the position of each that is left.
 *
 * @throws EncryptionError where a key is not at hand.
 */
export async function findLostMessages(server: Server, sessionId: string, remains: Remains): Promise<LostMessages> {
  const places: (number | undefined)[] = [];
  const [unreadable, changed]: [number[], number[]] = [[], []];
  const opener = await openerOf(server, sessionId);
  const { log } = sessionKeys(server.keyPrefix, sessionId);
  for (;;) {
    // As they lie in Redis: the other keys, which say where the log begins, may be what is damaged.
    const records = await server.client.lrange(log, places.length, places.length + pageLength - 1);
    const ids: (string | undefined)[] = [];
    for (const record of records) {
      const plain = unlessChanged(() => opener.record(record));
      const id = typeof plain === "string" ? identifyRecord(plain)?.id : undefined;
      if (id === undefined) {
        (typeof plain === "string" ? unreadable : changed).push(places.length + ids.length);
      }
      ids.push(id);
    }
    places.push(...(await placesOf(server, sessionId, { ids, remains })));
    if (records.length < pageLength) {
      return { gone: goneFrom(places, remains), unreadable, changed };
    }
  }
}

/** Opens records that were read from Redis directly. */
async function openerOf({ store }: Server, sessionId: string): Promise<SealedCalls> {
  const parts = sealedParts(store);
  const opener = new SealedCalls(parts?.keys ?? new SessionKeys(KeyRing.of({ current: null })), { id: sessionId });
  const state = await store.edits.readKey({ id: sessionId });
  if (state?.stored !== undefined) {
    await opener.learn(state.stored);
  }
  return opener;
}

interface Named {
  readonly ids: readonly (string | undefined)[];
  readonly remains: Remains;
}

/** The messages' positions by the index. */
async function placesOf(
  { client, keyPrefix }: Server,
  sessionId: string,
  { ids, remains: { missing } }: Named,
): Promise<(number | undefined)[]> {
  if (ids.length === 0 || missing.has("ids")) {
    return ids.map(() => undefined);
  }
  const fields = ids.map((id) => (id === undefined ? "" : idHash(id)));
  const values = await client.hmget(sessionKeys(keyPrefix, sessionId).ids, ...fields);
  return values.map((text) => (text === null ? undefined : Number(text.slice(digestLength))));
}

/** A message that the index does not know stood behind the one before it. */
function goneFrom(places: readonly (number | undefined)[], remains: Remains): PositionRange[] | undefined {
  const { base, next } = remains;
  const before = lengthBefore(remains);
  if (base === undefined || next === undefined || before === undefined) {
    return undefined;
  }
  const left = new Set<number>();
  let last = base - 1;
  for (const place of places) {
    last = place ?? last + 1;
    left.add(last);
  }
  const ranges: [number, number][] = [];
  let count = 0;
  for (let position = base; position < next; position += 1) {
    if (left.has(position)) {
      continue;
    }
    count += 1;
    const range = ranges.at(-1);
    if (range?.[1] === position - 1) {
      range[1] = position;
    } else {
      ranges.push([position, position]);
    }
  }
  const areKnown = places.some((place) => place !== undefined) || places.length === 0;
  return areKnown && count === before - places.length ? ranges : undefined;
}
