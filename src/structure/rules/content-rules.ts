import type { BaseMessage } from "@langchain/core/messages";
import { dropKwarg, inForm } from "../../messages/change-message.js";
import { isCallBlock } from "../../messages/copies/call-places.js";
import { changeContent, textAnswer } from "../../messages/copies/change-content.js";
import { editMessage } from "../../messages/copies/edit-message.js";
import { callsOf, compactionIn } from "../../messages/calls.js";
import {
  type Block,
  blocksOf,
  contentOf,
  isBlankText,
  isStandardContent,
  saysNothing,
  textBlock,
} from "../../messages/content.js";
import { isSignedThought } from "../../messages/copies/thoughts.js";
import { type Speaker, speakerOf } from "../../messages/roles.js";
import { plainAnswer, plainBlock, spokenText } from "../../messages/copies/plain-answer.js";
import { hasForgottenCalls } from "../adapters/blocks.js";
import { inWords } from "../adapters/question.js";
import type { MessageRule } from "./rules.js";
import type { StructureProfile } from "../profiles/profile.js";

const fillers: Readonly<Record<Speaker, string>> = {
  system: "",
  user: "(empty message)",
  assistant: "(no answer)",
  tool: "(empty result)",
  other: "(empty message)",
};

/** S14: calls come after all text, results before it. */
export const orderInMessage: MessageRule = {
  rule: "S14",
  find(message) {
    const speaker = speakerOf(message);
    if (speaker === "assistant" && standsBehind(message, { early: isCallBlock, late: isText })) {
      return "Text comes after a tool call.";
    }
    return speaker === "user" && standsBehind(message, { early: isNotResult, late: isResult })
      ? "Something comes before a tool result."
      : undefined;
  },
  repair(message) {
    const blocks = blocksOf(message);
    const ordered = [...blocks.filter(isResult), ...blocks.filter(isNotResult)];
    return {
      message: speakerOf(message) === "assistant" ? plainAnswer(message) : changeContent(message, ordered),
      done: "Put the blocks of the message in order.",
    };
  },
};

const isText = (block: Block) => block.type === "text";
const isResult = (block: Block) => block.type === "tool_result";
const isNotResult = (block: Block) => !isResult(block);

function standsBehind(
  message: BaseMessage,
  { early, late }: Record<"early" | "late", (block: Block) => boolean>,
): boolean {
  const blocks = blocksOf(message);
  const first = blocks.findIndex(early);
  return first !== -1 && blocks.slice(first).some(late);
}

/** S15: no empty or blank text. */
export const noBlankText: MessageRule = {
  rule: "S15",
  find(message, { context }) {
    const { content } = message as { content: unknown };
    const refusesBlank = context.profile.blankText !== "accepted";
    const mayBeEmpty = speakerOf(message) === "assistant";
    if (typeof content === "string") {
      const blank = content.trim() === "" && !(content === "" && mayBeEmpty);
      return refusesBlank && blank ? "The text is empty or blank." : undefined;
    }
    if (blocksOf(message).length === 0) {
      return "The content is an empty list.";
    }
    return refusesBlank && blocksOf(message).some(isBlankText) ? "A text block is empty or blank." : undefined;
  },
  repair(message, { choices: { emptyMessages } }) {
    const isBlank = blocksOf(message).every(isBlankText);
    const speaker = speakerOf(message);
    if (isBlank && speaker === "assistant" && spokenText(message) !== "") {
      return { message: inForm(message, { content: "" }), done: "Removed blank text beside a refusal." };
    }
    if (!isBlank || (speaker === "assistant" && callsOf(message).length > 0)) {
      const done = isBlank ? "Removed blank text beside tool calls." : "Removed blank text.";
      return { message: withoutBlankText(message), done };
    }
    if (speaker === "system" || (speaker === "assistant" && emptyMessages === "drop")) {
      return { done: "Removed an empty message." };
    }
    const filled = speaker === "assistant" ? textAnswer : changeContent;
    return { message: filled(message, fillers[speaker]), done: "Replaced empty content by a placeholder." };
  },
};

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
  find(message, { context }) {
    if (speakerOf(message) !== "assistant") {
      return undefined;
    }
    if (isEmpty(message, context.profile)) {
      return "The model neither says anything nor calls a tool.";
    }
    return hasForgottenCalls(message)
      ? "The message holds a list of raw tool calls but makes no tool call."
      : undefined;
  },
  repair(message, { context, choices: { emptyMessages } }) {
    if (!isEmpty(message, context.profile)) {
      return { message: dropKwarg(message, "tool_calls"), done: "Removed the list of raw tool calls." };
    }
    if (emptyMessages === "drop") {
      return { done: "Removed an empty message of the model." };
    }
    const clean = hasForgottenCalls(message) ? dropKwarg(message, "tool_calls") : message;
    return {
      message: textAnswer(clean, fillers.assistant),
      done: "Replaced empty content by a placeholder.",
    };
  },
};

