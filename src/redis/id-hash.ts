import { shortHash } from "../base/ids.js";

/**
 * Characters that stand for an id: 84 bits of its SHA-256, enough that ten million messages of one session share none
 * by chance.
 */
export const idHashLength = 14;

/** Characters of a digest, which begins each value of `ids`. */
export const digestLength = 8;

/** The field of `ids` that an id has. Text, because arguments that are bytes cost the client twice the time. */
export function idHash(id: string): string {
  return shortHash(id, idHashLength);
}

/** The same of the last id that was read, where a write names it. */
export function lastHash(lastId: string | undefined): string | undefined {
  return lastId === undefined ? undefined : idHash(lastId);
}
