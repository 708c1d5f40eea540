import type { BaseMessage } from "@langchain/core/messages";
import { dropKwarg, inForm } from "../../messages/change-message.js";
import { isCallBlock } from "../../messages/copies/call-places.js";
import { changeContent, plainAnswer } from "../../messages/copies/change-content.js";
import { editAll } from "../../messages/copies/edit-message.js";
import { callsOf, compactionIn } from "../../messages/calls.js";
import {
  type Block,
  blocksOf,
  contentOf,
  isBlankText,
  isStandardContent,
  saysNothing,
} from "../../messages/content.js";
import { type Speaker, speakerOf } from "../../messages/roles.js";
import { plainBlock, refusalOf } from "../adapters/blocks.js";
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
    const isLast = speakerOf(message) === "assistant" ? isCallBlock : isNotResult;
    const changed = editAll(message, {
      blocks: (blocks) => [...blocks.filter((block) => !isLast(block)), ...blocks.filter(isLast)],
    });
    return { message: changed, done: "Put the blocks of the message in order." };
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
    if (isBlank && speaker === "assistant" && refusalOf(message) !== undefined) {
      return { message: inForm(message, { content: "" }), done: "Removed blank text beside a refusal." };
    }
    if (!isBlank || (speaker === "assistant" && callsOf(message).length > 0)) {
      const done = isBlank ? "Removed blank text beside tool calls." : "Removed blank text.";
      return { message: withoutBlankText(message), done };
    }
    if (speaker === "system" || (speaker === "assistant" && emptyMessages === "drop")) {
      return { done: "Removed an empty message." };
    }
    const filled = speaker === "assistant" ? plainAnswer : changeContent;
    return { message: filled(message, fillers[speaker]), done: "Replaced empty content by a placeholder." };
  },
};

function withoutBlankText(message: BaseMessage): BaseMessage {
  return editAll(message, {
    pieces: (pieces) => pieces.map((text) => (text.trim() === "" ? undefined : text)),
    blocks: (blocks) => blocks.filter((block) => !isBlankText(block)),
  });
}

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
    return holdsForgottenCalls(message)
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
    const clean = holdsForgottenCalls(message) ? dropKwarg(message, "tool_calls") : message;
    return {
      message: plainAnswer(clean, fillers.assistant),
      done: "Replaced empty content by a placeholder.",
    };
  },
};

/** The Responses API reads an item in which it compacted the conversation. */
function isEmpty(message: BaseMessage, { adapter }: StructureProfile): boolean {
  return saysNothing(message) && (adapter !== "openai-responses" || compactionIn(message) === undefined);
}

function holdsForgottenCalls(message: BaseMessage): boolean {
  return (
    Array.isArray((message.additional_kwargs as Record<string, unknown>)?.["tool_calls"]) &&
    callsOf(message).length === 0
  );
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
    const changed = editAll(message, {
      pieces: (pieces) => pieces.map((text, place) => (place === pieces.length - 1 ? text.trimEnd() : text)),
    });
    return { message: changed, done: "Removed white space at the end." };
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
    const changed = editAll(message, {
      pieces: (pieces) => pieces.map(() => undefined),
      blocks: (blocks) => blocks.filter((block) => block.type !== "text"),
    });
    return { message: changed, done: "Removed the text beside tool calls." };
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

/** S29: a call is given once. */
export const noDoubledCalls: MessageRule = {
  rule: "S29",
  find(message, { context }) {
    if (speakerOf(message) !== "assistant" || !Array.isArray(message.content)) {
      return undefined;
    }
    const { types = [], required = false, standard = "refused" } = context.profile.callBlocks ?? {};
    const blocks = blocksOf(message).filter(isCallBlock);
    const others = blocksOf(message).filter(
      (block) => !isCallBlock(block) && !isForeign(block, message, context.profile),
    ).length;
    if (isStandardContent(message) && standard !== "refused") {
      return blocks.length > 0 && others === 0 && standard === "beside-text"
        ? "The content holds nothing but tool calls."
        : undefined;
    }
    if (blocks.some(({ type }) => !types.includes(type))) {
      return "The content repeats a tool call.";
    }
    return required && !sameIds(blocks, message)
      ? "The content does not repeat the tool calls of the message."
      : undefined;
  },
  repair(message, { context }) {
    const rest = blocksOf(message).filter((block) => !isCallBlock(block));
    const required = context.profile.callBlocks?.required === true;
    const repeated = required
      ? callsOf(message).map(({ id, name, args }) => ({ type: "tool_use", id, name, input: args }) as Block)
      : [];
    const content = rest.length === 0 ? "" : [...rest, ...repeated];
    return {
      message: changeContent(message, content),
      done: "Made the content hold each tool call as the provider expects.",
    };
  },
};

function sameIds(blocks: readonly Block[], message: BaseMessage): boolean {
  const sorted = (ids: readonly unknown[]) => ids.map(String).sort().join("\n");
  return sorted(blocks.map((block) => block["id"])) === sorted(callsOf(message).map(({ id }) => id));
}
