import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import { sameAsJson } from "../../base/json-text.js";
import { type Call, callsOf } from "../calls.js";
import { type Fields, fieldsOf, isRecord, recordsIn, stringIn, valueIn } from "../values.js";
import { type CallCopy, callIn, copyIn, isCallBlock, placesOf } from "./call-places.js";
import { isCallItem, outputItems } from "./output-items.js";

/** A field of an answer that repeats its calls. */
export type CopyField = "content" | "tool_calls" | "function_call" | "output";

/** A copy of a call; a field that the copy leaves out is undefined. */
interface RepeatedCall extends CallCopy {
  /** The arguments, or their text. */
  readonly args?: unknown;
  /** The whole argument of a custom tool of OpenAI. */
  readonly input?: unknown;
}

/**
 * The fields whose copies of calls tell something else than `tool_calls` and `invalid_tool_calls`. A copy may be
 * missing, and says nothing where its text cannot be read.
 */
export function differingCopies(message: BaseMessage): ReadonlySet<CopyField> {
  const calls = mayRepeatCalls(message) ? callsOf(message) : [];
  const fields = calls.length === 0 ? [] : repeatedCalls(message as AIMessage);
  const differs = (copies: readonly RepeatedCall[]) =>
    placesOf(copies, calls).some((place, index) => place < 0 || !agrees(copies[index]!, calls[place]!));
  return new Set(fields.flatMap(([field, copies]) => (differs(copies) ? [field] : [])));
}

/** False where no field can hold a copy: most answers, and cheaper than to look for one. */
function mayRepeatCalls({ content, additional_kwargs, response_metadata }: BaseMessage): boolean {
  const { tool_calls: raw, function_call: called } = fieldsOf(additional_kwargs);
  const { output } = fieldsOf(response_metadata);
  return typeof content !== "string" || raw !== undefined || called !== undefined || output !== undefined;
}

function repeatedCalls(message: AIMessage): readonly (readonly [CopyField, readonly RepeatedCall[]])[] {
  const { tool_calls: raw, function_call: called } = fieldsOf(message.additional_kwargs);
  const content: unknown = message.content;
  const blocks = Array.isArray(content) ? (content.filter(isCallBlock) as readonly Fields[]) : [];
  const items = outputItems(fieldsOf(message.response_metadata)["output"]) ?? [];
  return [
    ["content", blockCopies(blocks)],
    ["tool_calls", recordsIn(raw as readonly Fields[] | undefined).map(rawCopy)],
    ["function_call", isRecord(called) ? [functionCopy(called)] : []],
    ["output", items.filter(isCallItem).map(itemCopy)],
  ];
}

/** Streams leave the text of arguments in pieces behind the call, which tell no call by themselves. */
function blockCopies(blocks: readonly Fields[]): readonly RepeatedCall[] {
  const isPiece = ({ type }: Fields) => type === "input_json_delta";
  const rest = new Map<unknown, string>();
  for (const { index, input } of blocks.filter(isPiece)) {
    rest.set(index, (rest.get(index) ?? "") + String(input));
  }
  return blocks.flatMap((block) => {
    const { call, argumentsKey } = callIn(block);
    const args = call[argumentsKey];
    const whole = typeof args === "string" ? args + (rest.get(block["index"]) ?? "") : args;
    return isPiece(block) ? [] : [{ ...copyIn(block), args: whole }];
  });
}

function rawCopy({ id, function: called }: Fields): RepeatedCall {
  return { ...functionCopy(fieldsOf(called)), id: stringIn(id) };
}

function functionCopy({ name, arguments: args }: Fields): RepeatedCall {
  return { id: undefined, name: stringIn(name), args };
}

function itemCopy({ type, call_id, name, arguments: args, input }: Fields): RepeatedCall {
  const copy = { id: stringIn(call_id), name: stringIn(name) };
  return type === "custom_tool_call" ? { ...copy, input } : { ...copy, args };
}

function agrees(copy: RepeatedCall, call: Call): boolean {
  const isSame = (own: string | undefined, value: string | undefined) =>
    own === undefined || value === undefined || own === value;
  return isSame(copy.id, call.id) && isSame(copy.name, call.name) && (!call.readable || sameArguments(copy, call));
}

function sameArguments({ args: given, input }: RepeatedCall, { args }: Call): boolean {
  const told = fieldsOf(args)["input"];
  if (input !== undefined) {
    return typeof told !== "string" || told === input;
  }
  // Adapters read an empty text as no arguments.
  const read = typeof given === "string" ? valueIn(given || "{}") : given;
  return !isRecord(read) || read === args || sameAsJson(read, args);
}