/** The Responses API reads an item in which it compacted the conversation. */
function isEmpty(message: BaseMessage, { adapter }: StructureProfile): boolean {
  return saysNothing(message) && (adapter !== "openai-responses" || compactionIn(message) === undefined);
}

/** S17: the model's last message does not end in white space. */
export const noTrailingSpace: MessageRule = {
  rule: "S17",
  find(message, { context, index }) {
    const isPrefix =
      index === context.messages.length - 1 && context.purpose === "model-input" && callsOf(message).length === 0;
    const last = blocksOf(message).at(-1);
    return isPrefix && speakerOf(message) === "assistant" && last?.type === "text" && /\s$/.test(String(last["text"]))
      ? "The model's last message ends in white space."
      : undefined;
  },
  repair(message) {
    return {
      message: editMessage(message, { text: (text) => text.trimEnd() }),
      done: "Removed white space at the end.",
    };
  },
};

/** S18: no text beside calls. */
export const noTextBesideCalls: MessageRule = {
  rule: "S18",
  find(message) {
    const hasText = blocksOf(message).some((block) => block.type === "text");
    return hasText && callsOf(message).length > 0 ? "The message has text beside its tool calls." : undefined;
  },
  repair(message) {
    return { message: plainAnswer(message, { content: "" }), done: "Removed the text beside tool calls." };
  },
};

/** S27: only blocks that the role may hold. */
export const noForeignBlocks: MessageRule = {
  rule: "S27",
  find(message, { context }) {
    const blocks = blocksOf(message);
    const rest = blocks.filter((block) => !isForeign(block, message, context.profile));
    const passes = rest.length === blocks.length || (isLeftOut(message) && !rest.every(isBlankText));
    return passes ? undefined : "A content block has a type that the provider does not accept for this role.";
  },
  repair(message, { context }) {
    const inRole = (block: Block) => (speakerOf(message) === "tool" ? [inWords(block)] : plainBlock(block));
    const blocks = blocksOf(message).flatMap((block) =>
      isForeign(block, message, context.profile) ? inRole(block) : [block],
    );
    return {
      message: changeContent(message, contentOf(blocks)),
      done: "Removed content that the provider rejects.",
    };
  },
};

/** Adapters drop unknown blocks of standard content; at least one block must remain. */
function isLeftOut(message: BaseMessage): boolean {
  return speakerOf(message) === "assistant" && isStandardContent(message);
}

/** Call blocks of AI messages are checked by S29 instead. */
function isForeign(block: Block, message: BaseMessage, { blocks, adapter }: StructureProfile): boolean {
  const speaker = speakerOf(message);
  if (speaker === "assistant" && adapter !== undefined) {
    return false;
  }
  const types = blocks?.[speaker];
  return types !== undefined && !types.includes(typeOf(block)) && !(speaker === "assistant" && isCallBlock(block));
}

/** Bedrock's marks for its cache are blocks without a type. */
function typeOf(block: Block): string {
  return (block as Partial<Block>).type ?? ("cachePoint" in block ? "cachePoint" : "unknown");
}
