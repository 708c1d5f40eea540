import { MessageHistory } from "../../src/formats/openai/message-history.js";
import type { OpenAIMessage } from "../../src/formats/openai/message.js";

const many = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));

describe("large and odd input", () => {
  it("of calls, results or fields is accepted like any other", () => {
    const history = new MessageHistory();
    history.addSimulatedCalls(many(130_000, (index) => ({ id: `c${index}`, name: "f", arguments: "{}", result: "x" })));
    expect(history.length).toBe(130_001);
    const messages = many(130_000, () => '<message role="user">x</message>').join("");
    expect(MessageHistory.fromPrompt(messages).length).toBe(130_000);
    const fields = JSON.stringify(Object.fromEntries(many(130_000, (index) => [`k${index}`, index])));
    expect(
      Object.keys(MessageHistory.fromPrompt(`<message role="user">x<fields>${fields}</fields></message>`).at(0)!),
    ).toHaveLength(130_002);
  });

  // With a try for each field, the time would grow with the square of their number: minutes.
  it("of fields in an edited message takes linear time and keeps the fields that still agree", () => {
    const extra = Object.fromEntries(many(20_000, (index) => [`k${index}`, index]));
    const odd = {
      role: "user",
      content: "x",
      langchain: { ...extra, type: "tool", name: "Ann" },
    } as unknown as OpenAIMessage;
    expect(new MessageHistory([odd]).toMessages()[0]!).toMatchObject({ content: "x" });

    const [message] = new MessageHistory([
      { role: "assistant", content: "x", refusal: "no", ...extra } as OpenAIMessage,
    ]).toMessages();
    Object.assign(message!.additional_kwargs["lcmem_openai"] as object, {
      role: "tool",
      content: 7,
      timestamp: "2026-01-31T12:00:00.000Z",
    });
    const back = MessageHistory.fromMessages([message!]).at(0)!;
    expect(back).toMatchObject({
      role: "assistant",
      content: "x",
      refusal: "no",
      timestamp: "2026-01-31T12:00:00.000Z",
      k19999: 19_999,
    });
  });

  it.each(["null", "7", "[]"])("without fields in a fields element adds none: %s", (json) => {
    expect(MessageHistory.fromPrompt(`<message role="user">x<fields>${json}</fields></message>`).toList()).toEqual([
      { role: "user", content: "x" },
    ]);
  });
});
