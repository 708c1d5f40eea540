import type { AIMessage, BaseMessage, ContentBlock, ToolMessage } from "@langchain/core/messages";
import { recordsIn } from "./roles.js";

/**
 * Who speaks in a message as a provider sees it: a summary is what its message type says, other than for reductions.
 */
export type Speaker = "system" | "user" | "assistant" | "tool" | "other";

const speakers: ReadonlyMap<string, Speaker> = new Map<string, Speaker>([
  ["system", "system"],
  ["developer", "system"],
  ["human", "user"],
  ["user", "user"],
  ["ai", "assistant"],
  ["assistant", "assistant"],
]);

/** Who speaks, by type and not by class; a generic message by its role. */
export function speakerOf(message: BaseMessage): Speaker {
  const type: string = message.getType();
  if (type === "tool") {
    return "tool";
  }
  return speakers.get(type === "generic" ? (message as unknown as { role: string }).role : type) ?? "other";
}

/** A call that a message makes. `readable` is false where its arguments are not an object. */
export interface Call {
  readonly id: string | undefined;
  readonly name: string;
  readonly args: unknown;
  readonly readable: boolean;
}

const noCalls: readonly Call[] = [];

/** The calls that a message makes, those with unreadable arguments last; empty for all but the model's messages. */
export function callsOf(message: BaseMessage): readonly Call[] {
  if (speakerOf(message) !== "assistant") {
    return noCalls;
  }
  const { tool_calls, invalid_tool_calls } = message as AIMessage;
  const [calls, invalid] = [recordsIn(tool_calls), recordsIn(invalid_tool_calls)];
  if (calls.length === 0 && invalid.length === 0) {
    return noCalls;
  }
  return [
    ...calls.map(({ id, name, args }) => ({
      id: stringOf(id),
      name: stringOf(name) ?? "",
      args,
      readable: isPlainObject(args),
    })),
    ...invalid.map(({ id, name, args }) => ({ id: stringOf(id), name: stringOf(name) ?? "", args, readable: false })),
  ];
}

/** The id of the call that a tool message answers; the empty string where it has none. */
export function answeredId(message: BaseMessage): string {
  return stringOf((message as ToolMessage).tool_call_id) ?? "";
}

function stringOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** A content block as it is stored: any object with a type. */
export type Block = ContentBlock & Readonly<Record<string, unknown>>;

/** The content as blocks; a text is one block of type `text`, an empty text none. */
export function blocksOf(message: BaseMessage): readonly Block[] {
  const { content } = message as { content: unknown };
  if (typeof content === "string") {
    return content === "" ? [] : [{ type: "text", text: content }];
  }
  return Array.isArray(content) ? content.map(toBlock) : [];
}

/** Lists hold blocks; what is not one is text, or of no known kind. */
function toBlock(element: unknown): Block {
  return isPlainObject(element)
    ? (element as Block)
    : typeof element === "string"
      ? { type: "text", text: element }
      : { type: "unknown" };
}

/**
 * True where the content is a list in LangChain's standard form, which adapters read in another way than a provider's
 * own.
 */
export function isStandardContent(message: BaseMessage): boolean {
  return (
    Array.isArray(message.content) &&
    (message.response_metadata as Record<string, unknown>)?.["output_version"] === "v1"
  );
}

/** True for a text block with nothing but white space in it. */
export function isBlankText(block: Block): boolean {
  return block.type === "text" && String(block["text"] ?? "").trim() === "";
}

/** True where a message of the model has no call, and no content but blank text. */
export function saysNothing(message: BaseMessage): boolean {
  const kwargs = (message.additional_kwargs ?? {}) as Record<string, unknown>;
  const unsaid = ["function_call", "audio", "refusal"].every(
    (key) => kwargs[key] === undefined || kwargs[key] === null,
  );
  return unsaid && callsOf(message).length === 0 && blocksOf(message).every(isBlankText);
}

/** True for a value made by braces: no array, no null. */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** An id for an error text: quoted, and cut where it is long. */
export function showId(id: string | undefined): string {
  return id === undefined || id === ""
    ? "without an id"
    : JSON.stringify(id.length > 64 ? `${id.slice(0, 60)}...` : id);
}

/** A copy of a record without one key. */
export function without(record: Readonly<Record<string, unknown>> | undefined, key: string): Record<string, unknown> {
  return Object.fromEntries(Object.entries(record ?? {}).filter(([name]) => name !== key));
}
