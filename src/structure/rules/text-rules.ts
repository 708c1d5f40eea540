import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import { jsonText } from "../../base/json-text.js";
import { isPlainObject } from "../../base/json-value.js";
import { inForm } from "../../messages/change-message.js";
import { type Block, blockList, contentOf } from "../../messages/content.js";
import { plainAnswer, rawFieldsOf } from "../../messages/copies/plain-answer.js";
import { speakerOf } from "../../messages/roles.js";
import type { Fields } from "../../messages/values.js";
import type { MessageRule } from "./rules.js";

/** S37: a block of text has one, and no text, name or key holds half of a surrogate pair, which JSON cannot hold. */
export const wellFormedText: MessageRule = {
  rule: "S37",
  find(message) {
    const isAnswer = speakerOf(message) === "assistant";
    if (!isAnswer && blockList(message).some(lacksText)) {
      return "A block of text has none.";
    }
    const sent = { ...(isAnswer && rawFieldsOf(message)), ...ownFields(message) };
    return halfPair.test(jsonText(sent) ?? "") ? "A text holds half of a surrogate pair." : undefined;
  },
  repair(message) {
    const isAnswer = speakerOf(message) === "assistant";
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

/** An escape of half a pair in JSON, which no backslash in front of it makes a text. */
const halfPair = /(?<!\\)(?:\\\\)*\\ud[89a-f]/;

/** The value with each half of a pair replaced by U+FFFD. */
function wellFormed(value: unknown): unknown {
  if (typeof value === "string") {
    return value.toWellFormed();
  }
  if (Array.isArray(value)) {
    return value.map(wellFormed);
  }
  if (!isPlainObject(value)) {
    return value;
  }
  const made = new Map<string, unknown>();
  for (const [key, own] of Object.entries(value)) {
    let name = key.toWellFormed();
    while (made.has(name)) {
      name += "\ufffd";
    }
    made.set(name, wellFormed(own));
  }
  return Object.fromEntries(made);
}
