import { BoundedMap } from "../../base/bounded-map.js";
import { knownCount, rememberTokens } from "../../conversation/tokens/counted-messages.js";
import type { DecodedView } from "./view.js";

const maxCounts = 10_000;

/**
 * Cache of token counts for stored messages that were written without the current counter. Each read makes new message
 * objects, so the cache is keyed by position, and a process counts such a message once. Bounded: the oldest counts are
 * evicted.
 */
export class Recounts {
  readonly #counts = new BoundedMap<string, number>(maxCounts);
  readonly #counterId: string;

  constructor(counterId: string) {
    this.#counterId = counterId;
  }

  /** Assigns the cached counts to the view's messages; the returned function caches the counts made since. */
  apply(sessionId: string, { stored, entries }: DecodedView): () => Promise<void> {
    const made: (() => Promise<void>)[] = [];
    for (const { message, position } of entries) {
      if (position === undefined || knownCount(message, this.#counterId) !== undefined) {
        continue;
      }
      const key = `${stored.epoch} ${position} ${sessionId}`;
      const count = this.#counts.get(key);
      if (count !== undefined) {
        rememberTokens(message, this.#counterId, count);
        continue;
      }
      made.push(async () => {
        const tokens = await knownCount(message, this.#counterId);
        if (tokens !== undefined) {
          this.#counts.set(key, tokens);
        }
      });
    }
    return async () => {
      for (const note of made) {
        await note();
      }
    };
  }
}
