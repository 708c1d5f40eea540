import { AIMessage, ToolMessage, type MessageContent } from "@langchain/core/messages";
import { ChatHistoryToolResultReducer } from "../../src/conversation/reducers/tool-result-reducer.js";
import { ai, aiCalls, human, tool } from "../support/messages.js";

const long = "line one of many\nline two of many\n".repeat(40);
const conversation = [human("1"), aiCalls("a"), tool("a", long), aiCalls("b"), tool("b", long), ai("done")];

describe("ChatHistoryToolResultReducer", () => {
  it("shortens the results of old steps to one bounded line and keeps the newest steps whole", async () => {
    const result = await new ChatHistoryToolResultReducer({ keepLast: 1, thresholdCount: 0, maxCharacters: 60 }).reduce(
      conversation,
    );
    expect(result![2]!.text).toMatch(/^line one of many line two of many [^\n]* \[…\]$/);
    expect(result![2]!.text.length).toBeGreaterThan(55);
    expect(result![2]!.text.length).toBeLessThanOrEqual(60);
    expect(result![4]).toBe(conversation[4]);
    expect(conversation[2]!.text).toBe(long);
  });

  it("removes no message, and changes nothing the second time", async () => {
    const reducer = new ChatHistoryToolResultReducer({ keepLast: 0 });
    const outcome = await reducer.reduceWithOutcome(conversation);
    expect(outcome).toMatchObject({ changed: true, removed: [], before: { messages: 6 }, after: { messages: 6 } });
    expect(outcome.messages[4]!.text.length).toBeLessThanOrEqual(200);
    expect(await reducer.reduce(outcome.messages)).toBeNull();
  });

  it("leaves the results of excluded tools whole, also where only the call names the tool", async () => {
    const call = { id: "k", name: "policy", args: {}, type: "tool_call" as const };
    const asked = new AIMessage({ content: "", tool_calls: [call] });
    const list = [human("1"), asked, tool("k", long), aiCalls("b"), tool("b", long)];
    const result = await new ChatHistoryToolResultReducer({ keepLast: 0, excludeTools: ["policy"] }).reduce(list);
    expect(result![2]).toBe(list[2]);
    expect(result![4]!.text.length).toBeLessThanOrEqual(200);
  });

  it.each([
    ["a text", "[cleared]", "[cleared]"],
    ["a function", ({ tool_call_id }: ToolMessage) => `[result of ${tool_call_id} cleared]`, "[result of a cleared]"],
  ])("puts %s in the place of a result, once", async (_, placeholder, expected) => {
    const reducer = new ChatHistoryToolResultReducer({ keepLast: 1, thresholdCount: 0, placeholder });
    const result = await reducer.reduce(conversation);
    expect([result![2]!.text, result![4]!.text]).toEqual([expected, long]);
    expect(await reducer.reduce(result!)).toBeNull();
  });

  it("leaves a computer's screenshot whole, because OpenAI takes any text for the address of an image", async () => {
    const content = [{ type: "input_image", image_url: `data:image/png;base64,${"A".repeat(500)}` }];
    const additional_kwargs = { type: "computer_call_output" };
    const message = new ToolMessage({ content: content as never, tool_call_id: "a", additional_kwargs });
    expect(await new ChatHistoryToolResultReducer({ keepLast: 0 }).reduce([aiCalls("a"), message])).toBeNull();
  });

  it("converts content blocks to one line that names blocks other than text", async () => {
    const content = [
      { type: "text", text: "a cat:" },
      { type: "image_url", image_url: `data:image/png;base64,${"A".repeat(500)}` },
    ];
    const message = new ToolMessage({ content, tool_call_id: "a", id: "t" });
    const result = await new ChatHistoryToolResultReducer({ keepLast: 0 }).reduce([aiCalls("a"), message]);
    expect(result![1]).toMatchObject({ content: "a cat: [image_url]", id: "t", tool_call_id: "a" });
  });

  it.each([
    ["no content", null, null],
    ["content that is no list", { answer: 42n }, null],
    ["parts that are no blocks", [null, "plain ".repeat(20), 7], "[unknown] plain plain plai […]"],
    [
      "values that JSON does not know",
      [{ type: "text", text: "a ".repeat(50), size: 1n }],
      "a a a a a a a a a a a a a […]",
    ],
  ])("handles a result with %s", async (_, content, expected) => {
    const message = tool("a");
    message.content = content as unknown as MessageContent;
    const result = await new ChatHistoryToolResultReducer({ keepLast: 0, maxCharacters: 30 }).reduce([
      aiCalls("a"),
      message,
    ]);
    expect(result?.[1]!.content ?? null).toBe(expected);
  });

  it("never splits a character", async () => {
    const family = "👩‍👩‍👧‍👦".repeat(100);
    const result = await new ChatHistoryToolResultReducer({ keepLast: 0, maxCharacters: 50 }).reduce([
      aiCalls("a"),
      tool("a", family),
    ]);
    expect(result![1]!.text).toBe(`${"👩‍👩‍👧‍👦".repeat(4)} […]`);
  });

  it("shortens nothing until over keepLast + thresholdCount steps are whole, then all but keepLast", async () => {
    const steps = Array.from({ length: 6 }, (_, index) => [aiCalls(`c${index}`), tool(`c${index}`, long)]);
    const reducer = new ChatHistoryToolResultReducer({ keepLast: 2, thresholdCount: 3 });
    expect(reducer.viewLimit).toEqual({ fromStart: 11 });
    expect(await reducer.reduce(steps.slice(0, 5).flat())).toBeNull();
    const reduced = await reducer.reduce(steps.flat());
    const whole = (messages: readonly { text: string }[]) =>
      messages.flatMap(({ text }, i) => (text === long ? i : []));
    expect(whole(reduced!)).toEqual([9, 11]);
    expect(await reducer.reduce([...reduced!, ...steps.slice(0, 3).flat()])).toBeNull();
    const next = await reducer.reduce([...reduced!, ...steps.slice(0, 4).flat()]);
    expect(whole(next!)).toEqual([17, 19]);
  });

  it("lets as many steps again be whole where no thresholdCount is given", () => {
    expect(new ChatHistoryToolResultReducer({ keepLast: 3 }).viewLimit).toEqual({ fromStart: 13 });
  });

  it("does not count steps with short results", async () => {
    const short = Array.from({ length: 20 }, (_, index) => [aiCalls(`s${index}`), tool(`s${index}`, "ok")]).flat();
    const reducer = new ChatHistoryToolResultReducer({ keepLast: 1, thresholdCount: 1 });
    expect(await reducer.reduce([...conversation, ...short])).toBeNull();
  });
});
