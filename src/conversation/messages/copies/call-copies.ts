import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import { sameAsJson } from "../../../base/json-text.js";
import { type Call, callsOf } from "../content.js";
import { type Fields, fieldsOf, isRecord, recordsIn, valueIn } from "../message.js";
import { outputItems, isCallItem } from "./thoughts.js";

/** Types of content blocks that repeat a call of their message, with the key that holds the arguments. */
const argumentKeys: ReadonlyMap<unknown, string> = new Map([
  ["tool_use", "input"],
  ["tool_call", "args"],
  ["tool_call_chunk", "args"],
  ["invalid_tool_call", "args"],
  ["input_json_delta", "input"],
  ["functionCall", "args"],
]);

/** True for a content block that repeats a call. */
export function isCallBlock(block: unknown): boolean {
  return isRecord(block) && argumentKeys.has(block["type"]);
}

/** A copy of a call; a field that the copy leaves out is undefined. */
type CallCopy = Readonly<Partial<Record<"id" | "name" | "args", unknown>>>;

/**
 * True if each field of an answer that repeats its calls holds them one by one, with their ids, names and arguments. A
 * field may hold none of them, and a copy says nothing where its text cannot be read.
 */
export function callsAgree(message: BaseMessage): boolean {
  const calls = callsOf(message);
  const isRepeated = (copies: readonly CallCopy[]) =>
    copies.length === 0 ||
    (copies.length === calls.length && copies.every((copy, place) => agrees(copy, calls[place]!)));
  return calls.length === 0 || repeatedCalls(message as AIMessage).every(isRepeated);
}

function repeatedCalls(message: AIMessage): readonly (readonly CallCopy[])[] {
  const { tool_calls: raw, function_call: called } = fieldsOf(message.additional_kwargs);
  const content: unknown = message.content;
  const items = outputItems(fieldsOf(message.response_metadata)["output"]) ?? [];
  return [
    Array.isArray(content) ? blockCopies(content.filter(isCallBlock) as readonly Fields[]) : [],
    recordsIn(raw as readonly Fields[] | undefined).map(({ id, function: own }) => functionCopy(fieldsOf(own), id)),
    isRecord(called) ? [functionCopy(called)] : [],
    items.filter(isCallItem).map(itemCopy),
  ];
}

/** Streams leave the text of arguments in pieces behind the call, which tell no call by themselves. */
function blockCopies(blocks: readonly Fields[]): readonly CallCopy[] {
  const isPiece = ({ type }: Fields) => type === "input_json_delta";
  const pieces = blocks.filter(isPiece);
  return blocks
    .filter((block) => !isPiece(block))
    .map((block) => {
      const { functionCall, type, index } = block;
      const { id, name, [argumentKeys.get(type)!]: args } = isRecord(functionCall) ? functionCall : block;
      const rest = pieces.filter((piece) => piece["index"] === index).map(({ input }) => String(input));
      return { id, name, args: typeof args === "string" ? [args, ...rest].join("") : args };
    });
}

function functionCopy({ name, arguments: args }: Fields, id?: unknown): CallCopy {
  return { id, name, args };
}

/** The argument of a custom tool of OpenAI is one text. */
function itemCopy({ type, call_id: id, name, arguments: args, input }: Fields): CallCopy {
  return { id, name, args: type === "custom_tool_call" ? { input } : args };
}

function agrees({ id, name, args: copyArgs }: CallCopy, call: Call): boolean {
  const isSame = (own: unknown, value: unknown) => typeof own !== "string" || value === undefined || own === value;
  // Adapters read an empty text as no arguments.
  const args = typeof copyArgs === "string" ? valueIn(copyArgs || "{}") : copyArgs;
  const isRead = call.readable && isRecord(args) && args !== call.args;
  return isSame(id, call.id) && isSame(name, call.name) && (!isRead || sameAsJson(args, call.args));
}
