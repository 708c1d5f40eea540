import { type BaseMessage, SystemMessage, AIMessage } from "@langchain/core/messages";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import fc from "fast-check";
import { ai, aiCalls, human, system, tool } from "../support/messages.js";
import {
  ChatHistoryRoundReducer,
  type ChatHistoryRoundReducerOptions,
  InMemorySessionStore,
  RedisChatMessageHistory,
  approximateCounter,
  type ChatHistoryReducer,
  ChatHistorySummarizationReducer,
  ChatHistoryTokenReducer,
  ChatHistoryTruncationReducer,
  type ChatHistoryTruncationReducerOptions,
} from "../../src/entries/index.js";
import { summary } from "../support/conversations.js";
import { roleOf } from "../../src/conversation/messages/message.js";
import { splitsStep } from "../../src/conversation/messages/steps.js";
import { forAllAsync } from "../support/property-runs.js";

const reduce = (messages: BaseMessage[], options: ChatHistoryTruncationReducerOptions) =>
  new ChatHistoryTruncationReducer(options).reduce(messages);

const answers = Array.from({ length: 20 }, (_, index) => ai(`answer ${index}`));

describe("the cut by count", () => {
  it("moves the cut back to a human message within the threshold", async () => {
    const messages = [human("1"), ai("a"), human("2"), ai("b"), human("3"), ai("c")];
    expect(await reduce(messages, { targetCount: 3, thresholdCount: 2 })).toEqual(messages.slice(2));
  });

  it("keeps the first of equal system messages", async () => {
    const [first, again, other] = [system("S"), system("S"), system("other")];
    expect(await reduce([first, ai("0"), again, other, ...answers], { targetCount: 4 })).toEqual([
      first,
      other,
      ...answers.slice(-2),
    ]);
  });

  it.each([
    ["first", "one"],
    ["latest", "three"],
  ] as const)("keeps only the %s system message where asked", async (systemMessages, text) => {
    const messages = [system("one"), ...answers, system("two"), system("three")];
    const result = await reduce(messages, { targetCount: 3, systemMessages });
    expect(result!.map(({ content }) => content)).toEqual([text, "answer 18", "answer 19"]);
  });

  it("treats developer messages like system messages", async () => {
    const developer = new SystemMessage({ content: "D", additional_kwargs: { __openai_role__: "developer" } });
    expect(await reduce([ai("0"), developer, ai("1"), ai("2")], { targetCount: 2 })).toMatchObject([
      { content: "D" },
      { content: "2" },
    ]);
  });

  it("reports the view size up to which a history need not reduce", () => {
    expect(new ChatHistoryTruncationReducer({ targetCount: 10, thresholdCount: 4 }).viewLimit).toEqual({
      messages: 14,
    });
  });
});

const reduceRounds = (messages: BaseMessage[], options: ChatHistoryRoundReducerOptions) =>
  new ChatHistoryRoundReducer(options).reduce(messages);

const round = (name: string) => [human(name), aiCalls(`c${name}`), tool(`c${name}`), ai(`answer ${name}`)];

describe("the cut by rounds", () => {
  const messages = [...round("1"), ...round("2"), ...round("3")];

  it("keeps system messages and summaries, which are no rounds", async () => {
    const [first, told] = [system("be kind"), summary("before")];
    expect(await reduceRounds([first, told, ...messages], { targetRounds: 3 })).toBeNull();
    expect(await reduceRounds([first, told, ...messages], { targetRounds: 1 })).toEqual([
      first,
      told,
      ...messages.slice(8),
    ]);
  });

  it("leaves what exceeds the target by no more than the threshold", async () => {
    expect(await reduceRounds(messages, { targetRounds: 1, thresholdRounds: 2 })).toBeNull();
    expect(await reduceRounds(messages, { targetRounds: 1, thresholdRounds: 1 })).toEqual(messages.slice(8));
  });

  it("keeps a greeting in front until a round leaves", async () => {
    const greeted = [ai("Hello!"), ...messages];
    expect(await reduceRounds(greeted, { targetRounds: 3 })).toBeNull();
    expect(await reduceRounds(greeted, { targetRounds: 2 })).toEqual(messages.slice(4));
  });

  it("reduces the view of a history, and leaves the transcript", async () => {
    const reducer = new ChatHistoryRoundReducer({ targetRounds: 2, thresholdRounds: 1 });
    const history = new RedisChatMessageHistory({ sessionId: "s", store: new InMemorySessionStore(), reducer });
    const sizes: number[] = [];
    for (let turn = 1; turn <= 5; turn += 1) {
      await history.addMessages(round(String(turn)));
      sizes.push((await history.getMessages()).length / 4);
    }
    expect(sizes).toEqual([1, 2, 3, 2, 3]);
    expect(await history.getTranscript()).toHaveLength(20);
  });
});

