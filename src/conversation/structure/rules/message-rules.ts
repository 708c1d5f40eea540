import { type BaseMessage, AIMessage, HumanMessage, SystemMessage } from "@langchain/core/messages";
import { inForm, changeMessage } from "../../messages/change-message.js";
import { changeContent, editMessage } from "../../messages/copies/edit-message.js";
import {
  callsOf,
  compactionIn,
  blocksOf,
  contentOf,
  isBlankText,
  saysNothing,
  textBlock,
  blockList,
} from "../../messages/content.js";
import type { Block } from "../../messages/content.js";
import { isSignedThought } from "../../messages/copies/thoughts.js";
import { type Speaker, speakerOf, isRecord, valueIn, type Fields } from "../../messages/message.js";
import { plainBlock, spokenText, plainAnswer, rawFieldsOf } from "../../messages/copies/plain-answer.js";
import { inWords } from "../adapters/question.js";
import type { MessageRule } from "./rules.js";
import type { StructureProfile, NameForm } from "../profiles/profile.js";
import { fitsForm } from "../profiles/neutral.js";
import { isPlainObject } from "../../../base/json.js";

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
  const isEmpty = typeof content === "string" ? blankText !== "accepted" && !isFromModel(message) : true;
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
    const isBroken = isFromModel(message) && saysNothingTo(message, context.profile);
    return isBroken ? { done: "Removed an empty message of the model." } : undefined;
  },
};

function isFromModel(message: BaseMessage): boolean {
  return speakerOf(message) === "assistant";
}

