import type { BaseMessage } from "@langchain/core/messages";
import { callsOf } from "../../messages/calls.js";
import { contentText, textOf } from "../../messages/content.js";
import { itemIdKeys } from "../../messages/copies/answer-fields.js";
import { editAll } from "../../messages/copies/edit-message.js";
import { isCallItem, outputItems } from "../../messages/copies/output-items.js";
import { isReasoningId, isThought, thoughtIn } from "../../messages/copies/thoughts.js";
import { type Fields, fieldsOf, without } from "../../messages/values.js";
import type { AnswerForm, FormFacts } from "./adapter.js";
import { formedContent, isText, plainBlock, unmarked, withForm, withoutForgottenCalls } from "./blocks.js";
import { mayComeFrom } from "./origin.js";
import { withFunctionCalls } from "./own-tools.js";
import { plainAnswer } from "./plain.js";

/**
 * The Responses API, through ChatOpenAI, which sends `response_metadata.output` as it is if there is one, and else the
 * content, `additional_kwargs.reasoning` and `tool_calls`. The raw output stays where it tells what the answer tells.
 */
export const responsesAnswer: AnswerForm = (message, facts) => {
  if (!mayComeFrom(message, ["openai"])) {
    return withoutItemId(plainAnswer(message));
  }
  const readable = withReadableThoughts(message, facts);
  const items = outputItems(fieldsOf(readable.response_metadata)["output"]);
  const isUnanswered = facts.ownToolPart === "unanswered-by-picture";
  if (items !== undefined && !isUnanswered && tellsTheSame(items, readable) && items.every(isAnswered)) {
    return withForm(readable, { response_metadata: unmarked(readable) });
  }
  // The ids of items go with the raw output.
  return withFunctionCalls(withoutOutput(readable), { all: isUnanswered || items !== undefined });
};

/** Calls of OpenAI's own tools that run with the user: no message of LangChain answers them, but for hosted ones. */
const localCalls: ReadonlySet<unknown> = new Set(["local_shell_call", "shell_call", "apply_patch_call"]);

function isAnswered({ type, call_id: id }: Fields, _: number, items: readonly Fields[]): boolean {
  const isResult = (item: Fields) => item["type"] === `${String(type)}_output` && item["call_id"] === id;
  return !localCalls.has(type) || items.some(isResult);
}

/** Without thoughts that the provider does not keep, and those that nothing follows. */
function withReadableThoughts(message: BaseMessage, { storesReasoning }: FormFacts): BaseMessage {
  const items = outputItems(fieldsOf(message.response_metadata)["output"]);
  const own = thoughtIn(fieldsOf(message.additional_kwargs)["reasoning"]);
  if (own === undefined && items?.some(isThought) !== true) {
    return message;
  }
  const last = items?.at(-1);
  const isAlone = last === undefined ? !saysSomething(message) : isThought(last);
  const lost = (block: Fields) => !storesReasoning && typeof block["encrypted_content"] !== "string";
  const goes = (block: Fields) =>
    (isReasoningId(block["id"]) && lost(block)) || (isAlone && (block === last || items === undefined));
  return editAll(message, { thoughts: ({ text, block }) => (goes(block) ? undefined : text) });
}

function saysSomething(message: BaseMessage): boolean {
  return callsOf(message).length > 0 || textOf(message).trim() !== "";
}

/** True if the items hold the calls and the text of the answer, and no other ones. */
function tellsTheSame(items: readonly Fields[], message: BaseMessage): boolean {
  const called = items.filter(isCallItem);
  const calls = callsOf(message);
  const isSame = called.length === calls.length && called.every(({ call_id: id }, place) => id === calls[place]!.id);
  const said = items.flatMap(({ type, content }) => (type === "message" && Array.isArray(content) ? content : []));
  const told = said.map((part: unknown) => fieldsOf(part)["text"]).filter((text) => typeof text === "string");
  return isSame && told.join("") === contentText(message.content);
}

/** The answer without its raw output: texts and calls, and the thought that stands in the other fields. */
function withoutOutput(message: BaseMessage): BaseMessage {
  const kwargs = fieldsOf(withoutForgottenCalls(message).additional_kwargs);
  const hadOutput = fieldsOf(message.response_metadata)["output"] !== undefined;
  const keepsThought = !hadOutput && thoughtIn(kwargs["reasoning"]) !== undefined && saysSomething(message);
  const lost = keepsThought ? [] : ["reasoning", "tool_outputs", ...itemIdKeys];
  const formed = withForm(message, {
    content: formedContent(message.content, (block) =>
      isText(block) || block.type === "output_text" || block.type === "refusal" ? [block] : plainBlock(block),
    ),
    additional_kwargs: withoutLocalCalls(without(kwargs, ...lost)),
    response_metadata: without(unmarked(message), "output"),
  });
  return keepsThought ? formed : withoutItemId(formed);
}

/** ChatOpenAI sends these items besides `tool_calls`, which hold the calls of the computer too. */
function withoutLocalCalls(kwargs: Fields): Fields {
  const { tool_outputs: items } = kwargs;
  const stays = (item: unknown) => !localCalls.has(fieldsOf(item)["type"]) && !isCallItem(fieldsOf(item));
  return !Array.isArray(items) || items.every(stays) ? kwargs : { ...kwargs, tool_outputs: items.filter(stays) };
}

/** ChatOpenAI sends an id that looks like an item's; Anthropic's look the same. */
export function withoutItemId(message: BaseMessage): BaseMessage {
  return message.id?.startsWith("msg_") === true ? withForm(message, { id: undefined }) : message;
}
