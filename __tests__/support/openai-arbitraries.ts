import fc from "fast-check";
import type { ContentPart, MessageToolCall, OpenAIMessage } from "../../src/formats/openai/message.js";

/** Any text: markup, control characters, halves of surrogate pairs, white space only, none. */
export const anyText = fc.oneof(
  fc.string({ unit: "binary", maxLength: 20 }),
  fc.string({
    unit: fc.constantFrom(
      "<",
      ">",
      "&",
      '"',
      "'",
      "\\",
      "\r",
      "\n",
      "\t",
      " ",
      "\0",
      "\uFFFE",
      "\uD800",
      "]",
      "é",
      "😀",
    ),
    maxLength: 12,
  }),
  fc.constantFrom("", " ", "\n", "<b>bold</b>", "&amp;", "</message>", "<![CDATA[x]]>", '{"a":1}', "\\u0000"),
);

const filled = anyText.map((text) => `x${text}`);
const json = fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.parse(JSON.stringify(value)) as unknown);
const dictionary = fc.oneof(
  fc.dictionary(fc.oneof(anyText, fc.constantFrom("__proto__", "constructor", "$lcmem", "toJSON")), json, {
    maxKeys: 3,
  }),
  fc.constant({ $lcmem: ["Date", "2026-01-01T00:00:00.000Z"] }),
) as fc.Arbitrary<Record<string, unknown>>;

const part: fc.Arbitrary<ContentPart> = fc.oneof(
  fc.record({ type: fc.constant("text" as const), text: anyText }),
  fc.record({ type: fc.constant("text" as const), text: anyText, cache_control: json }),
  fc.record({ type: fc.constant("image_url" as const), image_url: fc.record({ url: filled }) }),
  fc.record({
    type: fc.constant("image_url" as const),
    image_url: fc.record({ url: filled, detail: fc.constantFrom("low" as const, "high" as const) }),
  }),
  fc.record({ type: fc.constant("image_file" as const), image_file: fc.record({ file_id: filled }) }),
  fc.record({ type: fc.constant("file" as const), file: fc.record({ file_data: filled, filename: anyText }) }),
  fc.record({
    type: fc.constant("input_audio" as const),
    input_audio: fc.record({ data: filled, format: fc.constantFrom("wav" as const, "mp3" as const) }),
  }),
  fc.record({ type: fc.constant("refusal" as const), refusal: anyText }),
);
const content = fc.oneof(anyText, fc.array(part, { maxLength: 4 }));

const callArguments = fc.oneof(
  anyText,
  json.map((value) => JSON.stringify(value)),
  fc.constantFrom("{}", '{ "city" : "Oslo" }', "{broken", "[1]", '{"a":-0}'),
);
const call: fc.Arbitrary<MessageToolCall> = fc.oneof(
  fc.record({
    id: anyText,
    type: fc.constant("function" as const),
    function: fc.record({ name: anyText, arguments: callArguments }),
  }),
  fc.record({
    id: anyText,
    type: fc.constant("custom" as const),
    custom: fc.record({ name: anyText, input: anyText }),
  }),
);

const notes = {
  name: fc.option(anyText, { nil: undefined }),
  metadata: fc.option(dictionary, { nil: undefined }),
  timestamp: fc.option(fc.constantFrom("2026-01-31T12:00:00Z", "2026-01-31T12:00:00.123456Z"), { nil: undefined }),
  weight: fc.option(json, { nil: undefined }),
};
const said = {
  tool_calls: fc.option(fc.array(call, { maxLength: 3 }), { nil: undefined }),
  refusal: fc.option(fc.oneof(anyText, fc.constant(null)), { nil: undefined }),
  audio: fc.option(fc.oneof(fc.record({ id: anyText, data: anyText }), fc.constant(null)), { nil: undefined }),
  function_call: fc.option(fc.record({ name: anyText, arguments: callArguments }), { nil: undefined }),
  reasoning_content: fc.option(anyText, { nil: undefined }),
  annotations: fc.option(fc.array(dictionary, { maxLength: 2 }), { nil: undefined }),
};

/** Any message that a history takes; fields that are undefined are absent. */
export const anyMessage: fc.Arbitrary<OpenAIMessage> = fc
  .oneof(
    fc.record({ role: fc.constantFrom("system" as const, "developer" as const, "user" as const), content, ...notes }),
    fc.record({
      role: fc.constant("assistant" as const),
      content: fc.option(fc.oneof(content, fc.constant(null)), { nil: undefined }),
      ...said,
      ...notes,
    }),
    fc.record({ role: fc.constant("tool" as const), content, tool_call_id: anyText, ...notes }),
  )
  .map(
    (message) =>
      Object.fromEntries(
        Object.entries(message).filter(([, value]) => value !== undefined),
      ) as unknown as OpenAIMessage,
  )
  .filter(
    (message) =>
      message.role !== "assistant" ||
      typeof message.content === "string" ||
      Array.isArray(message.content) ||
      hasOther(message),
  );

function hasOther({
  tool_calls: calls,
  refusal,
  audio,
  function_call: called,
  reasoning_content: reasoning,
}: OpenAIMessage): boolean {
  return (
    (calls?.length ?? 0) > 0 ||
    [refusal, audio, called, reasoning].some((value) => value !== undefined && value !== null)
  );
}
