import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { HistoryManager } from "../../src/doors/tool-loop/history-manager.js";
import type { HistoryManagerOptions } from "../../src/doors/tool-loop/history-manager-options.js";
import { asking, characterCounter, newSession, type Scene, searchTools as tools } from "./instances.js";
import { propertyRuns } from "../support/property-runs.js";

const model = (maxInputTokens: number | undefined, more: object = {}) => ({
  model: "m",
  _llmType: () => "fake",
  profile: { maxInputTokens },
  ...more,
});
const boundTo = (bound: object) => ({ bound, kwargs: { tools }, config: {} });

const scene: fc.Arbitrary<Scene> = fc.record({
  window: fc.integer({ min: 2_500, max: 12_000 }),
  ratio: fc.double({ min: 0.7, max: 1.6, noNaN: true }),
  turns: fc.array(
    fc.record({ question: fc.nat(200), results: fc.array(fc.nat(900), { minLength: 1, maxLength: 3 }) }),
    { minLength: 3, maxLength: 8 },
  ),
});

/** Plays turns, each by an instance of its own, with a model that counts in its own way and says so. */
async function play({ window, ratio, turns }: Scene, options: Partial<HistoryManagerOptions> = {}) {
  const session = newSession();
  const counter = characterCounter();
  const fixed = 3 + tools.length * 300;
  const sizes: number[] = [];
  const answer = async (messages: readonly BaseMessage[], calls: readonly string[]) => {
    const counted = await Promise.all(messages.map((message) => counter.countMessage(message)));
    const input = Math.ceil(ratio * counted.reduce((sum, tokens) => sum + tokens, fixed));
    sizes.push(input);
    return new AIMessage({
      content: calls.length === 0 ? "That is so." : "",
      tool_calls: calls.map((id) => ({ id, name: "search", args: { query: id }, type: "tool_call" as const })),
      usage_metadata: { input_tokens: input, output_tokens: 9, total_tokens: input + 9 },
    });
  };
  for (const [turn, { question, results }] of turns.entries()) {
    const called = boundTo(model(window));
    const manager = new HistoryManager({
      history: session.history(),
      tokenCounter: counter,
      model: called,
      ...options,
    });
    const request = asking("q".repeat(question) + turn);
    for (const [step, length] of results.entries()) {
      const { messages } = await manager.getHistoryForModelCall(request);
      manager.addAssistantMessage(await answer(messages, [`c${turn}-${step}`]));
      await manager.addToolCallResults([{ id: `c${turn}-${step}`, name: "search", content: "r".repeat(length) }]);
    }
    const { messages } = await manager.getHistoryForModelCall(request);
    manager.addAssistantMessage(await answer(messages, []));
    await manager.commit();
  }
  return sizes;
}

describe("a manager that is given its model", () => {
  it("lets no request exceed the window less its reserve, however the provider counts, once that has answered", () =>
    fc.assert(
      fc.asyncProperty(scene, async (given) => {
        const sizes = await play(given);
        // The first request of all is small; a tenth of the window is kept for the answer.
        expect(Math.max(...sizes)).toBeLessThanOrEqual(0.9 * given.window);
      }),
      { numRuns: propertyRuns(20) },
    ));

  it("takes its window, leaves room for its answer, and counts the tools that are bound to it", async () => {
    const history = newSession().history();
    const outcomeOf = async (options: Partial<HistoryManagerOptions>) => {
      const manager = new HistoryManager({ history, tokenCounter: characterCounter(), safetyMargin: 0, ...options });
      return (await manager.getHistoryForModelCall(asking("hi"))).outcome;
    };
    expect((await outcomeOf({ model: model(1_000) })).limit).toBe(900);
    expect((await outcomeOf({ model: model(1_000, { maxTokens: 300 }) })).limit).toBe(700);
    expect((await outcomeOf({ model: model(1_000), reserveForAnswer: 50 })).limit).toBe(950);
    expect((await outcomeOf({ model: model(1_000), maxInputTokens: 500 })).limit).toBe(500);
    expect((await outcomeOf({ maxInputTokens: 500, reserveForAnswer: 100 })).limit).toBe(400);
    const bound = (await outcomeOf({ model: boundTo(model(1_000)) })).tokens;
    expect(bound).toBeGreaterThan((await outcomeOf({ model: model(1_000) })).tokens + 40);
    expect((await outcomeOf({ model: model(1_000), tools })).tokens).toBe(bound);
  });

  it("says where the window is missing", async () => {
    const history = newSession().history();
    const options = [{}, { model: model(undefined) }, { maxInputTokens: 100, reserveForAnswer: 100 }];
    const refused = options.map(async (given) => {
      await new HistoryManager({ history, ...given }).getHistoryForModelCall(asking("hi"));
    });
    const named = await Promise.all(refused.map((call) => call.catch((error: unknown) => error)));
    expect(named.map((error) => (error as { option: string }).option)).toEqual([
      "maxInputTokens",
      "maxInputTokens",
      "reserveForAnswer",
    ]);
  });
});