/** The Responses API reads an item in which it compacted the conversation. */
function saysNothingTo(message: BaseMessage, { adapter }: StructureProfile): boolean {
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

/** Fallback for a tool without a name. */
const unnamedTool = "unknown_tool";

/** S19: the arguments of a call are an object. */
export const readableCalls: MessageRule = {
  rule: "S19",
  problem: "The arguments of a tool call are not an object.",
  repair(message) {
    const changed = editMessage(message, {
      calls: ({ readable, args, name }) => (readable ? undefined : { name: name || unnamedTool, args: objectOf(args) }),
    });
    return changed === message
      ? undefined
      : { message: changed, done: "Wrapped the arguments of a tool call in an object." };
  },
};

/** The arguments as an object: parsed JSON, else the raw value wrapped in one. */
function objectOf(args: unknown): Record<string, unknown> {
  if (args === undefined || args === null || args === "") {
    return {};
  }
  if (typeof args !== "string") {
    return { value: args };
  }
  const parsed = valueIn(args);
  if (parsed === undefined) {
    return { INVALID_JSON: args };
  }
  return isRecord(parsed) ? parsed : { value: parsed };
}

/** S20: a tool result names the tool that was called. */
export const namedResults: MessageRule = {
  rule: "S20",
  problem: "The tool result does not name the tool that was called.",
  repair(message, { context, index }) {
    const name = context.links.callOf[index]?.name || message.name || unnamedTool;
    return speakerOf(message) !== "tool" || message.name === name
      ? undefined
      : { message: changeMessage(message, { name }), done: "Named the tool." };
  },
};

/** S26: names have the form that the provider accepts. */
export const wellFormedNames: MessageRule = {
  rule: "S26",
  problem: "A speaker or a tool has a name with characters or a length that the provider rejects.",
  repair(message, { context }) {
    const form = context.profile.names;
    const changed = form === undefined ? message : renameSpeaker(renameTools(message, form), form);
    return changed === message
      ? undefined
      : { message: changed, done: "Changed a name to the form that the provider accepts." };
  },
};

function renameTools(message: BaseMessage, form: NameForm): BaseMessage {
  return editMessage(message, {
    calls: ({ name }) => (fits(name, form) ? undefined : { name: fit(name, form) || unnamedTool }),
  });
}

function renameSpeaker(message: BaseMessage, form: NameForm): BaseMessage {
  if (message.name === undefined || message.name === null || fits(message.name, form)) {
    return message;
  }
  const name = fit(String(message.name), form) || (speakerOf(message) === "tool" ? unnamedTool : undefined);
  return changeMessage(message, { name });
}

function fits(name: unknown, form: NameForm): boolean {
  return typeof name === "string" && fitsForm(name, { ...form, minLength: 1 });
}

/** Replaces each rejected character by an underscore, and truncates. */
function fit(name: string, { characters, maxLength }: NameForm): string {
  return Array.from(name.slice(0, maxLength), (character) => (characters.includes(character) ? character : "_")).join(
    "",
  );
}

/** S31: the provider knows every role. */
export const knownRoles: MessageRule = {
  rule: "S31",
  problem: "The provider does not know the role of the message.",
  repair(message) {
    if ((message.getType() as string) !== "generic" && speakerOf(message) !== "other") {
      return undefined;
    }
    return message.getType() === "remove"
      ? { done: "Removed a message of an unknown role." }
      : { message: typed(message), done: "Gave the message a role that the provider knows." };
  },
};

/** The message as the LangChain class of its role, else as a `HumanMessage`. */
function typed(message: BaseMessage): BaseMessage {
  const speaker = speakerOf(message);
  const { content, name, id, additional_kwargs, response_metadata } = message;
  const Type = speaker === "assistant" ? AIMessage : speaker === "system" ? SystemMessage : HumanMessage;
  return new Type({ content, name, id, additional_kwargs, response_metadata } as never);
}

/** S37: a block of text has one, and no text, name or key holds half of a surrogate pair, which JSON cannot hold. */
export const wellFormedText: MessageRule = {
  rule: "S37",
  problem: "A block of text has none, or a text holds half of a surrogate pair.",
  repair(message) {
    const isAnswer = speakerOf(message) === "assistant";
    const sent = { ...(isAnswer && rawFieldsOf(message)), ...ownFields(message) };
    if (wellFormed(sent) === sent && (isAnswer || !blockList(message).some(lacksText))) {
      return undefined;
    }
    // A signed thought cannot be changed, and is left out.
    const base = isAnswer ? plainAnswer(message) : message;
    const content = blockList(base).some(lacksText)
      ? contentOf(blockList(base).filter((block) => !lacksText(block)))
      : base.content;
    const changed = wellFormed({ ...ownFields(base), content }) as Fields;
    return { message: inForm(base, changed), done: "Replaced halves of surrogate pairs, and left out missing texts." };
  },
};

function lacksText({ type, text }: Block): boolean {
  return type === "text" && typeof text !== "string";
}

function ownFields(message: BaseMessage): Fields {
  const { content, name, tool_calls, invalid_tool_calls } = message as AIMessage;
  const { tool_call_id } = message as { readonly tool_call_id?: unknown };
  const fields = { content, name, tool_calls, invalid_tool_calls, tool_call_id };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** Deeper values are left as they are, and those that hold themselves: no adapter can make JSON of them. */
const maxDepth = 2_000;

/** True for a value whose elements are looked at: as deep as `holders`, which hold it. */
function isOpen(value: unknown, holders: ReadonlySet<unknown>): value is object {
  return (Array.isArray(value) || isPlainObject(value)) && !holders.has(value) && holders.size <= maxDepth;
}

/** The value with each half of a pair replaced by U+FFFD; itself if it has none. */
function wellFormed(value: unknown, holders: Set<unknown> = new Set()): unknown {
  if (typeof value === "string") {
    return value.toWellFormed();
  }
  if (!isOpen(value, holders)) {
    return value;
  }
  holders.add(value);
  let isSame = true;
  const made = new Map<string, unknown>();
  for (const [key, own] of Object.entries(value)) {
    let name = key.toWellFormed();
    while (made.has(name)) {
      name += "\ufffd";
    }
    const formed = wellFormed(own, holders);
    isSame &&= Object.is(formed, own) && name === key;
    made.set(name, formed);
  }
  holders.delete(value);
  return isSame ? value : Array.isArray(value) ? [...made.values()] : Object.fromEntries(made);
}
