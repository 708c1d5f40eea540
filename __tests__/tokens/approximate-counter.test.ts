import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { approximateCounter } from "../../src/conversation/tokens/counters/approximate-counter.js";
import { tiktokenCounter } from "../../src/conversation/tokens/counters/tiktoken-counter.js";
import { recordedConversations } from "../support/real-conversations.js";
import { otherSamples, samples } from "./samples.js";

const counter = approximateCounter();
const exact = tiktokenCounter();

describe("approximateCounter", () => {
  it.each(Object.entries(samples))("is within a quarter of o200k_base for %s", async (_, texts) => {
    for (const text of texts) {
      expect(Math.abs(await error(text))).toBeLessThan(0.25);
    }
  });

  it("is within 7 % on average over the kinds of text it was fitted on, 13 % over others", async () => {
    const fitted = await Promise.all(Object.values(samples).flat().map(error));
    const others = await Promise.all(Object.values(otherSamples).map(error));
    expect(mean(fitted)).toBeLessThan(0.07);
    expect(mean(others)).toBeLessThan(0.13);
  });

  it("is several times nearer than four characters a token", async () => {
    const texts = Object.values(samples).flat();
    const naive = await Promise.all(texts.map(async (text) => text.length / 4 / (await exact.countText(text)) - 1));
    expect(mean(naive)).toBeGreaterThan(4 * mean(await Promise.all(texts.map(error))));
  });

  it("is within 3 % for the text of recorded conversations and of all kinds", async () => {
    const texts = [...recordedTexts(), ...Object.values(samples).flat()];
    const totals = await Promise.all([counter, exact].map((one) => sumOf(texts, one)));
    expect(Math.abs(totals[0]! / totals[1]! - 1)).toBeLessThan(0.03);
  });

  it("answers at once, nothing for nothing and something for anything", () => {
    expect(counter.countText("")).toBe(0);
    expect(counter.countText("\ud83d")).toBeGreaterThan(0);
    expect(counter.countMessage(new HumanMessage(""))).toBe(3 + 1);
  });

  it("counts tool calls and tool definitions", () => {
    const silent = new AIMessage("");
    const calling = new AIMessage({
      content: "",
      tool_calls: [{ id: "call_1", name: "search", args: { query: "weather in Paris" } }],
    });
    expect(counter.countMessage(calling)).toBeGreaterThan((counter.countMessage(silent) as number) + 10);
    const search = {
      type: "function",
      function: { name: "search", description: "Search the web.", parameters: { type: "object", properties: {} } },
    };
    expect(counter.perRequest).toBe(3);
    expect(approximateCounter({ tools: [search] }).perRequest).toBe(3 + 7 + 12 + 4);
  });

  it("takes time in proportion to the length, also for 200,000 characters of one kind", () => {
    for (const character of ["a", " ", "1", "=", "你", "👍", "-a"]) {
      const part = counter.countText(character.repeat(10_000)) as number;
      const whole = counter.countText(character.repeat(20 * 10_000)) as number;
      expect(Math.abs(whole / (20 * part) - 1)).toBeLessThan(0.05);
    }
  });
});

async function error(text: string): Promise<number> {
  return (counter.countText(text) as number) / (await exact.countText(text)) - 1;
}

function mean(errors: readonly number[]): number {
  return errors.reduce((sum, value) => sum + Math.abs(value), 0) / errors.length;
}

async function sumOf(texts: readonly string[], one: typeof counter): Promise<number> {
  let sum = 0;
  for (const text of texts) {
    sum += await one.countText(text);
  }
  return sum;
}

/** What recorded conversations say and call, those of the repository at least. */
function recordedTexts(): string[] {
  return recordedConversations().flatMap((messages) =>
    messages.flatMap((message) => {
      const { tool_calls: calls = [] } = message as AIMessage;
      return [message.text, ...calls.map(({ args }) => JSON.stringify(args))];
    }),
  );
}
