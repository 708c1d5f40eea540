import type { BaseMessage } from "@langchain/core/messages";
import { callsOf } from "../../messages/calls.js";
import { changeContent } from "../../messages/copies/change-content.js";
import { blocksOf, isBlankText, isStandardContent, type Block } from "../../messages/content.js";
import type { StructureProfile } from "../../structure/profiles/profile.js";
import { markIn } from "../../structure/rules/mark-rules.js";

/**
 * Lifetime of a provider's cache entry.
 * @example
 * import { promptCacheMarks } from "langchain-redis-memory";
 *
 * const marks = promptCacheMarks({ profile: "anthropic", ttl: "1h" }); // dearer to write, and kept for an hour
 */
export type CacheTtl = "5m" | "1h";

/** How a provider is told up to where to cache. */
export interface MarkForm {
  /** True where the message ends with a mark. */
  readonly isMarked: (message: BaseMessage) => boolean;
  /** A copy of the message that ends with a mark; undefined where no block of it may carry one. */
  readonly mark: (message: BaseMessage) => BaseMessage | undefined;
}

/** Blocks that Anthropic's adapter sends with a mark. Thinking and empty text are refused with one. */
const markable: ReadonlySet<string> = new Set(["text", "image", "image_url", "file", "document"]);

const canCarry = (block: Block) => markable.has(block.type) && !isBlankText(block);

/** The form of the profile's provider; undefined for a provider that caches without marks. */
export function markForm({ name }: StructureProfile, ttl: CacheTtl | undefined): MarkForm | undefined {
  return name === "anthropic" ? cacheControl(ttl) : name === "bedrock" ? cachePoint(ttl) : undefined;
}

/** Anthropic: a field of the block. */
function cacheControl(ttl: CacheTtl | undefined): MarkForm {
  const value = { type: "ephemeral", ...(ttl && { ttl }) };
  return {
    isMarked: (message) => blocksOf(message).findLast(canCarry)?.["cache_control"] !== undefined,
    mark(message) {
      const blocks = blocksOf(message);
      const place = hasOwnBlocks(message) ? blocks.findLastIndex(canCarry) : -1;
      const marked = blocks.map((block, index) => (index === place ? { ...block, cache_control: value } : block));
      return place < 0 ? undefined : changeContent(message, marked);
    },
  };
}

/** Bedrock's Converse API: a block of its own, behind what is to be cached. */
function cachePoint(ttl: CacheTtl | undefined): MarkForm {
  return {
    isMarked: (message) => markIn(blocksOf(message).at(-1)) !== undefined,
    mark(message) {
      const blocks = blocksOf(message);
      const last = blocks.at(-1);
      return hasOwnBlocks(message) && last !== undefined && canCarry(last)
        ? changeContent(message, [...blocks, { cachePoint: { type: "default", ...(ttl && { ttl }) } }])
        : undefined;
    },
  };
}

/** Calls stand behind the blocks, so a mark would not be at the end; adapters drop marks in standard content. */
function hasOwnBlocks(message: BaseMessage): boolean {
  return callsOf(message).length === 0 && !isStandardContent(message);
}
