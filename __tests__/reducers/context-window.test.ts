import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { approximateCounter, contextWindow, countMessages, type ReducerRequest } from "../../src/entries/index.js";
import { roleOf } from "../../src/conversation/messages/message.js";
import { CountingCounter } from "../support/counting-counter.js";
import { ai, aiCalls, human, tool } from "../support/messages.js";
import fc from "fast-check";
import { requestSize } from "../../src/conversation/reducers/window/request-size.js";
import { noteAsked } from "../../src/memory/session/append-input.js";
import { characterCounter } from "../history-manager/instances.js";
import { propertyRuns } from "../support/property-runs.js";

const model = (profile: object, more: object = {}) => ({ model: "m", _llmType: () => "fake", profile, ...more });
const long = "line of the result ".repeat(40);
/** Rounds of a question, a call with a long result, and an answer. */
const rounds = (count: number): BaseMessage[] =>
  Array.from({ length: count }, (_, index) => [
    human(`question ${index}`),
    aiCalls(`c${index}`),
    tool(`c${index}`, long),
    ai(`answer ${index}`),
  ]).flat();
const definition = (name: string) => ({
  type: "function" as const,
  function: {
    name,
    description: `The tool ${name}, which looks up what it is asked for, by id or by name.`,
    parameters: { type: "object", properties: { id: { type: "string", description: "Which one to look up." } } },
  },
});

const fit = (messages: BaseMessage[], options: object, request?: ReducerRequest) =>
  contextWindow(options).reduceWithOutcome(messages, undefined, request);

describe("contextWindow", () => {
  it("takes the window from the model's profile, also behind bound tools", async () => {
    const small = model({ maxInputTokens: 1_000 });
    for (const called of [small, { bound: small, kwargs: { tools: [] }, config: {} }]) {
      expect(await fit(rounds(20), {}, { model: called })).toMatchObject({ changed: true, overBudgetBy: 0 });
    }
    expect(await fit(rounds(20), {}, { model: model({ maxInputTokens: 100_000 }) })).toMatchObject({ changed: false });
  });

  it("does nothing where the window is not known", async () => {
    for (const request of [undefined, {}, { model: model({}) }, { model: model({ maxInputTokens: NaN }) }]) {
      expect(await fit(rounds(200), {}, request)).toMatchObject({ changed: false, reason: "within_limit" });
    }
  });

  it("leaves room for the answer: as told, as set on the model, or a tenth of the window", async () => {
    const roomBy = async (options: object, called: object) => {
      const { after } = await fit(rounds(60), { target: 1, safetyMargin: 0, ...options }, { model: called });
      return after.tokens!;
    };
    const profile = { maxInputTokens: 4_000 };
    const tenth = await roomBy({}, model(profile));
    expect(tenth).toBeLessThanOrEqual(3_600);
    expect(tenth).toBeGreaterThan(3_400);
    const told = await roomBy({ reserveForAnswer: 2_000 }, model(profile));
    expect(told).toBeLessThanOrEqual(2_000);
    expect(await roomBy({}, model(profile, { maxTokens: 2_000 }))).toBe(told);
    expect(await roomBy({}, model(profile, { maxTokens: 100_000 }))).toBe(told);
    expect(await roomBy({}, model({ ...profile, maxOutputTokens: 10 }))).toBeGreaterThan(tenth);
  });

  it("counts system prompt and tools, those that are bound to the model too", async () => {
    const tools = Array.from({ length: 10 }, (_, index) => definition(`tool_${index}`));
    const messages = rounds(18);
    const maxInputTokens = Math.ceil((await countMessages(approximateCounter(), messages)) / 0.8);
    const bound = { bound: model({ maxInputTokens }), kwargs: { tools }, config: {} };
    const plain = { model: model({ maxInputTokens }) };
    expect((await fit(messages, {}, plain)).changed).toBe(false);
    expect((await fit(messages, {}, { ...plain, tools })).changed).toBe(true);
    expect((await fit(messages, {}, { ...plain, system: long.repeat(5) })).changed).toBe(true);
    expect((await fit(messages, {}, { ...plain, besides: [human(long.repeat(5))] })).changed).toBe(true);
    expect((await fit(messages, {}, { model: bound })).changed).toBe(true);
    expect((await fit(messages, { tools }, plain)).changed).toBe(true);
    expect((await fit(messages, { systemPrompt: long.repeat(5) }, plain)).changed).toBe(true);
  });

  it.each([0, 3])("shortens the results of finished turns before any message leaves, with %d to keep", async (keep) => {
    const facts = Array.from({ length: 40 }, (_, index) => [human(`Fact ${index}`), ai(`Noted ${index}.`)]).flat();
    for (const words of [1_500, 3_000]) {
      const page = (id: string, text: string) => [human(`read ${id}`), aiCalls(id), tool(id, text)];
      const messages = [...facts, ...page("old", "word ".repeat(words)), ai("It says hello."), ...page("new", long)];
      const options = { maxInputTokens: 2_000, reserveForAnswer: 0, keepToolResults: keep };
      const fitted = await fit(messages, options, { system: "word ".repeat(200) });
      expect(fitted).toMatchObject({ changed: true, removed: [], overBudgetBy: 0 });
      const results = fitted.messages.filter((message) => roleOf(message) === "tool").map(({ text }) => text.length);
      expect(results).toEqual([expect.any(Number), keep === 0 ? results[1] : long.length]);
      expect(results[0]).toBeLessThanOrEqual(200);
    }
  });

  it.each([0.3, 0.7, 0.8, 0.85, 0.95])("cuts to its target of what fixed parts of %d leave", async (share) => {
    const tokenCounter = new CountingCounter();
    for (const [maxInputTokens, target] of [8_192, 32_768].flatMap((size) => [0.5, 0.8].map((to) => [size, to]))) {
      const room = Math.floor(0.81 * maxInputTokens!);
      const request = { system: "x".repeat(4 * Math.floor(share * room)) };
      const left = room - Math.floor(share * room);
      const messages = Array.from({ length: 800 }, (_, index) => [
        human(`Fact ${index}: ${"y".repeat(60)}`),
        ai(`Noted ${index}.`),
      ]).flat();
      const { after } = await fit(messages, { maxInputTokens, target, tokenCounter }, request);
      expect(after.tokens).toBeLessThanOrEqual(target! * left);
      expect(after.tokens).toBeGreaterThan(target! * left - 60);
    }
  });

  it("passes the placeholder and the tools to spare on", async () => {
    const result = await fit(rounds(12), { maxInputTokens: 2_500, placeholder: "[gone]" });
    expect(result.messages[2]!.text).toBe("[gone]");
    const spared = await fit(rounds(12), { maxInputTokens: 2_200, excludeTools: ["lookup"] });
    expect(spared.messages.filter((message) => roleOf(message) === "tool").every(({ text }) => text === long)).toBe(
      true,
    );
    expect(spared.removed.length).toBeGreaterThan(0);
  });

  it("writes a summary before messages leave, and goes on without one where none can be written", async () => {
    const writer = { invoke: () => Promise.resolve("They talked about ten things.") };
    const options = { maxInputTokens: 900, keepToolResults: 0 };
    const summarized = await fit(rounds(40), { ...options, summary: { model: writer } });
    expect(summarized.messages.some((message) => roleOf(message) === "summary")).toBe(true);
    expect(summarized).toMatchObject({ changed: true, overBudgetBy: 0 });
    const broken = { invoke: () => Promise.reject(new Error("down")) };
    const cut = await fit(rounds(40), { ...options, summary: { model: broken } });
    expect(cut).toMatchObject({ changed: true, overBudgetBy: 0, error: { code: "failed" } });
    expect(contextWindow({ summary: { model: writer } }).requiresLease).toBe(true);
  });

  it("names the size from which a history has to ask it", () => {
    const tokenCounter = new CountingCounter();
    expect(contextWindow().viewLimit).toEqual({});
    const options = { maxInputTokens: 1_000, reserveForAnswer: 0, tokenCounter };
    expect(contextWindow(options).viewLimit).toEqual({ tokens: 897 });
    expect(contextWindow({ ...options, trigger: [{ fraction: 0.5, messages: 4 }] }).viewLimit).toEqual({ tokens: 447 });
    expect(contextWindow({ ...options, trigger: { messages: 4 } }).viewLimit).toEqual({ tokens: 897, messages: 3 });
    expect(contextWindow({ ...options, systemPrompt: long }).viewLimit.tokens).toBeLessThan(897);
  });
});

