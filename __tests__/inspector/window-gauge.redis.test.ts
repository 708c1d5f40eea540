import { AIMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { createAgent } from "langchain";
import { z } from "zod";
import { ChatHistoryTruncationReducer } from "langchain-redis-memory";
import { redisMemoryMiddleware } from "langchain-redis-memory/agent";
import type { GaugeAnswer, ServerFacts } from "../../cli/inspector/model/data.js";
import type { ModelFact } from "../../cli/inspector/model/facts-of-models.js";
import { ToolModel } from "../support/agents.js";
import { inspectedPlaces, type InspectedPlace } from "../support/inspectors.js";
import { ai, human } from "../support/messages.js";

const place = inspectedPlaces();

const search = tool(({ query }: { query: string }) => `${query}: a flight`, {
  name: "search",
  description: "Finds flights by what the traveller says. ".repeat(10),
  schema: z.object({ query: z.string() }),
});

/** An answer with what its request was billed. */
function answered(text: string, input: number, model?: string): AIMessage {
  return new AIMessage({
    content: text,
    usage_metadata: { input_tokens: input, output_tokens: 10, total_tokens: input + 10 },
    ...(model !== undefined && { response_metadata: { model_name: model } }),
  });
}

/** A model with a window that counts a third of the characters, and more than the messages. */
class WindowModel extends ToolModel {
  constructor() {
    super((messages) => answered("Here are some.", 300 + Math.ceil(JSON.stringify(messages).length / 3)));
  }

  override get profile() {
    return { maxInputTokens: 8_000 };
  }
}

async function talk({ memory }: InspectedPlace, model: WindowModel, questions: readonly string[]): Promise<void> {
  const app = memory();
  const systemPrompt = "You are a helpful agent of an airline. ".repeat(20);
  const agent = createAgent({
    model,
    tools: [search],
    systemPrompt,
    middleware: [redisMemoryMiddleware({ memory: app })],
  });
  for (const content of questions) {
    await agent.invoke({ messages: [{ role: "user", content }] }, { configurable: { sessionId: "s" } });
  }
  await app.drain();
}

const known: readonly ModelFact[] = [{ name: "WindowModel", window: 8_000 }];

describe("the gauge of the inspector", () => {
  it("is the one of history.contextUsage, and tells the fixed parts from the view", async () => {
    const here = await place({}, { models: known });
    const model = new WindowModel();
    await talk(here, model, ["Where can I go?"]);
    const [first, usage] = [await gauge(here), await here.memory().history("s").contextUsage({ model })];
    expect(first).toMatchObject({ model: "WindowModel", tokens: usage!.tokens, window: 8_000, room: usage!.room });
    expect(first!.fixed).toBeGreaterThan(300);
    await talk(here, model, ["And by night? ".repeat(60), "Thanks."]);
    const later = await gauge(here);
    expect(later!.tokens).toBe((await here.memory().history("s").contextUsage({ model }))!.tokens);
    expect(later!.tokens - later!.fixed!).toBeGreaterThan(first!.tokens - first!.fixed! + 200);
    expect(Math.abs(later!.fixed! - first!.fixed!)).toBeLessThan(0.2 * first!.fixed!);
    expect((await here.ask<ServerFacts>("server")).models).toEqual(known);
  });

  it("has no window where none is said, and no parts where they are not stored or the view was cut since", async () => {
    const here = await place();
    await here.add("told", [human("1"), answered("2", 90, "gpt-x")]);
    expect(await gauge(here, "told")).toEqual({ model: "gpt-x", tokens: 90 });
    const model = new WindowModel();
    await talk(here, model, ["one", "two"]);
    const before = await gauge(here);
    expect(before).toMatchObject({ fixed: expect.any(Number) as number });
    expect(before).not.toHaveProperty("window");
    await here
      .memory({ reducer: new ChatHistoryTruncationReducer({ targetCount: 2 }) })
      .history("s")
      .reduceView();
    expect(await gauge(here)).toMatchObject({ isCut: true });
    expect(await gauge(here)).not.toHaveProperty("fixed");
    await here.add("silent", [human("1"), ai("2")]);
    expect(await gauge(here, "silent")).toBeUndefined();
  });
});

async function gauge({ ask }: InspectedPlace, id = "s") {
  return (await ask<GaugeAnswer>("gauge", { id })).gauge;
}
