import type * as Messages from "@langchain/core/messages";
import type { BaseMessage } from "@langchain/core/messages";

/** A conversation that another package is given to store. */
export interface PeerConversation {
  /** The key of the list: those packages take the session's id as it is. */
  readonly key: string;
  /** Seconds; undefined for a session that does not expire. */
  readonly sessionTTL?: number;
  readonly messages: readonly BaseMessage[];
}

/** Keys of the conversations that begin with this text belong to one pattern; the others have none. */
export const peerPrefix = "message_store:";

/**
 * Conversations with all that messages may hold. The classes are a parameter, because each package stores messages by
 * the `@langchain/core` that it finds.
 */
export function peerConversations(core: typeof Messages): PeerConversation[] {
  return [
    { key: `${peerPrefix}plain`, messages: plain(core) },
    { key: `${peerPrefix}tools`, sessionTTL: 3_600, messages: toolCalls(core) },
    { key: `${peerPrefix}content blocks`, messages: contentBlocks(core) },
    { key: "chat {ünï} * 你好", sessionTTL: 7_200, messages: oddities(core) },
  ];
}

function plain({ SystemMessage, HumanMessage, AIMessage }: typeof Messages): BaseMessage[] {
  return [
    new SystemMessage("Be brief."),
    new HumanMessage({ content: 'Wie heißt „Wetter“ auf 日本語? 👩‍👩‍👧 \u0000\u2028\n\t"\\', id: "h-1", name: "Änn" }),
    new AIMessage({
      content: "天気",
      id: "chatcmpl-1",
      usage_metadata: { input_tokens: 12, output_tokens: 3, total_tokens: 15, input_token_details: { cache_read: 8 } },
      response_metadata: { model_name: "gpt-4o-mini", finish_reason: "stop", tokenUsage: { promptTokens: 12 } },
    }),
    // Equal texts without ids are different messages.
    new HumanMessage("ok"),
    new AIMessage("ok"),
    new HumanMessage("ok"),
    new AIMessage("ok"),
  ];
}

function toolCalls({ HumanMessage, AIMessage, ToolMessage }: typeof Messages): BaseMessage[] {
  const calls = ["c1", "c2"].map((id) => ({
    ...{ type: "tool_call" as const, id, name: "weather" },
    args: { city: "Oslo", days: [1, 2], nested: { none: null, empty: [], big: 12345678901234 } },
  }));
  const invalid = { type: "invalid_tool_call" as const, id: "c3", name: "weather", args: "{", error: "no JSON" };
  const raw = { id: "c1", type: "function" as const, function: { name: "weather", arguments: '{"city":"Oslo"}' } };
  return [
    new HumanMessage("Weather in Oslo?"),
    new AIMessage({ content: "", tool_calls: calls, additional_kwargs: { tool_calls: [raw], refusal: null } }),
    new ToolMessage({
      ...{ content: "4 °C", tool_call_id: "c1", name: "weather", status: "success" as const },
      artifact: { readings: [{ celsius: 4.5 }], empty: {} },
    }),
    new ToolMessage({
      content: [{ type: "text", text: "the service is down" }],
      ...{ tool_call_id: "c2", name: "weather", status: "error" as const },
    }),
    new AIMessage({ content: "", invalid_tool_calls: [invalid] }),
    new AIMessage({ content: "4 °C now.", additional_kwargs: { reasoning_content: "one of two failed" } }),
  ];
}

function contentBlocks({ HumanMessage, AIMessage, AIMessageChunk }: typeof Messages): BaseMessage[] {
  const image = { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=", detail: "low" } };
  return [
    new HumanMessage({ content: [{ type: "text", text: "What is this?" }, image] }),
    new AIMessage({
      content: [
        { type: "thinking", thinking: "A picture.", signature: "c2ln" },
        { type: "text", text: "A picture.", cache_control: { type: "ephemeral" } },
      ],
    }),
    new HumanMessage({ contentBlocks: [{ type: "text", text: "And in blocks?" }] }),
    new AIMessage({ contentBlocks: [{ type: "text", text: "So." }] }),
    // What a streamed answer is stored as.
    new AIMessageChunk({ content: "In parts.", id: "run-1" }),
  ];
}

function oddities(core: typeof Messages): BaseMessage[] {
  const { HumanMessage, AIMessage, SystemMessage, ChatMessage, FunctionMessage } = core;
  return [
    new HumanMessage(""),
    new AIMessage({ content: [] }),
    new HumanMessage({ content: "kwargs", additional_kwargs: { lc: 2, list: [null, { lc: 1 }], text: "" } }),
    new SystemMessage({ content: "As a developer.", additional_kwargs: { __openai_role__: "developer" } }),
    new ChatMessage({ content: "as someone else", role: "critic" }),
    new FunctionMessage({ content: "42", name: "multiply" }),
    new AIMessage("x".repeat(20_000)),
  ];
}

/** Fields that a message must keep; `id` only where it has one. */
const fields = [
  ...["content", "name", "additional_kwargs", "response_metadata", "tool_calls", "invalid_tool_calls"],
  ...["usage_metadata", "tool_call_id", "artifact", "status", "role"],
] as const;

/** A message as plain data, to be compared: its type and all that it has to keep. */
export function comparable(message: BaseMessage): Record<string, unknown> {
  const values = message as unknown as Record<string, unknown>;
  const kept = fields.map((field) => [field, values[field]] as const).filter(([, value]) => value !== undefined);
  return JSON.parse(JSON.stringify({ type: message.getType(), ...Object.fromEntries(kept) })) as Record<
    string,
    unknown
  >;
}
