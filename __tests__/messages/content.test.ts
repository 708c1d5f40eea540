import { HumanMessage, type MessageContent } from "@langchain/core/messages";
import { sameContent, textOf } from "../../src/conversation/messages/content.js";

const text = (content: unknown) => textOf(new HumanMessage({ content: content as MessageContent }));

describe("the text of a message", () => {
  it("is its string content, or its text parts joined", () => {
    expect(text("hello")).toBe("hello");
    expect(
      text([
        { type: "text", text: "hel" },
        { type: "image_url", image_url: { url: "https://example.com/a.png" } },
        { type: "text", text: "lo" },
      ]),
    ).toBe("hello");
    expect(text([{ type: "reasoning", text: "hidden", reasoning: "hidden" }])).toBe("");
  });

  it("holds texts in the form of the Responses API, which titles, searches and comparisons then see", () => {
    expect(
      text([
        { type: "input_text", text: "hel" },
        { type: "output_text", text: "lo", annotations: [] },
        { type: "input_image", image_url: "https://example.com/a.png" },
      ]),
    ).toBe("hello");
  });

  it("is read from odd content as far as it holds any", () => {
    expect(text(["plain", { type: "text", text: " and marked" }])).toBe("plain and marked");
    expect(text([null, 7, { type: "text", text: 7 }, { type: "text" }])).toBe("");
    expect(textOf({ content: undefined as unknown as MessageContent })).toBe("");
    expect(textOf({ content: { answer: 42 } as unknown as MessageContent })).toBe("");
  });
});

describe("the content of two messages", () => {
  const same = (a: unknown, b: unknown) => {
    const [one, other] = [a, b].map((content) => new HumanMessage({ content: content as MessageContent }));
    return sameContent(one!, other!);
  };

  it("is the same whatever the order of keys, as databases give it, and for a text and one part that holds it", () => {
    const url = "https://example.com/a.png";
    expect(same([{ type: "image", url }], [{ url, type: "image" }])).toBe(true);
    expect(same("hello", [{ text: "hello", type: "text" }])).toBe(true);
  });

  it("is another one where a part differs", () => {
    expect(same([{ type: "image", url: "a" }], [{ type: "image", url: "b" }])).toBe(false);
    expect(same([{ type: "image", url: "a" }], "a")).toBe(false);
  });
});
