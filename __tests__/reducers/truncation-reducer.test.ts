import type { BaseMessage } from "@langchain/core/messages";
import { SystemMessage } from "@langchain/core/messages";
import {
  ChatHistoryTruncationReducer,
  type ChatHistoryTruncationReducerOptions,
} from "../../src/conversation/reducers/truncation-reducer.js";
import { ai, human, system } from "../support/messages.js";

async function reduce(
  messages: BaseMessage[],
  options: ChatHistoryTruncationReducerOptions,
): Promise<BaseMessage[] | null> {
  return new ChatHistoryTruncationReducer(options).reduce(messages);
}

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
});

describe("options of the truncation reducer", () => {
  it("reports the view size up to which a history need not reduce", () => {
    expect(new ChatHistoryTruncationReducer({ targetCount: 10, thresholdCount: 4 }).viewLimit).toEqual({
      messages: 14,
    });
  });
});
