import type { BaseMessage } from "@langchain/core/messages";
import { callsOf } from "../../messages/calls.js";
import { type Block, blocksOf } from "../../messages/content.js";
import { isCallBlock } from "../../messages/copies/call-places.js";
import { outputItems } from "../../messages/copies/output-items.js";
import { isThought } from "../../messages/copies/thoughts.js";
import { speakerOf } from "../../messages/roles.js";
import { fieldsOf } from "../../messages/values.js";
import type { StructureRule } from "../rules/rules.js";
import type { Adapter, AnswerForm, FormFacts } from "./adapter.js";
import { anthropicAnswer } from "./anthropic.js";
import { bedrockAnswer } from "./bedrock.js";
import { withoutMadeUpCalls } from "./blocks.js";
import { responsesResult } from "./own-tools.js";
import { googleAnswer, googleGenaiAnswer } from "./google.js";
import { neutralAnswer, plainOfReadable } from "./neutral.js";
import { responsesAnswer } from "./openai-responses.js";
import { chatAnswer, mistralAnswer } from "./plain.js";
import { questionForm, resultForm } from "./question.js";

const forms: Readonly<Record<Adapter, AnswerForm>> = {
  "openai-chat": chatAnswer,
  "openai-responses": responsesAnswer,
  anthropic: anthropicAnswer,
  google: googleAnswer,
  "google-genai": googleGenaiAnswer,
  mistral: mistralAnswer,
  bedrock: bedrockAnswer,
  deepseek: chatAnswer,
  neutral: neutralAnswer,
};

/** A message in the form that the adapter reads; the message itself if it has that form. */
export function formFor(adapter: Adapter, given: BaseMessage, facts: FormFacts): BaseMessage {
  const message = adapter === "neutral" ? given : plainOfReadable(given);
  const speaker = speakerOf(message);
  if (speaker === "assistant" && (message.getType() as string) === "ai") {
    return forms[adapter](withoutMadeUpCalls(message), facts);
  }
  if (speaker === "tool") {
    const isResponses = adapter === "openai-responses";
    return isResponses ? responsesResult(message, facts.ownToolPart) : resultForm(adapter, message);
  }
  return speaker === "user" ? questionForm(adapter, message) : message;
}

/** The rule that a message breaks which is not in the adapter's form: by what that form leaves out. */
export function brokenRule(message: BaseMessage, formed: BaseMessage): StructureRule {
  const lost = thoughtsIn(message) - thoughtsIn(formed);
  if (lost > 0) {
    return lost <= lastThoughts(message) ? "S21" : "S36";
  }
  if (itemsIn(formed) < itemsIn(message)) {
    return "S22";
  }
  const kept = new Set<unknown>(blocksOf(formed));
  const isLost = (block: Block) => !kept.has(block) && !isCallBlock(block) && typeof block["text"] !== "string";
  return blocksOf(message).some(isLost) ? "S27" : "S29";
}

function thoughtsIn(message: BaseMessage): number {
  return blocksOf(message).filter((block: Block) => isThought(block)).length;
}

/** The number of thoughts that end an answer without calls. */
function lastThoughts(message: BaseMessage): number {
  const blocks = blocksOf(message);
  return callsOf(message).length > 0 ? 0 : blocks.length - 1 - blocks.findLastIndex((block) => !isThought(block));
}

function itemsIn(message: BaseMessage): number {
  const items = outputItems(fieldsOf(message.response_metadata)["output"]) ?? [];
  return items.filter(isThought).length + (fieldsOf(message.additional_kwargs)["reasoning"] === undefined ? 0 : 1);
}
