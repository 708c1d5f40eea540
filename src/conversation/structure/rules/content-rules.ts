import type { BaseMessage } from "@langchain/core/messages";
import { inForm } from "../../messages/change-message.js";
import { changeContent } from "../../messages/copies/change-content.js";
import { callsOf, compactionIn } from "../../messages/calls.js";
import { type Block, blocksOf, contentOf, isBlankText, saysNothing, textBlock } from "../../messages/content.js";
import { isSignedThought } from "../../messages/copies/thoughts.js";
import { type Speaker, speakerOf } from "../../messages/roles.js";
import { plainBlock, spokenText } from "../../messages/copies/plain-answer.js";
import { inWords } from "../adapters/question.js";
import type { MessageRule } from "./rules.js";
import type { StructureProfile } from "../profiles/profile.js";

/** Placeholders of empty messages; those of the system and the model are removed. */
const fillers: Readonly<Partial<Record<Speaker, string>>> = {
  user: "(empty message)",
  tool: "(empty result)",
  other: "(empty message)",
};

/** S15: no empty or blank text. */
export const noBlankText: MessageRule = {
  rule: "S15",
  problem: "The content or a text of it is empty or blank.",
  repair(message, { context }) {
    if (!hasBlankText(message, context.profile)) {
      return undefined;
    }
    const isBlank = blocksOf(message).every(isBlankText);
    const speaker = speakerOf(message);
    if (isBlank && speaker === "assistant" && spokenText(message) !== "") {
      return { message: inForm(message, { content: "" }), done: "Removed blank text beside a refusal." };
    }
    if (!isBlank || (speaker === "assistant" && callsOf(message).length > 0)) {
      const done = isBlank ? "Removed blank text beside tool calls." : "Removed blank text.";
      return { message: withoutBlankText(message), done };
    }
    const filler = fillers[speaker];
    return filler === undefined
      ? { done: "Removed an empty message." }
      : { message: changeContent(message, filler), done: "Replaced empty content by a placeholder." };
  },
};

/** An answer may have no text at all, beside its calls or a refusal. */
function hasBlankText(message: BaseMessage, { blankText }: StructureProfile): boolean {
  const { content } = message as { content: unknown };
  const blocks = blocksOf(message);
  const isEmpty = typeof content === "string" ? blankText !== "accepted" && !isAnswer(message) : true;
  return blocks.length === 0 ? isEmpty : blankText !== "accepted" && blocks.some(isBlankText);
}

/** Claude's thoughts stay apart: what stood between two of them is a part of what they were made behind. */
function withoutBlankText(message: BaseMessage): BaseMessage {
  const blocks = blocksOf(message);
  const left = blocks.flatMap((block, index) =>
    !isBlankText(block)
      ? [block]
      : isSignedThought(blocks[index - 1]) && isSignedThought(blocks[index + 1])
        ? [gap]
        : [],
  );
  return inForm(message, { content: contentOf(left) });
}

/** Anthropic takes no empty text, and thoughts of an open step as they were given. */
const gap = textBlock("...");

/** S16: the model says something or calls a tool. */
export const noEmptyAnswer: MessageRule = {
  rule: "S16",
  problem: "The model neither says anything nor calls a tool.",
  repair(message, { context }) {
    const isBroken = isAnswer(message) && isEmpty(message, context.profile);
    return isBroken ? { done: "Removed an empty message of the model." } : undefined;
  },
};

function isAnswer(message: BaseMessage): boolean {
  return speakerOf(message) === "assistant";
}

/** The Responses API reads an item in which it compacted the conversation. */
function isEmpty(message: BaseMessage, { adapter }: StructureProfile): boolean {
  return saysNothing(message) && (adapter !== "openai-responses" || compactionIn(message) === undefined);
}

/** S27: only blocks that the role may hold. */
export const noForeignBlocks: MessageRule = {
  rule: "S27",
  problem: "A content block has a type that the provider does not accept for this role.",
  repair(message, { context }) {
    const isRefused = (block: Block) => isForeign(block, message, context.profile);
    const inRole = (block: Block) => (speakerOf(message) === "tool" ? [inWords(block)] : plainBlock(block));
    const blocks = blocksOf(message).flatMap((block) => (isRefused(block) ? inRole(block) : [block]));
    return blocksOf(message).some(isRefused)
      ? { message: changeContent(message, contentOf(blocks)), done: "Removed content that the provider rejects." }
      : undefined;
  },
};

/** Blocks of answers are a matter of S36. */
function isForeign(block: Block, message: BaseMessage, { blocks }: StructureProfile): boolean {
  const speaker = speakerOf(message);
  const types = speaker === "assistant" ? undefined : blocks?.[speaker];
  return types !== undefined && !types.includes(typeOf(block));
}

/** Bedrock's marks for its cache are blocks without a type. */
function typeOf(block: Block): string {
  return (block as Partial<Block>).type ?? ("cachePoint" in block ? "cachePoint" : "unknown");
}
