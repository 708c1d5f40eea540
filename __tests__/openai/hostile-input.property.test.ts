import fc from "fast-check";
import { ConfigurationError } from "../../src/base/errors.js";
import { jsonSnapshot } from "../../src/base/json.js";
import { MessageHistory } from "../../src/formats/openai/message-history.js";
import { propertyRuns } from "../support/property-runs.js";

const pieces = [
  ...[
    "<message>",
    '<message role="user">',
    '<message role="tool" tool_call_id="c">',
    "</message>",
    "<chat_history>",
    "</chat_history>",
  ],
  ...["<fields>", "</fields>", "<fields>{}</fields>", "<b>", "</b>", "<br/>", "<b c='d'", "<!--", "]]>"],
  ...[
    "&amp;",
    "&",
    "&#65;",
    "null",
    "[]",
    '"x"',
    '{"role":"system"}',
    '{"type":"text","text":"x"}',
    "x",
    " ",
    "\n",
    "<",
    ">",
    '"',
  ],
];
const markup = fc.array(fc.constantFrom(...pieces), { maxLength: 14 }).map((parts) => parts.join(""));

describe("any text as a prompt", () => {
  it("returns messages or throws a ConfigurationError; the messages can be written and read again", () => {
    fc.assert(
      fc.property(fc.oneof(markup, fc.string({ unit: "binary" })), (prompt) => {
        let history: MessageHistory;
        try {
          history = MessageHistory.fromPrompt(prompt);
        } catch (error) {
          expect(ConfigurationError.isInstance(error)).toBe(true);
          return;
        }
        expect(MessageHistory.fromPrompt(history.toPrompt()).toList()).toEqual(history.toList());
      }),
      { numRuns: propertyRuns(500), interruptAfterTimeLimit: 30_000 },
    );
  });
});

describe("any value in a tool record", () => {
  it("is kept in a form that JSON restores unchanged", () => {
    const anything = fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withNullPrototype: true,
      withObjectString: true,
      withSet: true,
      withSparseArray: true,
      withTypedArray: true,
      withUnicodeString: true,
    });
    fc.assert(
      fc.property(anything, (value) => {
        const kept = jsonSnapshot(value);
        expect(JSON.parse(JSON.stringify(kept))).toEqual(kept);
      }),
      { numRuns: propertyRuns(250), interruptAfterTimeLimit: 30_000 },
    );
  });

  it("is kept unchanged if it is JSON", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const plain = JSON.parse(JSON.stringify(value)) as unknown;
        expect(jsonSnapshot(plain)).toEqual(plain);
      }),
      { numRuns: propertyRuns(150), interruptAfterTimeLimit: 30_000 },
    );
  });
});
