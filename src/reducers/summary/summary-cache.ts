import type { BaseMessage } from "@langchain/core/messages";
import { createHash } from "node:crypto";
import { BoundedMap } from "../../bounded-map.js";

const capacity = 100;

/** What a summary depends on. */
export interface SummaryOrigin {
  /** Ids of the messages that it stands for. */
  readonly ids: readonly (string | undefined)[];
  /** All that the model is told of the conversation. */
  readonly told: readonly string[];
}

/**
 * The latest summaries by what they were made of: where a reduction has to be made again, because another process
 * changed the view before it was stored, its summary is not paid for again.
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
