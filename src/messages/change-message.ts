import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import { type Call, callsOf } from "./calls.js";
import type { Block } from "./content.js";
import { recordsIn, without } from "./values.js";

/** The fields of a message to replace. */
export type MessageChanges = Readonly<Record<string, unknown>>;

/** A copy of the message, of the same class, with changed fields. */
export function changeMessage<M extends BaseMessage>(message: M, changes: MessageChanges): M {
  const all =
    "content" in changes && !Array.isArray(changes["content"])
      ? { ...changes, ...withoutOutputVersion(message, changes) }
      : changes;
  const kwargs = message.lc_kwargs as Record<string, unknown>;
  const known = "content" in changes ? without(kwargs, "contentBlocks") : kwargs;
  const copy = Object.create(Object.getPrototypeOf(message) as object) as M;
  return Object.assign(copy, message, all, { lc_kwargs: { ...known, ...all } });
}

/** `output_version` requires a list of blocks, so it must not accompany plain text. */
function withoutOutputVersion(message: BaseMessage, changes: MessageChanges): MessageChanges {
  const metadata = (changes["response_metadata"] ?? message.response_metadata) as Record<string, unknown>;
  return "output_version" in metadata ? { response_metadata: without(metadata, "output_version") } : {};
}

/** A copy without one key of `additional_kwargs`. */
export function dropKwarg<M extends BaseMessage>(message: M, key: string): M {
  return changeMessage(message, { additional_kwargs: without(message.additional_kwargs, key) });
}

/** Change of a call: new values, `remove`, or none (undefined). New arguments make an invalid call valid. */
export type CallChange =
  { readonly id?: string; readonly name?: string; readonly args?: Record<string, unknown> } | "remove" | undefined;

/**
 * A copy of a message with its calls changed in all representations: calls, content blocks, the provider's raw calls
 * and signatures. `change` gets each call and its index in {@link callsOf}.
 */
export function changeCalls(message: BaseMessage, change: (call: Call, place: number) => CallChange): BaseMessage {
  const { tool_calls, invalid_tool_calls } = message as AIMessage;
  const [valid, invalid] = [recordsIn(tool_calls), recordsIn(invalid_tool_calls)];
  const calls = callsOf(message);
  const changes = calls.map(change);
  const applied = [...valid, ...invalid].map((call, place) => applyChange(call as unknown as Block, changes[place]));
  const readable = (place: number) => place < valid.length || hasArguments(changes[place]);
  const kept = applied.map((call, place) => ({ call, place })).filter(({ call }) => call !== undefined);
  const { content } = message as { content: unknown };
  return changeMessage(message, {
    tool_calls: kept.filter(({ place }) => readable(place)).map(({ call }) => call),
    invalid_tool_calls: kept.filter(({ place }) => !readable(place)).map(({ call }) => call),
    ...((message as { tool_call_chunks?: unknown[] }).tool_call_chunks === undefined ? {} : { tool_call_chunks: [] }),
    ...(Array.isArray(content) ? { content: contentOf(changeBlocks(content as Block[], { calls, changes })) } : {}),
    additional_kwargs: changeKwargs(message, { calls, changes }),
  });
}

/** The blocks as content: an empty text if there are none, because providers reject an empty list. */
export function contentOf(blocks: readonly Block[]): string | Block[] {
  return blocks.length === 0 ? "" : [...blocks];
}

function hasArguments(change: CallChange): boolean {
  return typeof change === "object" && change.args !== undefined;
}

function applyChange(call: Block, change: CallChange): Block | undefined {
  if (change === "remove") {
    return undefined;
  }
  if (!hasArguments(change)) {
    return { ...call, ...change };
  }
  return { ...without(call, "error"), ...change, type: "tool_call" };
}

interface ChangedCalls {
  readonly calls: readonly Call[];
  readonly changes: readonly CallChange[];
}

/** Types of content blocks that repeat a call of their message, with the key that holds the arguments. */
const argumentKeys: ReadonlyMap<string, string> = new Map([
  ["tool_use", "input"],
  ["tool_call", "args"],
  ["invalid_tool_call", "args"],
  ["input_json_delta", "input"],
  ["functionCall", "args"],
]);

/** True for a content block that repeats a call. */
export function isCallBlock(block: Block): boolean {
  return argumentKeys.has(block.type);
}

/** Matches blocks to calls by id, equal ids in order; blocks without an id by order among all calls. */
function changeBlocks(blocks: readonly Block[], { calls, changes }: ChangedCalls): Block[] {
  const places = new Map<string | undefined, number[]>([[undefined, calls.map((_, place) => place)]]);
  calls.forEach(({ id = "" }, place) => {
    const others = places.get(id);
    if (others === undefined) {
      places.set(id, [place]);
    } else {
      others.push(place);
    }
  });
  const taken = new Map<string | undefined, number>();
  return blocks.flatMap((block) => {
    if (!isCallBlock(block)) {
      return [block];
    }
    const id = typeof block["id"] === "string" ? block["id"] : undefined;
    const nth = taken.get(id) ?? 0;
    taken.set(id, nth + 1);
    const place = places.get(id)?.[nth];
    const change = place === undefined ? "remove" : changes[place];
    return change === "remove" ? [] : [changeBlock(block, change)];
  });
}

function changeBlock(block: Block, change: Exclude<CallChange, "remove">): Block {
  const { args, ...rest } = change ?? {};
  const changed = args === undefined ? rest : { ...rest, [argumentKeys.get(block.type)!]: args };
  if (block.type === "functionCall") {
    return { ...block, functionCall: { ...(block["functionCall"] as object), ...changed } };
  }
  return {
    ...block,
    ...changed,
    ...(args !== undefined && block.type === "invalid_tool_call" ? { type: "tool_call" } : {}),
  } as Block;
}

/** Key of Google's adapter for thought signatures by call id. */
export const signaturesKey = "__gemini_function_call_thought_signatures__";

function changeKwargs(message: BaseMessage, { calls, changes }: ChangedCalls): Record<string, unknown> {
  const kept = without(message.additional_kwargs, "tool_calls");
  const signatures = kept[signaturesKey] as Record<string, unknown> | undefined;
  if (typeof signatures !== "object" || signatures === null) {
    return kept;
  }
  const renamed = { ...signatures };
  calls.forEach(({ id = "" }, place) => {
    const change = changes[place];
    if (typeof change === "object" && change.id !== undefined && Object.hasOwn(signatures, id)) {
      renamed[change.id] = signatures[id];
    }
  });
  return { ...kept, [signaturesKey]: renamed };
}
