import { type BaseMessage, SystemMessage } from "@langchain/core/messages";
import { ChatHistoryTruncationReducer } from "../../src/conversation/reducers/truncation-reducer.js";
import type { ChatHistoryTruncationReducerOptions } from "../../src/conversation/reducers/truncation-reducer.js";
import { ai, aiCalls, human, system, tool } from "../support/messages.js";
import {
  ChatHistoryRoundReducer,
  type ChatHistoryRoundReducerOptions,
  InMemorySessionStore,
  RedisChatMessageHistory,
} from "../../src/entries/index.js";
import { summary } from "../support/conversations.js";

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
