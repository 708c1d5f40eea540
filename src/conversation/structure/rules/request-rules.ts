import type { BaseMessage } from "@langchain/core/messages";
import { type Block, blocksOf } from "../../messages/content.js";
import { type Fields, fieldsOf, isRecord } from "../../messages/message.js";
import { mapBlocks, mapSame, withFields } from "../../messages/copies/plain-answer.js";
import { mediaIn, mediaKinds, mediaLeftOut } from "../../messages/media.js";
import type { StructureRule, StructureContext, StructureCriteria, ReportFinding } from "./rules.js";

/** A rule about all messages of a request, of which a provider takes so many parts. */
interface RequestRule {
  readonly rule: StructureRule;
  readonly problem: string;
  readonly done: string;
  /** The messages with the newest parts, one for one; the same list if all stay. */
  readonly keep: (messages: readonly BaseMessage[], criteria: StructureCriteria) => readonly BaseMessage[];
}

/** The rules S38 and S39. */
const requestRules: readonly RequestRule[] = [
  {
    rule: "S38",
    problem: "The request has more marks of a prompt cache than four, or one for an hour behind a shorter one.",
    done: "Took a mark of a prompt cache.",
    keep: (messages, { marks }) => withinMarks(messages, marks),
  },
  {
    rule: "S39",
    problem: "The request has more pictures and files than the provider takes.",
    done: "Left out a picture or a file.",
    keep: (messages, { profile }) => withinMedia(messages, profile.maxMedia),
  },
];

/** Checks the parts of a request: rules S38 and S39. A stored history may have any number of them. */
export function checkRequest(context: StructureContext, report: ReportFinding): void {
  for (const { rule, problem, keep } of rulesFor(context)) {
    keep(context.messages, context).forEach((message, index) => {
      if (message !== context.messages[index]) {
        report({ rule, index, message: problem });
      }
    });
  }
}

/** The messages with no more parts than a request may have; calls `told` for each that changes. */
export function keepNewest(
  messages: readonly BaseMessage[],
  criteria: StructureCriteria,
  told: (change: Pick<RequestRule, "rule" | "done">, index: number) => void,
): readonly BaseMessage[] {
  return rulesFor(criteria).reduce((before, { keep, ...change }) => {
    const after = keep(before, criteria);
    after.forEach((message, index) => message !== before[index] && told(change, index));
    return after;
  }, messages);
}

function rulesFor({ purpose, marks, profile }: StructureCriteria): readonly RequestRule[] {
  const isRequest = purpose === "model-input" || marks !== undefined;
  return isRequest ? requestRules.filter(({ rule }) => profile.rules[rule] === "error") : [];
}

/** Notes stand for the oldest pictures and files. Linear. */
function withinMedia(messages: readonly BaseMessage[], max = Infinity): readonly BaseMessage[] {
  const isMedia = ({ type }: Block) => mediaKinds.has(type);
  let excess = max === Infinity ? 0 : messages.flatMap(blocksOf).filter(isMedia).length - max;
  const formOf = (block: Block): readonly Block[] => {
    const media = excess > 0 ? mediaIn(block) : undefined;
    excess -= media === undefined ? 0 : 1;
    return [media === undefined ? block : mediaLeftOut(media)];
  };
  return excess <= 0 ? messages : mapSame(messages, (message) => [mapBlocks(message, formOf)]);
}

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
function marksIn(blocks: readonly unknown[]): readonly Fields[] {
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
