import type { BaseMessage } from "@langchain/core/messages";
import { createHash } from "node:crypto";
import { BoundedMap } from "../../base/bounded-map.js";

const capacity = 100;

/** What a summary depends on. */
export interface SummaryOrigin {
  /** Ids of the messages that it replaces. */
  readonly ids: readonly (string | undefined)[];
  /** Everything that the model sees of the conversation. */
  readonly told: readonly string[];
}

/**
 * Caches the latest summaries by what they are based on, so that a reduction that has to be repeated, because another
 * process changed the view first, does not pay for its summary again.
 */
export class SummaryCache {
  readonly #summaries = new BoundedMap<string, BaseMessage>(capacity);

  get(origin: SummaryOrigin): BaseMessage | undefined {
    return this.#summaries.get(keyOf(origin));
  }

  set(origin: SummaryOrigin, summary: BaseMessage): void {
    this.#summaries.set(keyOf(origin), summary);
  }

  delete(origin: SummaryOrigin): void {
    this.#summaries.delete(keyOf(origin));
  }
}

function keyOf({ ids, told }: SummaryOrigin): string {
  return createHash("sha256")
    .update(JSON.stringify([ids, told]))
    .digest("base64");
}
