import fc from "fast-check";
import {
  AIMessage,
  type BaseMessage,
  ChatMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { MessageHistory } from "../../src/formats/openai/message-history.js";
import { anyMessage, anyText } from "../support/openai-arbitraries.js";
import { forAll } from "../support/property-runs.js";
import { ConfigurationError } from "../../src/base/errors.js";
import { jsonSnapshot } from "../../src/base/json.js";

const history = fc.array(anyMessage, { maxLength: 4 }).map((messages) => new MessageHistory(messages));

describe("a history of any content", () => {
  it.each<[string, (given: MessageHistory) => MessageHistory]>([
    ["conversion to LangChain messages", (given) => MessageHistory.fromMessages(given.toMessages())],
    ["JSON", (given) => MessageHistory.fromJSON(JSON.stringify(given))],
    ["a prompt", (given) => MessageHistory.fromPrompt(given.toPrompt())],
  ])("survives %s and back", (_, thereAndBack) =>
    forAll({ runs: 75, interruptAfterTimeLimit: 30_000 }, history, (given) => {
      expect(thereAndBack(given).toList()).toEqual(given.toList());
    }),
  );
});

const block = fc.oneof(
  fc.record({ type: fc.constant("text"), text: anyText }),
  fc.record({ type: fc.constant("image_url"), image_url: fc.webUrl() }),
  fc.record({ type: fc.constant("image"), url: fc.webUrl() }),
  fc.record({
    type: fc.constant("image"),
    data: fc.uint8Array({ minLength: 1, maxLength: 4 }),
    mimeType: fc.constant("image/png"),
  }),
  fc.record({
    type: fc.constant("audio"),
    source_type: fc.constant("base64"),
    data: fc.base64String({ minLength: 4 }),
    mime_type: fc.constant("audio/wav"),
  }),
  fc.record({
    type: fc.constant("file"),
    data: fc.base64String({ minLength: 4 }),
    mimeType: fc.constant("application/pdf"),
    metadata: fc.record({ filename: anyText }),
  }),
  fc.record({ type: fc.constantFrom("input_text", "output_text"), text: anyText }),
  fc.record({ type: fc.constant("thinking"), thinking: anyText, signature: anyText }),
  fc.record({ type: fc.constant("tool_use"), id: anyText, name: anyText, input: fc.jsonValue() }),
);
const content = fc.oneof(anyText, fc.array(block, { maxLength: 3 })) as fc.Arbitrary<never>;
const kwargs = fc.oneof(
  fc.constant({}),
  fc.record({ refusal: fc.oneof(anyText, fc.integer()) }),
  fc.record({ audio: fc.record({ id: anyText }) }),
  fc.record({ tool_calls: fc.constant([{ id: "c", type: "function", function: { name: "f", arguments: "{}" } }]) }),
  fc.dictionary(anyText, fc.jsonValue(), { maxKeys: 2 }),
) as fc.Arbitrary<Record<string, never>>;
const common = {
  content,
  id: fc.option(anyText, { nil: undefined }),
  name: fc.option(anyText, { nil: undefined }),
  additional_kwargs: kwargs,
  response_metadata: fc.oneof(
    fc.constant({}),
    fc.constant({ finish_reason: "stop" }),
    fc.constant({ output_version: "v1" }),
  ),
};
const args = fc.dictionary(anyText, fc.jsonValue({ maxDepth: 1 }), { maxKeys: 2 });
const toolCall = fc.record({
  id: fc.option(anyText, { nil: undefined }),
  name: anyText,
  args,
  type: fc.constant("tool_call" as const),
});
const freeTextCall = fc.record({
  id: anyText,
  name: anyText,
  args: fc.oneof(fc.record({ input: fc.oneof(anyText, fc.integer()) }), args),
  type: fc.constant("tool_call" as const),
  isCustomTool: fc.boolean(),
  call_id: anyText,
});
const invalidCall = fc.record({
  id: anyText,
  name: anyText,
  args: fc.oneof(anyText, fc.constant("{}")),
  error: anyText,
  type: fc.constant("invalid_tool_call" as const),
});
const usage = fc.option(fc.constant({ input_tokens: 1, output_tokens: 2, total_tokens: 3 }), { nil: undefined });

const anyLangChainMessage: fc.Arbitrary<BaseMessage> = fc.oneof(
  fc.record(common).map((fields) => new HumanMessage(fields)),
  fc.record(common).map((fields) => new SystemMessage(fields)),
  fc
    .record({ ...common, role: fc.constantFrom("user", "assistant", "developer", "human", "system") })
    .map((fields) => new ChatMessage(fields)),
  fc
    .record({
      ...common,
      tool_calls: fc.array(fc.oneof(toolCall, freeTextCall), { minLength: 1, maxLength: 2 }),
      invalid_tool_calls: fc.array(invalidCall, { maxLength: 2 }),
      usage_metadata: usage,
    })
    .map((fields) => new AIMessage(fields)),
  fc
    .record({
      ...common,
      tool_call_id: anyText,
      status: fc.constantFrom("success" as const, "error" as const),
      artifact: fc.oneof(fc.jsonValue(), fc.date({ noInvalidDate: true }), fc.constant(10n)),
    })
    .map((fields) => new ToolMessage(fields)),
);

describe("LangChain messages of any content", () => {
  it("survive a history that is written as JSON and as a prompt", () =>
    forAll(
      { runs: 75, interruptAfterTimeLimit: 30_000 },
      fc.array(anyLangChainMessage, { maxLength: 3 }),
      (messages) => {
        const given = MessageHistory.fromMessages(messages);
        const text = JSON.stringify(MessageHistory.fromPrompt(given.toPrompt()));
        expect(MessageHistory.fromJSON(text).toMessages().map(visible)).toEqual(messages.map(visible));
      },
    ));
});

/** All that a message says, an empty id and none being the same. */
function visible(message: BaseMessage): Record<string, unknown> {
  const { id, name, content: said, additional_kwargs: extra, response_metadata: metadata } = message;
  const { tool_calls: calls, invalid_tool_calls: invalid, usage_metadata: tokens } = message as AIMessage;
  const { tool_call_id: callId, artifact, status } = message as ToolMessage;
  const { role } = message as ChatMessage;
  return {
    type: message.getType(),
    id: id || undefined,
    name,
    said,
    extra,
    metadata,
    calls,
    invalid,
    tokens,
    callId,
    artifact,
    status,
    role,
  };
}

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
  it("returns messages or throws a ConfigurationError; the messages can be written and read again", () =>
    forAll(
      { runs: 500, interruptAfterTimeLimit: 30_000 },
      fc.oneof(markup, fc.string({ unit: "binary" })),
      (prompt) => {
        let history: MessageHistory;
        try {
          history = MessageHistory.fromPrompt(prompt);
        } catch (error) {
          expect(ConfigurationError.isInstance(error)).toBe(true);
          return;
        }
        expect(MessageHistory.fromPrompt(history.toPrompt()).toList()).toEqual(history.toList());
      },
    ));
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
    forAll({ runs: 250, interruptAfterTimeLimit: 30_000 }, anything, (value) => {
      const kept = jsonSnapshot(value);
      expect(JSON.parse(JSON.stringify(kept))).toEqual(kept);
    });
  });

  it("is kept unchanged if it is JSON", () =>
    forAll({ runs: 150, interruptAfterTimeLimit: 30_000 }, fc.jsonValue(), (value) => {
      const plain = JSON.parse(JSON.stringify(value)) as unknown;
      expect(jsonSnapshot(plain)).toEqual(plain);
    }));
});
