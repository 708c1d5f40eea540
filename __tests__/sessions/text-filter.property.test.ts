import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { decodeRecord } from "../../src/store/codec/decode-record.js";
import { encodeMessage } from "../../src/store/codec/encode-message.js";
import { textOf } from "../../src/conversation/messages/content.js";
import { foldedText, textFilter } from "../../src/memory/sessions/search-requests.js";
import { propertyRuns } from "../support/property-runs.js";

/** Characters that are escaped, composed, compatible with others, or of several letters as capitals. */
const odd = ["\\", '"', "/", "\n", "\t", "\b", "\u0001", "\u0301", "\u0303", "\u0338", "\u0345", "\ud800"];
const folding = [..."éeßŉﬁΐǰ＂＼／ＫKſnub \u00a0가가"];
const unit = fc.constantFrom(...odd, ...folding, ..."aZ0=<");
const text = fc.string({ unit, maxLength: 12 });
const block = fc.oneof(
  text.map((part) => ({ type: "text", text: part })),
  text.map((part) => ({ type: "text", text: part, thought: true })),
  text.map((part) => ({ type: "tool_use", id: "c", name: "n", input: { given: [part, "b"] } })),
  fc.constant({ type: "text" }),
);
const bare = fc.oneof(text, fc.constant(null), fc.constant(7), fc.array(text, { maxLength: 2 }));
const content = fc.oneof(text, fc.array(block, { maxLength: 4 }));
const own = fc.tuple(content, fc.boolean()).map(([given, isHuman]) => {
  const fields = { content: given as never, id: "m" };
  return encodeMessage(isHuman ? new HumanMessage(fields) : new AIMessage(fields), { id: "m" }).record;
});
const listed = fc.array(fc.oneof(block, bare), { maxLength: 4 });
/** As other packages write it: with spaces, escaped slashes, or nothing but ASCII. */
const foreign = fc
  .tuple(fc.oneof(text, listed, block), fc.constantFrom("content", "content_blocks"), fc.constantFrom(0, 1, 2, 3))
  .map(([given, name, way]) => {
    const json = JSON.stringify({ type: "human", data: { [name]: given } }, undefined, way === 1 ? 1 : 0);
    const ascii = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
    return way === 2 ? json.replaceAll("/", "\\/") : way === 3 ? json.replace(/[^\0-\u007f]/g, ascii) : json;
  });
const older = text.map((given) => JSON.stringify({ type: "human", role: "", text: given }));

function messageIn(record: string): BaseMessage | undefined {
  try {
    return decodeRecord(record).message;
  } catch {
    return undefined;
  }
}

describe("the filter of records by text", () => {
  it("passes each record whose message contains the texts, however both are written", () => {
    const part = fc.tuple(fc.nat(), fc.nat({ max: 4 }), fc.boolean());
    const property = fc.property(fc.oneof(own, foreign, older), fc.array(part, { maxLength: 2 }), (record, parts) => {
      const message = messageIn(record);
      fc.pre(message !== undefined);
      const whole = foldedText(textOf(message));
      const words = parts.map(([from, length]) => whole.slice(from % (whole.length + 1)).slice(0, length + 1));
      expect({ record, words, passes: textFilter(words)(record) }).toEqual({ record, words, passes: true });
    });
    fc.assert(property, { numRuns: propertyRuns(4_000) });
  });

  it("spares most others from being decoded: one text of ASCII, by letters, digits and spaces", () => {
    const record = (given: object | string) =>
      encodeMessage(new AIMessage({ content: given as never, id: "m" }), { id: "m" }).record;
    const texts = ["The gate is B12.", "From Bern to Oslo", 'Say "go"', "Zürich", [{ type: "text", text: "A list" }]];
    const records = texts.map(record);
    const passed = (...words: string[]) =>
      records
        .map(textFilter(words.map(foldedText)))
        .map(Number)
        .join("");
    expect(passed("gate", "b12")).toBe("10011");
    expect(passed("gate", "oslo")).toBe("00011");
    expect(passed("go")).toBe("00111");
    expect(passed('"go"')).toBe("11111");
    expect(passed("nowhere")).toBe("00011");
  });
});
