import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import { sameAsJson } from "../../../base/json-text.js";
import { answeredId, callIdsOf, mayCall, type Block, blockList } from "../../messages/content.js";
import { outputItems } from "../../messages/copies/thoughts.js";
import { itemIdKeys } from "../../messages/copies/plain-answer.js";
import { imageBlock, mediaIn } from "../../messages/media.js";
import { isScreenshot, fieldsOf, recordsIn, without, speakerOf, stringIn } from "../../messages/message.js";
import type { Fields } from "../../messages/message.js";
import type { Adapter, RequestPlace } from "./adapter.js";
import { formedContent, withForm } from "./blocks.js";
import { inWords, resultContent, documentNames } from "./question.js";

/**
 * The part of a message in the use of OpenAI's own kinds of tools: the result of a call of a custom tool, whose
 * argument is free text, or of a call of the computer; an answer that called the computer, which then showed nothing.
 */
export type OwnToolPart = "custom-result" | "computer-result" | "unanswered-by-picture";

interface OwnCall {
  readonly part: "custom-result" | "computer-result";
  readonly index: number;
}

const partOfItem: ReadonlyMap<unknown, OwnCall["part"]> = new Map([
  ["custom_tool_call", "custom-result"],
  ["computer_call", "computer-result"],
]);

/**
 * The calls of own tools, as far as ChatOpenAI sends them as such: the items of a raw output go out as they are, and
 * else it looks at the calls.
 */
function ownCalls(message: BaseMessage): readonly (readonly [unknown, OwnCall["part"]])[] {
  const items = outputItems(fieldsOf(message.response_metadata)["output"]);
  if (items !== undefined) {
    return items.flatMap(({ type, call_id: id }) => (partOfItem.has(type) ? [[id, partOfItem.get(type)!]] : []));
  }
  const itemIds = fieldsOf(fieldsOf(message.additional_kwargs)[itemIdKeys[1]]);
  return recordsIn((message as AIMessage).tool_calls).flatMap((call: Fields) => {
    const isFreeText = call["isCustomTool"] === true || Object.hasOwn(itemIds, String(call["id"]));
    const part = isFreeText ? "custom-result" : call["isComputerTool"] === true ? "computer-result" : undefined;
    return part === undefined ? [] : [[call["id"], part] as const];
  });
}

/** Parts by the indices of their messages. */
type OwnToolParts = ReadonlyMap<number, OwnToolPart>;

/** The parts that messages have in the use of own tools. Linear. */
function ownToolParts(messages: readonly BaseMessage[]): OwnToolParts {
  const [open, parts] = [new Map<unknown, OwnCall>(), new Map<number, OwnToolPart>()];
  messages.forEach((message, index) => {
    if (mayCall(message)) {
      // An id may come again, for a call of another tool.
      callIdsOf(message).forEach((id) => open.delete(id));
      ownCalls(message).forEach(([id, part]) => open.set(id, { part, index }));
      return;
    }
    const call = open.get(answeredId(message) ?? open);
    if (call !== undefined) {
      parts.set(index, call.part);
    }
    if (call?.part === "computer-result" && !showsPicture(message)) {
      parts.set(call.index, "unanswered-by-picture");
    }
  });
  return parts;
}

/** OpenAI takes nothing but a picture from a computer. */
function showsPicture(message: BaseMessage): boolean {
  const { content } = message;
  return typeof content === "string"
    ? /^(?:https?:|data:image\/)/.test(content)
    : blockList(message).some((block) => isPicture(block) || imageOf(block) !== undefined);
}

/** True for a picture of which ChatOpenAI makes the output of a call of the computer. */
function isPicture({ type }: Block): boolean {
  return type === "input_image" || type === "image_url" || (type as string) === "computer_screenshot";
}

function imageOf(block: Block): Block | undefined {
  const media = mediaIn(block);
  return media && imageBlock(media);
}

const marks = { custom: "customTool", computer: "computer_call_output" };

