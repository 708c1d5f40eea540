import { BoundedMap } from "../base/bounded-map.js";
import { knownCount, rememberTokens } from "../tokens/counted-messages.js";
import type { DecodedView } from "./view.js";

const maxCounts = 10_000;

/**
 * Counts of stored messages whose records hold none under the counter in use, because another one, or none, was in use
 * when they were written. Each read makes new message objects; this remembers by position, so that a process counts
 * such a message once. Bounded: the oldest counts go.
 */
export class Recounts {
  readonly #counts = new BoundedMap<string, number>(maxCounts);
  readonly #counterId: string;

  constructor(counterId: string) {
    this.#counterId = counterId;
  }

  /**
   * Gives the view's messages the counts that are known here; the function that comes back notes those that were made
   * since.
   */
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
