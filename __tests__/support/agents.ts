import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { z } from "zod";
import { ScriptedModel } from "./scripted-model.js";

/** A scripted model that an agent can bind tools to. */
export class ToolModel extends ScriptedModel {
  override bindTools(): this {
    return this;
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