/** A turn of steps, each a call and its result; the first may think, and the last step may be open. */
function turn(name: string, steps: number, { thinks = false, ends = true } = {}): BaseMessage[] {
  const ids = Array.from({ length: steps }, (_, step) => `${name}${step}`);
  const messages = ids.flatMap((id, step) => {
    const call = aiCalls(id);
    const content = [{ type: "thinking", thinking: "hm", signature: "s" }];
    const thinking = new AIMessage({ content: content as never, tool_calls: call.tool_calls ?? [] });
    return [thinks && step === 0 ? thinking : call, tool(id)];
  });
  return [human(name), ...messages, ...(ends ? [ai(`answer to ${name}`)] : [])];
}

const tokenCounter = approximateCounter();
const summarizer = () => new FakeListChatModel({ responses: ["A summary."] });
const reducers: Record<string, () => ChatHistoryReducer> = {
  truncation: () => new ChatHistoryTruncationReducer({ targetCount: 6 }),
  tokens: () => new ChatHistoryTokenReducer({ maxTokens: 100, tokenCounter }),
  summary: () => new ChatHistorySummarizationReducer({ model: summarizer(), targetCount: 6, thresholdCount: 0 }),
};

const withoutSummary = (messages: readonly BaseMessage[]) =>
  messages.filter((message) => roleOf(message) !== "summary");

describe.each(Object.keys(reducers))("where the reducer may cut: %s", (name) => {
  const old = turn("a", 3);

  it("is between steps, also inside of an older turn that thinks", async () => {
    const kept = await reducers[name]!().invoke([...turn("a", 5, { thinks: true }), ...turn("b", 0)]);
    expect(kept.length).toBeGreaterThan(2);
  });

  it("is not inside of the newest turn where a thought in it is signed, up to the hard limit", async () => {
    const steps = name === "tokens" ? 2 : 4;
    const goingOn = turn("b", steps, { thinks: true, ends: false });
    const kept = await reducers[name]!().invoke([...old, ...goingOn]);
    expect(kept.slice(-goingOn.length)).toEqual(goingOn);
    expect(withoutSummary(kept)[0]).toBe(goingOn[0]);
    const long = turn("b", 20, { thinks: true, ends: false });
    expect((await reducers[name]!().invoke([...old, ...long])).length).toBeLessThan(15);
  });
});

it("never splits a step, whatever it keeps whole", async () => {
  const turns = fc.array(fc.record({ steps: fc.nat(5), thinks: fc.boolean() }), { minLength: 1, maxLength: 5 });
  const options = fc.record({
    turns,
    ends: fc.boolean(),
    name: fc.constantFrom("truncation", "tokens"),
  });
  await forAllAsync(200, options, async ({ turns: given, ends, name }) => {
    const messages = given.flatMap(({ steps, thinks }, index) =>
      turn(`t${index}_`, steps, { thinks, ends: ends || index < given.length - 1 }),
    );
    const outcome = await reducers[name]!().reduceWithOutcome(messages);
    expect(splitsStep({ before: messages, after: outcome.messages })).toBe(false);
    expect((await reducers[name]!().reduceWithOutcome(outcome.messages)).changed).toBe(false);
  });
});
