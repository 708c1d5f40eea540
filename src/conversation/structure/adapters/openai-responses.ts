import type { BaseMessage } from "@langchain/core/messages";
import { callsOf } from "../../messages/calls.js";
import { blockList, contentText, isStandardContent, textOf } from "../../messages/content.js";
import { compactedItems, isCallItem, isOfModel, outputItems } from "../../messages/copies/output-items.js";
import { itemIdKeys } from "../../messages/copies/plain-answer.js";
import { isReasoningId, isThought, type Thought, thoughtIn } from "../../messages/copies/thoughts.js";
import { type Fields, fieldsOf, stringIn, without } from "../../messages/values.js";
import type { FormFacts, OwnForm } from "./adapter.js";
import { isText, unmarked, withForm } from "./blocks.js";
import { knowsItsCalls } from "./own-tools.js";

/**
 * The Responses API, through ChatOpenAI, which sends `response_metadata.output` as it is if there is one, and else the
 * content, `additional_kwargs.reasoning` and `tool_calls`.
 */
export const responsesAnswer: OwnForm = (message, facts) => {
  const items = outputItems(fieldsOf(message.response_metadata)["output"]);
  const sent = items ?? [fieldsOf(message.additional_kwargs)["reasoning"]];
  const thoughts = sent.flatMap((item) => thoughtIn(item) ?? []);
  const isUnsent = facts.isRepeated === true || facts.ownToolPart === "unanswered-by-picture";
  if (isUnsent || !thoughts.every((thought) => isKept(thought, facts))) {
    return undefined;
  }
  if (items === undefined) {
    return hasOwnFields(message) ? message : undefined;
  }
  const isWhole = !isThought(items.at(-1)) && tellsTheSame(items, message) && items.every(isAnswered);
  return isWhole ? withForm(message, { response_metadata: unmarked(message) }) : undefined;
};

/** True for a thought that the provider keeps, or that goes back with its encrypted content. */
function isKept({ block }: Thought, { storesReasoning }: FormFacts): boolean {
  return typeof block["encrypted_content"] === "string" || (storesReasoning && isReasoningId(block["id"]));
}

/** Without a raw output the ids of items stand beside one thought, and are taken together with it. */
function hasOwnFields(message: BaseMessage): boolean {
  const kwargs = fieldsOf(message.additional_kwargs);
  const hasThought = kwargs["reasoning"] !== undefined;
  const hasIds = message.id?.startsWith("msg_") === true || itemIdKeys.some((key) => kwargs[key] !== undefined);
  const saysSomething = callsOf(message).length > 0 || textOf(message).trim() !== "";
  const isSent = (block: { readonly type: string }) => block.type === "output_text" || block.type === "refusal";
  return (
    !isStandardContent(message) &&
    (hasThought ? saysSomething : !hasIds && kwargs["tool_outputs"] === undefined) &&
    knowsItsCalls(message) &&
    !hasLocalCalls(kwargs["tool_outputs"]) &&
    blockList(message).every((block) => isText(block) || isSent(block))
  );
}

/** Calls of OpenAI's own tools that run with the user: no message of LangChain answers them, but for hosted ones. */
const localCalls: ReadonlySet<unknown> = new Set(["local_shell_call", "shell_call", "apply_patch_call"]);

/** ChatOpenAI sends these items besides `tool_calls`, which hold the calls of the computer too. */
function hasLocalCalls(items: unknown): boolean {
  return Array.isArray(items) && items.map(fieldsOf).some((item) => localCalls.has(item["type"]) || isCallItem(item));
}

function isAnswered({ type, call_id: id }: Fields, _: number, items: readonly Fields[]): boolean {
  const isResult = (item: Fields) => item["type"] === `${String(type)}_output` && item["call_id"] === id;
  return !localCalls.has(type) || items.some(isResult);
}

/** True if the items hold as many calls and the text of the answer, and no other ones but what was compacted. */
function tellsTheSame(items: readonly Fields[], message: BaseMessage): boolean {
  // A compaction stands among messages of the user that it keeps.
  const said = items.filter(isOfModel).flatMap(({ content }) => (Array.isArray(content) ? content : []));
  const told = said.map((part: unknown) => fieldsOf(part)["text"]).filter((text) => typeof text === "string");
  return items.filter(isCallItem).length === callsOf(message).length && told.join("") === contentText(message.content);
}

/**
 * A plain answer for ChatOpenAI. A compaction goes out as items, without ids, of which OpenAI takes each once; the rest
 * of the answer does too, because ChatOpenAI sends nothing but items then.
 */
export const plainForResponses: OwnForm = (message) => {
  const metadata = fieldsOf(message.response_metadata);
  const compacted = compactedItems(metadata["output"]).map((item) => without(item, "id"));
  if (compacted.length === 0) {
    return withoutItemId(message);
  }
  const text = contentText(message.content);
  const content = [{ type: "output_text", text, annotations: [] }];
  const called = callsOf(message).map(({ id, name, args }) => {
    return { type: "function_call", call_id: id, name, arguments: stringIn(args) ?? JSON.stringify(args) };
  });
  const said = text === "" ? [] : [{ type: "message", role: "assistant", content }];
  return withForm(message, { response_metadata: { ...metadata, output: [...compacted, ...said, ...called] } });
};

/** ChatOpenAI sends an id that looks like an item's; Anthropic's look the same. */
export function withoutItemId(message: BaseMessage): BaseMessage {
  return message.id?.startsWith("msg_") === true ? withForm(message, { id: undefined }) : message;
}
