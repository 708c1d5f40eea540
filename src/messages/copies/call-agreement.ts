import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import { sameAsJson } from "../../base/json-text.js";
import { type Call, callsOf } from "../calls.js";
import { type Fields, fieldsOf, isRecord, recordsIn, stringIn, valueIn } from "../values.js";
import { type CallCopy, callIn, copyIn, isCallBlock, placesOf } from "./call-places.js";
import { editAll } from "./edit-message.js";
import type { CallChange, ChangedCalls } from "./edits.js";
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

/** Copies of calls that tell something else than the calls. */
export interface CallDisagreement {
  /** The fields that hold them. */
  readonly fields: ReadonlySet<CopyField>;
  /** The change of the copies that makes them agree. */
  readonly edit: ChangedCalls;
}

/**
 * How the copies of a message's calls differ from `tool_calls` and `invalid_tool_calls`; undefined if they agree. A
 * copy may be missing, and says nothing where its text cannot be read.
 */
export function callDisagreement(message: BaseMessage): CallDisagreement | undefined {
  const calls = mayRepeatCalls(message) ? callsOf(message) : [];
  if (calls.length === 0) {
    return undefined;
  }
  const fields = new Set<CopyField>();
  const aliases = new Map<string, string>();
  const changes = calls.map((): CallChange => undefined);
  for (const [field, copies] of repeatedCalls(message as AIMessage)) {
    callsFor(copies, calls).forEach((place, index) => {
      const { id } = copies[index]!;
      const call = calls[place];
      if (call !== undefined && agrees(copies[index]!, call)) {
        return;
      }
      fields.add(field);
      if (call !== undefined) {
        changes[place] = truthOf(call);
      }
      if (id !== undefined && call?.id !== undefined) {
        aliases.set(id, call.id);
      }
    });
  }
  return fields.size === 0 ? undefined : { fields, edit: { calls, changes, aliases } };
}

/** False where no field can hold a copy: most answers, and cheaper than to look for one. */
function mayRepeatCalls({ content, additional_kwargs, response_metadata }: BaseMessage): boolean {
  const { tool_calls: raw, function_call: called } = fieldsOf(additional_kwargs);
  const { output } = fieldsOf(response_metadata);
  return typeof content !== "string" || raw !== undefined || called !== undefined || output !== undefined;
}

/** The message with every copy of its calls saying what its calls say. */
export function withAgreement<M extends BaseMessage>(message: M, { edit }: CallDisagreement): M {
  return editAll(message, { calls: edit });
}

function truthOf({ id, name, args, readable }: Call): CallChange {
  return { name, ...(id !== undefined && { id }), ...(readable && { args: args as Record<string, unknown> }) };
}

/** The place of each copy's call; a copy whose id no call has repeats one that no other copy of its field repeats. */
function callsFor(copies: readonly CallCopy[], calls: readonly Call[]): readonly number[] {
  const places = placesOf(copies, calls);
  return places.every((place) => place >= 0)
    ? places
    : placesOf(
        copies.map(({ id, name }, index) => ({ id: places[index]! < 0 ? undefined : id, name })),
        calls,
      );
}

function repeatedCalls(message: AIMessage): readonly (readonly [CopyField, readonly RepeatedCall[]])[] {
  const { tool_calls: raw, function_call: called } = fieldsOf(message.additional_kwargs);
  const content: unknown = message.content;
  const blocks = Array.isArray(content) ? (content.filter(isWholeCall) as readonly Fields[]) : [];
  const items = outputItems(fieldsOf(message.response_metadata)["output"]) ?? [];
  return [
    ["content", blocks.map(blockCopy)],
    ["tool_calls", recordsIn(raw as readonly Fields[] | undefined).map(rawCopy)],
    ["function_call", isRecord(called) ? [functionCopy(called)] : []],
    ["output", items.filter(isCallItem).map(itemCopy)],
  ];
}

/** Streams leave pieces of arguments, which tell no call by themselves. */
function isWholeCall(block: unknown): boolean {
  return isCallBlock(block) && (block as Fields)["type"] !== "input_json_delta";
}

function blockCopy(block: Fields): RepeatedCall {
  const { call, argumentsKey } = callIn(block);
  return { ...copyIn(block), args: call[argumentsKey] };
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
