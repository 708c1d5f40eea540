import { identifyRecord } from "../src/codec/message-ids.js";
import { digestLength, idHash } from "../src/redis/id-hash.js";
import { sessionKeys } from "../src/redis/keys.js";
import { lengthBefore, type Remains } from "./damage.js";
import type { Server } from "./server.js";

const pageLength = 1_000;

/** A run of positions, both ends included. */
export type PositionRange = readonly [first: number, last: number];

/** What became of the messages of a session. */
export interface LostMessages {
  /** Positions of messages that are gone; undefined where they are not known. */
  readonly gone: readonly PositionRange[] | undefined;
  /** Indexes in the log of records that cannot be read. */
  readonly unreadable: readonly number[];
}

/**
 * Finds out which messages a session lost: its index still knows the position of each that is left.
 *
 * @throws EncryptionError where a key is not at hand.
 */
export async function findLostMessages(server: Server, sessionId: string, remains: Remains): Promise<LostMessages> {
  const places: (number | undefined)[] = [];
  const unreadable: number[] = [];
  let from: number | undefined;
  for (;;) {
    const page = await server.store.readLog(
      { id: sessionId },
      { limit: pageLength, ...(from !== undefined && { from }) },
    );
    const ids = page.records.map((record) => identifyRecord(record)?.id);
    ids.forEach((id, index) => id === undefined && unreadable.push(places.length + index));
    places.push(...(await placesOf(server, sessionId, { ids, remains })));
    if (page.records.length < pageLength) {
      return { gone: goneFrom(places, remains), unreadable };
    }
    from = page.from + page.records.length;
  }
}

interface Named {
  readonly ids: readonly (string | undefined)[];
  readonly remains: Remains;
}

/** Where the index says that the messages stood. */
async function placesOf(
  { client, keyPrefix }: Server,
  sessionId: string,
  { ids, remains: { missing, foreign } }: Named,
): Promise<(number | undefined)[]> {
  if (ids.length === 0 || missing.has("ids") || foreign.has("ids")) {
    return ids.map(() => undefined);
  }
  const fields = ids.map((id) => (id === undefined ? "" : idHash(id)));
  const found = await client.hmget(sessionKeys(keyPrefix, sessionId).ids, ...fields);
  return found.map((text) => (text === null ? undefined : Number(text.slice(digestLength))));
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
