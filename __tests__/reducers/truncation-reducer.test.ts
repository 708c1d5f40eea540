import type { BaseMessage } from "@langchain/core/messages";
import { SystemMessage } from "@langchain/core/messages";
import {
  ChatHistoryTruncationReducer,
  type ChatHistoryTruncationReducerOptions,
} from "../../src/conversation/reducers/truncation-reducer.js";
import { summary } from "../support/conversations.js";
import { ai, aiCalls, human, system, tool } from "../support/messages.js";

async function reduce(
  messages: BaseMessage[],
  options: ChatHistoryTruncationReducerOptions,
): Promise<BaseMessage[] | null> {
  return new ChatHistoryTruncationReducer(options).reduce(messages);
}

const answers = Array.from({ length: 20 }, (_, index) => ai(`answer ${index}`));

describe("the cut by count", () => {
  it("keeps the last messages", async () => {
    expect(await reduce(answers, { targetCount: 10 })).toEqual(answers.slice(10));
  });

  it("counts the system message in the target", async () => {
    const first = system("be kind");
    expect(await reduce([first, ...answers], { targetCount: 10 })).toEqual([first, ...answers.slice(11)]);
  });

  it("moves the cut back to a human message within the threshold", async () => {
    const messages = [human("1"), ai("a"), human("2"), ai("b"), human("3"), ai("c")];
    expect(await reduce(messages, { targetCount: 3, thresholdCount: 2 })).toEqual(messages.slice(2));
  });

  it("keeps the newest message with its human message if system messages fill the target", async () => {
    const [first, last, answer] = [system("S"), human("2"), ai("b")];
    expect(await reduce([first, human("1"), ai("a"), last, answer], { targetCount: 1 })).toEqual([first, last, answer]);
  });

  it("cuts inside a round of many tool calls and keeps the request that they serve", async () => {
    const steps = Array.from({ length: 50 }, (_, index) => [aiCalls(`c${index}`), tool(`c${index}`)]).flat();
    const request = human("do it all");
    const result = await reduce([human("before"), ai("ok"), request, ...steps], { targetCount: 5 });
    expect(result).toEqual([request, ...steps.slice(-6)]);
  });

  it("keeps all summaries and does not count them", async () => {
    const [one, two] = [summary("first"), summary("second")];
    const messages = [one, two, aiCalls("c"), tool("c"), ai("a")];
    expect(await reduce(messages, { targetCount: 1 })).toEqual([one, two, messages[4]]);
  });

  it("has nothing to do up to target plus threshold", async () => {
    expect(await reduce(answers.slice(0, 12), { targetCount: 10, thresholdCount: 2 })).toBeNull();
    expect(await reduce(answers.slice(0, 13), { targetCount: 10, thresholdCount: 2 })).toHaveLength(10);
    expect(await reduce([], { targetCount: 1 })).toBeNull();
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
});

describe("the outcome", () => {
  const reducer = new ChatHistoryTruncationReducer({ targetCount: 10 });

  it("names what was removed and the sizes", async () => {
    const outcome = await reducer.reduceWithOutcome(answers);
    expect(outcome).toMatchObject({
      changed: true,
      reason: "reduced",
      before: { messages: 20 },
      after: { messages: 10 },
      overBudgetBy: 0,
    });
    expect(outcome.removed).toEqual(answers.slice(0, 10));
  });

  it("says where nothing can be removed", async () => {
    const outcome = await new ChatHistoryTruncationReducer({ targetCount: 1 }).reduceWithOutcome([
      aiCalls("c"),
      tool("c"),
    ]);
    expect(outcome).toMatchObject({ changed: false, reason: "nothing_removable" });
  });
});

describe("options of the truncation reducer", () => {
  it("reports the view size up to which a history need not reduce", () => {
    expect(new ChatHistoryTruncationReducer({ targetCount: 10, thresholdCount: 4 }).viewLimit).toEqual({
      messages: 14,
    });
  });
});
