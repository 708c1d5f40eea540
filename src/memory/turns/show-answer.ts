import { CallbackManager } from "@langchain/core/callbacks/manager";
import { AIMessageChunk, type AIMessage, type BaseMessage } from "@langchain/core/messages";
import { ChatGenerationChunk } from "@langchain/core/outputs";
import { getCallbackManagerForConfig, type RunnableConfig } from "@langchain/core/runnables";
import { jsonText } from "../../base/json-text.js";
import { mayCall, textOf } from "../../conversation/messages/content.js";
import { roleOf } from "../../conversation/messages/message.js";

/** The name of the model in the events of a stream. */
const modelName = "StoredAnswer";
const serialized = { lc: 1, type: "not_implemented" as const, id: ["langchain_redis_memory", modelName] };

/** A stored answer, and how the stream shows it. */
export interface ShownAnswer {
  readonly messages: readonly BaseMessage[];
  /** True for a structured response, whose value is in the model's call. */
  readonly isStructured?: boolean;
}

/**
 * Streams the stored answer of a repeated turn as one token of a model. Tracers and usage counters get no events,
 * because no model is called. An answer with steps before it is streamed by LangGraph's mode `messages` itself.
 */
export async function showAnswer({ messages, isStructured = false }: ShownAnswer, config: RunnableConfig) {
  const answer = messages.findLast((message) => {
    return roleOf(message) === "ai" && (!isStructured || messages.length === 1 || mayCall(message));
  });
  const manager = await listenersIn(config, messages.length === 1);
  if (answer === undefined || manager === undefined) {
    return;
  }
  const chunk = chunkOf(answer);
  const generation = new ChatGenerationChunk({ message: chunk, text: textOf(answer) });
  const named = [undefined, undefined, undefined, undefined, undefined, modelName] as const;
  const runs = await manager.handleChatModelStart(serialized, [[]], ...named);
  for (const run of runs) {
    await run.handleLLMNewToken(generation.text, undefined, undefined, undefined, undefined, { chunk: generation });
    await run.handleLLMEnd({ generations: [[generation]] });
  }
}

/** Omits usage: a retry costs nothing, and its usage was reported by the first run. */
function chunkOf({ id, name, content, additional_kwargs, response_metadata, ...rest }: BaseMessage): AIMessageChunk {
  const { tool_calls: calls = [] } = rest as Partial<AIMessage>;
  const chunks = calls.map(({ id: callId, name: tool, args }, index) => {
    return { type: "tool_call_chunk" as const, ...(callId && { id: callId }), name: tool, args: jsonText(args), index };
  });
  return new AIMessageChunk({
    content,
    additional_kwargs,
    response_metadata,
    tool_call_chunks: chunks,
    ...(id !== undefined && { id }),
    ...(name !== undefined && { name }),
  });
}

/** The run's handlers that stream model output, if any. */
async function listenersIn(config: RunnableConfig, isWhole: boolean): Promise<CallbackManager | undefined> {
  const manager = await getCallbackManagerForConfig(config);
  const handlers = manager?.handlers.filter((handler) => {
    const ofGraph = "lc_prefer_chat_model_stream_events" in handler || handler.name === "StreamMessagesHandler";
    return ofGraph ? isWhole : "lc_prefer_streaming" in handler;
  });
  if (manager === undefined || handlers === undefined || handlers.length === 0) {
    return undefined;
  }
  const { tags, metadata } = manager;
  return new CallbackManager(manager.getParentRunId(), { handlers, tags, metadata });
}
