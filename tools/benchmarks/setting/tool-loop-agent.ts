import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import type { ChatResult } from "@langchain/core/outputs";
import { tool } from "@langchain/core/tools";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { createAgent, type AgentMiddleware } from "langchain";
import { z } from "zod";

/** 400 bytes that no other seed has. */
export const content = (seed: number): string =>
  `${seed} `.padEnd(400, "words of a message that is as long as most are ");

const fetchPage = tool(({ page }: { page: number }) => content(page), {
  name: "fetch_page",
  schema: z.object({ page: z.number() }),
});

let said = 0;

/** Calls the tool so many times in a turn, one after the other, and then answers. */
class LoopingModel extends BaseChatModel {
  readonly #calls: number;
  readonly #delayMs: number;

  constructor(calls: number, delayMs: number) {
    super({});
    this.#calls = calls;
    this.#delayMs = delayMs;
  }

  override bindTools(): this {
    return this;
  }

  override _llmType(): string {
    return "looping";
  }

  override async _generate(messages: BaseMessage[]): Promise<ChatResult> {
    await new Promise((resolve) => setTimeout(resolve, this.#delayMs));
    const asked = messages.findLastIndex(({ type }) => type === "human");
    const done = messages.slice(asked).filter(({ type }) => type === "tool").length;
    said += 1;
    const fields = { content: content(said), id: `ai-${said}` };
    const call = { name: "fetch_page", args: { page: said }, id: `call-${said}`, type: "tool_call" as const };
    const message = new AIMessage(done < this.#calls ? { ...fields, tool_calls: [call] } : fields);
    return { generations: [{ text: message.text, message }] };
  }
}

/** A conversation of messages with ids. */
export function earlierMessages(count: number): BaseMessage[] {
  return Array.from({ length: count }, (_, index) => {
    const fields = { content: content(-index - 1), id: `m${index}` };
    return index % 2 === 0 ? new HumanMessage(fields) : new AIMessage(fields);
  });
}

/** An agent that takes so many steps of a tool in each turn. */
export function toolLoopAgent(options: {
  readonly calls: number;
  readonly delayMs?: number;
  readonly checkpointer?: BaseCheckpointSaver;
  readonly middleware?: readonly AgentMiddleware[];
}) {
  const { calls, delayMs = 0, checkpointer, middleware = [] } = options;
  const model = new LoopingModel(calls, delayMs);
  return createAgent({ model, tools: [fetchPage], middleware, ...(checkpointer && { checkpointer }) });
}
