import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import { isPlainObject } from "../../../base/json-value.js";
import { inForm } from "../../messages/change-message.js";
import { type Block, blockList, contentOf } from "../../messages/content.js";
import { plainAnswer, rawFieldsOf } from "../../messages/copies/plain-answer.js";
import { speakerOf } from "../../messages/roles.js";
import type { Fields } from "../../messages/values.js";
import type { MessageRule } from "./rules.js";

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