const counting = { counter: characterCounter(), names: [{ askedAs: "asked:m", isWhole: true, isRepeated: false }] };

/** Tokens of the counter for a request, and what the provider billed for it. */
type Billed = readonly [thought: number, billed: number];

/** A view of `size` tokens with answers to these requests, the oldest first. */
function viewOf(size: number, requests: readonly Billed[]): BaseMessage[] {
  const answers = requests.map(([thought, billed]) => {
    const usage_metadata = { input_tokens: billed, output_tokens: 1, total_tokens: billed + 1 };
    const answer = new AIMessage({ content: "", usage_metadata });
    noteAsked(answer, "asked:m", thought);
    return answer;
  });
  const filling = size - 3 - 10 * (answers.length + 1);
  return [...answers, new HumanMessage("h".repeat(filling))];
}

const sizeOf = (size: number, requests: readonly Billed[]) => requestSize(viewOf(size, requests), {}, counting);

describe("the size of a request behind answers whose requests the provider billed", () => {
  it.each<[string, readonly Billed[], { readonly at600: number; readonly at1200: number }]>([
    ["goes by the ratio of the bill", [[1_000, 2_000]], { at600: 1_200, at1200: 2_400 }],
    [
      "goes by the newest bill",
      [
        [500, 900],
        [1_000, 1_500],
      ],
      { at600: 900, at1200: 1_800 },
    ],
    ["adds what the counter cannot have seen", [[1_000, 4_000]], { at600: 3_600, at1200: 4_200 }],
  ])("%s", async (_, requests, { at600, at1200 }) => {
    expect(await sizeOf(600, requests)).toMatchObject({ isAnchored: true, estimate: 600, tokens: at600 });
    expect(await sizeOf(1_200, requests)).toMatchObject({ isAnchored: true, estimate: 1_200, tokens: at1200 });
  });

  it("is the estimate behind a bill of less than half, as of a list that the provider compacted", async () => {
    expect(await sizeOf(600, [[1_000, 400]])).toMatchObject({ isAnchored: false, tokens: 600 });
  });

  it("finds the way back: messages of the size that it names take no more than was asked for, and hardly less", () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.integer({ min: 500, max: 5_000 }), fc.integer({ min: 500, max: 9_000 })), {
          maxLength: 5,
        }),
        fc.integer({ min: 500, max: 9_000 }),
        async (requests, tokens) => {
          const within = (await sizeOf(1_000, requests)).messagesWithin(tokens);
          fc.pre(within > 100);
          const { tokens: taken } = await sizeOf(within, requests);
          expect(taken).toBeLessThanOrEqual(tokens);
          expect(taken).toBeGreaterThan(tokens - 4);
        },
      ),
      { numRuns: propertyRuns(200), examples: [[[[2_562, 6_608]], 6_608]] },
    ));
});
