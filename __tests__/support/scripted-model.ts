import { AIMessage, AIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import { SimpleChatModel, type BaseChatModelCallOptions } from "@langchain/core/language_models/chat_models";
import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import { ChatGenerationChunk, type ChatResult } from "@langchain/core/outputs";
import { randomUUID } from "node:crypto";

/** What a scripted model says to what it was sent: text, a message, or an error to throw. */
export type Script = (messages: BaseMessage[]) => string | AIMessage | Error | Promise<string | AIMessage | Error>;

/** A chat model that says what the script says, word by word where it streams, and remembers what it was sent. */
export class ScriptedModel extends SimpleChatModel<BaseChatModelCallOptions> {
  readonly sent: BaseMessage[][] = [];

  constructor(private readonly script: Script) {
    super({});
  }

  override _llmType(): string {
    return "scripted";
  }

  override async _call(messages: BaseMessage[]): Promise<string> {
    return (await this.answer(messages)).text;
  }

  override async _generate(messages: BaseMessage[]): Promise<ChatResult> {
    const message = await this.answer(messages);
    return { generations: [{ text: message.text, message }] };
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    _options: this["ParsedCallOptions"],
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    const { text } = await this.answer(messages);
    const id = `scripted-${randomUUID()}`;
    for (const word of text.split(/(?<= )/)) {
      const chunk = new ChatGenerationChunk({ text: word, message: new AIMessageChunk({ content: word, id }) });
      await runManager?.handleLLMNewToken(word, undefined, undefined, undefined, undefined, { chunk });
      yield chunk;
    }
  }

  private async answer(messages: BaseMessage[]): Promise<AIMessage> {
    this.sent.push([...messages]);
    const answer = await this.script(messages);
    if (answer instanceof Error) {
      throw answer;
    }
    return typeof answer === "string" ? new AIMessage({ content: answer, id: `scripted-${randomUUID()}` }) : answer;
  }
}

/** Answers `reply to <the last message's text>`. */
export function echoModel(): ScriptedModel {
  return new ScriptedModel((messages) => `reply to ${messages[messages.length - 1]!.text}`);
}
