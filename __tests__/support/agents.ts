import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import type { BindToolsInput } from "@langchain/core/language_models/chat_models";
import { AIMessage, AIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import { ChatGenerationChunk } from "@langchain/core/outputs";
import { tool } from "@langchain/core/tools";
import { randomUUID } from "node:crypto";
import { z } from "zod";
import { ScriptedModel } from "./scripted-model.js";

/** A scripted model that an agent can bind tools to. */
export class ToolModel extends ScriptedModel {
  /** The name of the last tool that was bound: the one of a structured response, where there is one. */
  lastTool = "";

  override bindTools(tools: readonly BindToolsInput[] = []): this {
    const last = tools.at(-1) as { readonly function?: { readonly name: string } } | undefined;
    this.lastTool = last?.function?.name ?? "";
    return this;
  }

  /** Streams calls of tools too, in one chunk. */
  override async *_streamResponseChunks(
    messages: BaseMessage[],
    _options: this["ParsedCallOptions"],
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    const { generations } = await this._generate(messages);
    const { id = "", text, tool_calls: toolCalls = [] } = generations[0]!.message as AIMessage;
    const chunks = toolCalls.map(({ name, args, id: callId }, index) => {
      return {
        name,
        args: JSON.stringify(args),
        index,
        type: "tool_call_chunk" as const,
        ...(callId && { id: callId }),
      };
    });
    const words = toolCalls.length > 0 ? [text] : text.split(/(?<= )/);
    for (const word of words) {
      const message = new AIMessageChunk({ content: word, id, tool_call_chunks: chunks });
      const chunk = new ChatGenerationChunk({ text: word, message });
      await runManager?.handleLLMNewToken(word, undefined, undefined, undefined, undefined, { chunk });
      yield chunk;
    }
  }
}

/** A tool that finds what it is asked for. */
export const lookup = tool(({ query }: { query: string }) => `found ${query}`, {
  name: "lookup",
  schema: z.object({ query: z.string() }),
});

let calls = 0;

/** A call of the tool `lookup`, with ids of its own as a model gives them. */
export function lookupCall(query: string): AIMessage {
  calls += 1;
  return new AIMessage({
    content: "",
    id: `ai-${calls}`,
    tool_calls: [{ id: `call-${calls}`, name: "lookup", args: { query }, type: "tool_call" }],
  });
}

/** A model that calls a tool so many times, whatever it sees of the loop, and then says "done". */
export function stepsModel(steps: number): ToolModel {
  const model: ToolModel = new ToolModel(() =>
    model.sent.length <= steps ? lookupCall(`step ${model.sent.length}`) : "done",
  );
  return model;
}

/** Texts of messages, with the kind of those that have none. */
export function sketch(messages: readonly BaseMessage[]): string[] {
  return messages.map((message) => message.text || `<${message.getType()}>`);
}

/** A model that streams its words with 20 ms between them, until it is stopped. */
export class SlowModel extends ToolModel {
  onWord: (word: string) => void = () => undefined;
  /** What the next word waits for besides. */
  pause: Promise<unknown> | undefined;

  constructor(private readonly words: readonly string[]) {
    super(() => "unused");
  }

  override async *_streamResponseChunks(
    _messages: BaseMessage[],
    { signal }: this["ParsedCallOptions"],
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    const id = `slow-${randomUUID()}`;
    for (const word of this.words) {
      signal?.throwIfAborted();
      const chunk = new ChatGenerationChunk({ text: word, message: new AIMessageChunk({ content: word, id }) });
      await runManager?.handleLLMNewToken(word, undefined, undefined, undefined, undefined, { chunk });
      yield chunk;
      this.onWord(word);
      await new Promise((resolve) => setTimeout(resolve, 20));
      await this.pause;
    }
  }
}
