import type { BaseMessage } from "@langchain/core/messages";
import {
  ChatHistoryRoundReducer,
  type ChatHistoryRoundReducerOptions,
  InMemorySessionStore,
  RedisChatMessageHistory,
} from "../../src/entries/index.js";
import { summary } from "../support/conversations.js";
import { ai, aiCalls, human, system, tool } from "../support/messages.js";

const reduce = (messages: BaseMessage[], options: ChatHistoryRoundReducerOptions) =>
  new ChatHistoryRoundReducer(options).reduce(messages);

const round = (name: string) => [human(name), aiCalls(`c${name}`), tool(`c${name}`), ai(`answer ${name}`)];

describe("the cut by rounds", () => {
  const messages = [...round("1"), ...round("2"), ...round("3")];

  it("keeps system messages and summaries, which are no rounds", async () => {
    const [first, told] = [system("be kind"), summary("before")];
    expect(await reduce([first, told, ...messages], { targetRounds: 3 })).toBeNull();
    expect(await reduce([first, told, ...messages], { targetRounds: 1 })).toEqual([first, told, ...messages.slice(8)]);
  });

  it("leaves what exceeds the target by no more than the threshold", async () => {
    expect(await reduce(messages, { targetRounds: 1, thresholdRounds: 2 })).toBeNull();
    expect(await reduce(messages, { targetRounds: 1, thresholdRounds: 1 })).toEqual(messages.slice(8));
  });

  it("keeps a greeting in front until a round leaves", async () => {
    const greeted = [ai("Hello!"), ...messages];
    expect(await reduce(greeted, { targetRounds: 3 })).toBeNull();
    expect(await reduce(greeted, { targetRounds: 2 })).toEqual(messages.slice(4));
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
