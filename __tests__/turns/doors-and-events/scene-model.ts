import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import type { AIMessage } from "@langchain/core/messages";
import { AIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import { ChatGenerationChunk, type ChatResult } from "@langchain/core/outputs";
import { ToolModel } from "../../support/agents.js";

/** An answer of the model: text, a message, a function of the request that returns one of these, or an error. */
export type Reply = string | AIMessage | Error | ((request: readonly BaseMessage[]) => string | AIMessage | Error);

/** The answer to every question of the scenes that has none of its own. */
export const wholeAnswer = "A is all.";

const answers: Readonly<Record<string, string>> = { hi: "hello", next: "fine" };

/** Words that a provider refuses in every request, and with which error. */
export type Poison = Readonly<Record<string, () => Error>>;

/** The word in front of a text, by which the scenes tell messages. */
export function wordOf({ text }: BaseMessage): string {
  return text.split(" ")[0]!;
}

/**
 * A model that refuses each request that holds a poisoned word, gives the replies that it was told, and answers the
 * rest. Waits for `onWord` before each word, and calls `onEnd` behind the last one.
 */
export class SceneModel extends ToolModel {
  replies: Reply[] = [];
  poison: Poison = {};
  onWord: ((index: number) => unknown) | undefined;
  onEnd: (() => void) | undefined;

  /** The answer to a question, by its first word. */
  answerTo: (question: string) => string = () => wholeAnswer;

  constructor() {
    super((request) => this.#reply(request));
  }

  override async _generate(messages: BaseMessage[], options?: this["ParsedCallOptions"]): Promise<ChatResult> {
    const result = await super._generate(messages);
    for (const index of [0, 1]) {
      await this.onWord?.(index);
      options?.signal?.throwIfAborted();
    }
    this.onEnd?.();
    return result;
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    options: this["ParsedCallOptions"],
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    const { generations } = await super._generate(messages);
    const { id, text, tool_calls: calls = [] } = generations[0]!.message as AIMessage;
    const words = text.split(/(?<= )/);
    for (const [index, word] of words.entries()) {
      await this.onWord?.(index);
      options.signal?.throwIfAborted();
      const parts = calls.map(({ name, args, id: callId = "" }, at) => {
        return { name, args: JSON.stringify(args), index: at, type: "tool_call_chunk" as const, id: callId };
      });
      const message = new AIMessageChunk({ content: word, tool_call_chunks: parts, ...(id !== undefined && { id }) });
      const chunk = new ChatGenerationChunk({ text: word, message });
      await runManager?.handleLLMNewToken(word, undefined, undefined, undefined, undefined, { chunk });
      yield chunk;
    }
    this.onEnd?.();
  }

  #reply(request: readonly BaseMessage[]): string | AIMessage | Error {
    const read = request
      .filter(({ type }) => type === "human" || type === "tool")
      .flatMap(({ text }) => text.split(" "));
    const refused = read.find((word) => Object.hasOwn(this.poison, word));
    if (refused !== undefined) {
      return this.poison[refused]!();
    }
    const reply = this.replies.shift();
    if (reply !== undefined) {
      return typeof reply === "function" ? reply(request) : reply;
    }
    const question = request.findLast(({ type }) => type === "human")!;
    return answers[wordOf(question)] ?? this.answerTo(wordOf(question));
  }
}