/**
 * ChatOpenAI sends a result by its mark as the output of a custom tool or of the computer, and any other one as that of
 * a function's call. For custom tools it sends the content as it is.
 */
export function responsesResult(message: BaseMessage, part: OwnToolPart | undefined): BaseMessage {
  const { additional_kwargs: given } = message;
  const fields = fieldsOf(given);
  const wrong = [...(fields[marks.custom] ? [marks.custom] : []), ...(isScreenshot(message) ? ["type"] : [])];
  const bare = without(fields, ...wrong);
  const marked = {
    ...bare,
    ...(part === "custom-result" && { [marks.custom]: true }),
    ...(part === "computer-result" && { type: marks.computer }),
  };
  return withForm(message, {
    content: partContent(resultContent(message), part),
    additional_kwargs: sameAsJson(given, marked) ? given : marked,
  });
}

function partContent(content: unknown, part: OwnToolPart | undefined): unknown {
  if (part === "custom-result") {
    return formedContent(content, (block) => [inputPart(block)]);
  }
  const isUnread = part === "computer-result" && !blockList({ content }).some(isPicture);
  return isUnread ? formedContent(content, (block) => [imageOf(block) ?? block]) : content;
}

const inputTypes: ReadonlySet<string> = new Set(["input_text", "input_image", "input_file"]);

function inputPart(block: Block): Block {
  const address = fieldsOf(imageOf(block)?.["image_url"])["url"];
  return inputTypes.has(block.type)
    ? block
    : address === undefined
      ? ({ type: "input_text", text: inWords(block)["text"] } as unknown as Block)
      : ({ type: "input_image", detail: "auto", image_url: address } as unknown as Block);
}

/** False for a call of an own tool whose item's id is not known: ChatOpenAI sends an empty one for a custom tool. */
export function knowsItsCalls(message: BaseMessage): boolean {
  const itemIds = fieldsOf(fieldsOf(message.additional_kwargs)[itemIdKeys[1]]);
  return (recordsIn((message as AIMessage).tool_calls) as readonly Fields[]).every((call) => {
    const isOwn = call["isCustomTool"] === true || call["isComputerTool"] === true;
    return !isOwn || typeof call["call_id"] === "string" || Object.hasOwn(itemIds, String(call["id"]));
  });
}

/** Facts about messages that depend on the others of their request, by index. */
export type RequestPlaces = ReadonlyMap<number, RequestPlace>;

/** Finds facts about messages that depend on the others of their request, for adapters that ask for some. Linear. */
export const placesInRequest: Readonly<Partial<Record<Adapter, (messages: readonly BaseMessage[]) => RequestPlaces>>> =
  { "openai-responses": responsesPlaces, bedrock: documentNames };

/** OpenAI takes each item once. An answer comes again from a cache of answers, a fork or an import. */
function responsesPlaces(messages: readonly BaseMessage[]): RequestPlaces {
  const places = new Map<number, RequestPlace>();
  ownToolParts(messages).forEach((ownToolPart, index) => places.set(index, { ownToolPart }));
  const sent = new Set<string>();
  messages.forEach((message, index) => {
    const ids = speakerOf(message) === "assistant" ? itemIds(message) : [];
    if (ids.some((id) => sent.has(id))) {
      places.set(index, { ...places.get(index), isRepeated: true });
    }
    ids.forEach((id) => sent.add(id));
  });
  return places;
}

/** The ids of the items that ChatOpenAI sends for an answer. */
function itemIds({ id, additional_kwargs, response_metadata }: BaseMessage): readonly string[] {
  const kwargs = fieldsOf(additional_kwargs);
  const items = outputItems(fieldsOf(response_metadata)["output"])?.map((item) => item["id"]) ?? [
    ...(id?.startsWith("msg_") === true ? [id] : []),
    fieldsOf(kwargs["reasoning"])["id"],
    ...itemIdKeys.flatMap((key) => Object.values(fieldsOf(kwargs[key]))),
  ];
  return items.flatMap((value) => stringIn(value) ?? []);
}
