import type { BaseMessage } from "@langchain/core/messages";
import { createHash } from "node:crypto";
import { toolCallIds } from "../conversation/roles.js";
import type { SummaryTask } from "./summarizer.js";

const capacity = 100;

/**
 * The latest summaries by what they cover: where a reduction has to be made again, because another process changed the view before it was
 * stored, its summary is not paid for again.
 */
export class SummaryCache {
  readonly #summaries = new Map<string, BaseMessage>();

  get(task: SummaryTask): BaseMessage | undefined {
    return this.#summaries.get(keyOf(task));
  }

  set(task: SummaryTask, summary: BaseMessage): void {
    this.#summaries.set(keyOf(task), summary);
    if (this.#summaries.size > capacity) {
      this.#summaries.delete(this.#summaries.keys().next().value!);
    }
  }

  delete(task: SummaryTask): void {
    this.#summaries.delete(keyOf(task));
  }
}

/** Equal for the same messages. */
function keyOf({ replaced, covered, context }: SummaryTask): string {
  const hash = createHash("sha256");
  for (const part of [replaced, covered, context]) {
    for (const message of part) {
      hash.update(JSON.stringify([message.id, message.getType(), message.text, toolCallIds(message)]));
    }
    hash.update("|");
  }
  return hash.digest("base64");
}
