import type { BaseMessage } from "@langchain/core/messages";
import { type Block, blocksOf } from "../../messages/content.js";
import { mapBlocks, mapSame, withFields } from "../../messages/copies/edits.js";
import { type Fields, fieldsOf, isRecord } from "../../messages/values.js";

/** The providers' limit; a request with more marks is refused. */
const maxMarks = 4;

/** The marks for a prompt cache in front of a request's messages. */
export interface FrontMarks {
  readonly count: number;
  /** True if one of them is for five minutes, the providers' default. */
  readonly isShort: boolean;
}

/** No marks in front of the messages. */
export const noMarks: FrontMarks = { count: 0, isShort: false };

/**
 * The marks in the tools of a request and in the blocks of its system text; the setting by which Anthropic marks a
 * request's end counts as one more.
 */
export function frontMarks(parts: readonly unknown[], settings?: unknown): FrontMarks {
  const marks = marksIn(parts.flatMap((part) => [part, fieldsOf(part)["extras"]]));
  const count = marks.length + marksIn([settings]).length;
  return { count, isShort: marks.some(({ ttl }) => ttl !== "1h") };
}

/** The marks that blocks are or carry. */
export function marksIn(blocks: readonly unknown[]): readonly Fields[] {
  return blocks.map(markIn).filter((mark) => mark !== undefined);
}

/** The mark that a block is, for Bedrock, or carries, for Anthropic; undefined without one. */
function markIn(block: unknown): Fields | undefined {
  const { cache_control: carried, cachePoint } = fieldsOf(block);
  return [carried, cachePoint].find(isRecord);
}

/**
 * The messages with the newest marks of a prompt cache, as many as a request takes; marks for an hour behind one for
 * five minutes are for five minutes too. The same list if all marks stay. Linear.
 */
export function withinMarks(
  messages: readonly BaseMessage[],
  { count, isShort }: FrontMarks = noMarks,
): readonly BaseMessage[] {
  const all = marksIn(messages.flatMap(blocksOf)).length;
  let [excess, hasShort] = [all - Math.max(0, maxMarks - count), isShort];
  const formOf = (block: Block): readonly Block[] => {
    const mark = markIn(block);
    if (mark === undefined) {
      return [block];
    }
    excess -= 1;
    if (excess >= 0) {
      return "cachePoint" in block ? [] : [withFields(block as Fields, { cache_control: undefined }) as Block];
    }
    const isLong = mark["ttl"] === "1h";
    const made = isLong && hasShort ? shortened(block) : block;
    hasShort ||= !isLong;
    return [made];
  };
  return all === 0 ? messages : mapSame(messages, (message) => [mapBlocks(message, formOf)]);
}

function shortened(block: Block): Block {
  const short = (mark: unknown) => withFields(fieldsOf(mark), { ttl: undefined });
  const { cache_control, cachePoint } = block as Fields;
  const marks = cachePoint === undefined ? { cache_control: short(cache_control) } : { cachePoint: short(cachePoint) };
  return withFields(block as Fields, marks) as Block;
}
