import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { contextWindow, InMemorySessionStore, type MemoryEvent, RedisChatMemory } from "../../src/entries/index.js";
import { type FittedWindow, HistoryManager, type HistoryManagerOptions } from "../../src/entries/tool-loop.js";
import { asking, characterCounter, newSession, type Scene, searchTools as tools } from "./instances.js";
import { forAllAsync } from "../support/property-runs.js";

/** Scenes of so many turns with results of so many characters, in such a window. */
const scenes = (window: [min: number, max: number], turns: [number, number], results: [number, number]) =>
  fc.record<Scene>({
    window: fc.integer({ min: window[0], max: window[1] }),
    ratio: fc.double({ min: 0.7, max: 1.6, noNaN: true }),
    turns: fc.array(
      fc.record({
        question: fc.nat(200),
        results: fc.array(fc.integer({ min: results[0], max: results[1] }), { minLength: 1, maxLength: 3 }),
      }),
      { minLength: turns[0], maxLength: turns[1] },
    ),
  });

/** What one call of the model was sent, and how it was fitted. */
interface Call {
  readonly turn: number;
  readonly messages: readonly BaseMessage[];
  /** Tokens of the request as the provider counts them. */
  readonly billed: number;
  /** The same as the manager thought. */
  readonly thought: number;
}

/**
 * Plays turns, each by a memory and a manager of its own on one store, with a model that counts in its own way and says
 * so. The memory's reducer is `contextWindow`, with the model's window, or none.
 */
async function play({ window, ratio, turns }: Scene, { cuts }: { readonly cuts: boolean }) {
  const [store, counter, calls] = [new InMemorySessionStore(), characterCounter(), [] as Call[]];
  const [events, given] = [[] as MemoryEvent[], [] as BaseMessage[][]];
  const model = { model: "m", _llmType: () => "fake", profile: { maxInputTokens: window } };
  const called = { bound: model, kwargs: { tools }, config: {} };
  const cutting = () => contextWindow({ maxInputTokens: window, tokenCounter: counter, keepToolResults: 1 });
  const reducer = () => (cuts ? cutting() : ("none" as const));
  const open = () => new RedisChatMemory({ store, reducer: reducer(), onEvent: (event) => void events.push(event) });
  let fixed: number | undefined;
  const answer = async ({ messages, outcome }: FittedWindow, call: string | undefined) => {
    const counted = await Promise.all(messages.map((message) => counter.countMessage(message)));
    const total = counted.reduce((sum, tokens) => sum + tokens, 0);
    // The first request of a memory that cuts is known by the counter alone.
    fixed ??= cuts ? outcome.tokens - total : 3 + 300 * tools.length;
    const input = Math.ceil(ratio * (fixed + total));
    const tool_calls = call === undefined ? [] : [{ id: call, name: "search", args: {}, type: "tool_call" as const }];
    const usage_metadata = { input_tokens: input, output_tokens: 9, total_tokens: input + 9 };
    return new AIMessage({ content: call === undefined ? "That is so." : "", tool_calls, usage_metadata });
  };
  for (const [turn, { question, results }] of turns.entries()) {
    const memory = open();
    const manager = new HistoryManager({
      history: memory.history("s"),
      model: called,
      ...(!cuts && { tokenCounter: counter }),
    });
    const request = asking(`${turn} ${"q".repeat(question)}`);
    for (let step = 0; step <= results.length; step += 1) {
      const fitted = await manager.getHistoryForModelCall(request);
      const id = step < results.length ? `c${turn}-${step}` : undefined;
      const said = await answer(fitted, id);
      const { messages, outcome } = fitted;
      calls.push({ turn, messages, billed: said.usage_metadata!.input_tokens, thought: outcome.tokens });
      manager.addAssistantMessage(said);
      if (id !== undefined) {
        await manager.addToolCallResults([{ id, name: "search", content: `${id} ${"r".repeat(results[step]!)}` }]);
      }
    }
    await manager.commit();
    const last = open();
    given.push(await last.history("s").getMessages());
    await Promise.all([memory.close(), last.close()]);
  }
  const history = open().history("s");
  const [transcript, usage] = [await history.getTranscript(), await history.contextUsage({ model: called })];
  return { calls, events, views: given, transcript, usage: usage!, counter };
}

const reductionsIn = (events: readonly MemoryEvent[]) => events.filter(({ type }) => type === "reduced");
const textsOf = (messages: readonly BaseMessage[]) => messages.map(({ text }) => text);

describe("a manager on a memory with contextWindow", () => {
  it("sends no request over the room while the memory shortens and cuts the view, and loses nothing", async () => {
    const seen = { reductions: 0, shortened: 0, scaled: 0, fullest: 0 };
    await forAllAsync(10, scenes([4_000, 9_000], [8, 16], [300, 900]), async (given) => {
      const { calls, events, views, transcript, usage, counter } = await play(given, { cuts: true });
      const { window, turns } = given;
      const room = 0.9 * window;
      expect(calls.filter(({ billed }) => billed > room)).toEqual([]);
      calls.forEach(({ turn, messages }) => {
        const question = `${turn} ${"q".repeat(turns[turn]!.question)}`;
        expect(textsOf(messages).filter((text) => text === question)).toHaveLength(1);
      });

      // The view is within what contextWindow allows; all of it is in the transcript.
      views.forEach((view) => {
        const size = view.reduce((sum, message) => sum + (counter.countMessage(message) as number), 3);
        expect(size).toBeLessThanOrEqual(0.9 * room);
      });
      const results = turns.flatMap((turn, at) =>
        turn.results.map((size, step) => `c${at}-${step} ${"r".repeat(size)}`),
      );
      const stored = textsOf(transcript.filter((message) => message.type === "tool"));
      expect(stored).toEqual(results);
      expect(events.filter(({ type }) => /fail|conflict|damaged|hidden|skipped/.test(type))).toEqual([]);

      // Behind the first answer the provider's count is the base, also behind a reduction.
      // Right behind a large cut, of what left a twentieth is taken to be still there.
      const isClose = (ratio: number) => ratio > 0.95 && ratio < 1.1;
      const scaled = calls.slice(1).filter(({ thought, billed }) => isClose(thought / billed));
      expect(usage).toMatchObject({ source: "provider", model: "m", window });
      expect(scaled).toHaveLength(calls.length - 1);
      seen.reductions += reductionsIn(events).length;
      seen.shortened += views.at(-1)!.filter((m) => m.type === "tool" && !results.includes(m.text)).length;
      seen.scaled += scaled.length;
      seen.fullest = Math.max(seen.fullest, ...calls.map(({ billed }) => billed / room));
    });
    expect(seen.reductions).toBeGreaterThan(10);
    expect(seen.shortened).toBeGreaterThan(10);
    expect(seen.scaled).toBeGreaterThan(100);
    expect(seen.fullest).toBeGreaterThan(0.75);
  });
});

const model = (maxInputTokens: number | undefined, more: object = {}) => ({
  model: "m",
  _llmType: () => "fake",
  profile: { maxInputTokens },
  ...more,
});
const boundTo = (bound: object) => ({ bound, kwargs: { tools }, config: {} });

describe("a manager that is given its model", () => {
  it("lets no request exceed the window less its reserve, however the provider counts, once that has answered", () =>
    forAllAsync(20, scenes([2_500, 12_000], [3, 8], [0, 900]), async (given) => {
      const { calls } = await play(given, { cuts: false });
      // The first request of all is small; a tenth of the window is kept for the answer.
      expect(Math.max(...calls.map(({ billed }) => billed))).toBeLessThanOrEqual(0.9 * given.window);
    }));

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
