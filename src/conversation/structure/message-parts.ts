import type { AIMessage, BaseMessage, ContentBlock, ToolMessage } from "@langchain/core/messages";

/** Who speaks in a message as a provider sees it: a summary is what its message type says, other than for reductions. */
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

/** A call that a message makes. `readable` is false where the model's arguments could not be parsed. */
export interface Call {
  readonly id: string | undefined;
  readonly name: string;
  readonly readable: boolean;
}

/** The calls that a message makes, those with unreadable arguments last; empty for all but the model's messages. */
export function callsOf(message: BaseMessage): Call[] {
  if (speakerOf(message) !== "assistant") {
    return [];
  }
  const { tool_calls: calls = [], invalid_tool_calls: invalid = [] } = message as AIMessage;
  return [
    ...calls.map(({ id, name, args }) => ({ id, name, readable: isPlainObject(args) })),
    ...invalid.map(({ id, name }) => ({ id, name: name ?? "", readable: false })),
  ];
}

/** The id of the call that a tool message answers; the empty string where it has none. */
export function answeredId(message: BaseMessage): string {
  return (message as ToolMessage).tool_call_id ?? "";
}

/** A content block as it is stored: any object with a type. */
export type Block = ContentBlock & Readonly<Record<string, unknown>>;

/** The content as blocks; a text is one block of type `text`, an empty text none. */
export function blocksOf(message: BaseMessage): readonly Block[] {
  const { content } = message as { content: unknown };
  if (typeof content === "string") {
    return content === "" ? [] : [{ type: "text", text: content }];
  }
  return Array.isArray(content) ? (content as Block[]) : [];
}

/** True for a value made by braces: no array, no null. */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** An id for an error text: quoted, and cut where it is long. */
export function showId(id: string | undefined): string {
  return id === undefined || id === "" ? "without an id" : JSON.stringify(id.length > 64 ? `${id.slice(0, 60)}...` : id);
}
