import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { StringOutputParser } from "@langchain/core/output_parsers";
import fc from "fast-check";
import {
  contextWindow,
  InMemorySessionStore,
  RedisChatMemory,
  withRedisMemory,
  type MemorySettings,
} from "../../src/entries/index.js";
import { ToolModel } from "../support/agents.js";
import { CountingCounter } from "../support/counting-counter.js";
import { forAllAsync } from "../support/property-runs.js";

const maxInputTokens = 1_000;
/** Without a tenth for the answer, and a tenth of the rest because the provider's count is not known. */
const room = 810;
const tokenCounter = new CountingCounter();
/** Tokens of inputs, up to the room. */
const inputs = fc.array(fc.oneof(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 1, max: room - 10 })), {
  minLength: 1,
  maxLength: 12,
});

/** Plays turns, each with a memory of its own, and returns what the model was sent. */
async function play(lengths: readonly number[], settings: MemorySettings, persist: "step" | "turn") {
  const model = new ToolModel(() => new AIMessage("It is so, and so it stays. ".repeat(2)));
  const store = new InMemorySessionStore();
  for (const [turn, length] of lengths.entries()) {
    const memory = new RedisChatMemory({ store, ...settings });
    // The parser hides what the answer was billed.
    const chain = withRedisMemory(model.pipe(new StringOutputParser()), { memory, persist });
    const input = new HumanMessage({ content: "q".repeat(4 * length), id: `q-${turn}` });
    await chain.invoke([input], { configurable: { sessionId: "s" } });
    expect(model.sent.at(-1)!.at(-1)!.text).toBe(input.text);
    await memory.close();
  }
  return model.sent;
}

const tokensOf = (messages: readonly BaseMessage[]) => tokenCounter.totalOf([...messages]);
const shown = (messages: readonly BaseMessage[]) => messages.map((message) => [message.getType(), message.content]);

describe("a chain's requests", () => {
  it("keep within the room with inputs of any length up to it, and differ by nothing until history exceeds it", () =>
    forAllAsync(25, fc.tuple(inputs, fc.constantFrom("step" as const, "turn" as const)), async ([lengths, persist]) => {
      const reducer = contextWindow({ maxInputTokens, tokenCounter });
      const fitted = await play(lengths, { reducer }, persist);
      const whole = await play(lengths, { reducer: "none" }, persist);
      expect(fitted.map(tokensOf).filter((tokens) => tokens > room)).toEqual([]);
      const first = whole.findIndex((messages) => tokensOf(messages) > room);
      const same = first < 0 ? whole.length : first;
      expect(fitted.slice(0, same).map(shown)).toEqual(whole.slice(0, same).map(shown));
      expect(first < 0 || fitted[first]!.length < whole[first]!.length).toBe(true);
    }));
});
