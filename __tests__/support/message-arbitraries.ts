import {
  AIMessage,
  AIMessageChunk,
  ChatMessage,
  FunctionMessage,
  HumanMessage,
  HumanMessageChunk,
  SystemMessage,
  ToolMessage,
  type BaseMessage,
} from "@langchain/core/messages";
import fc from "fast-check";
import { mediaKinds } from "../../src/conversation/messages/media.js";

// Made once: a string arbitrary of graphemes costs milliseconds to make.
const text = fc.oneof(
  { weight: 4, arbitrary: fc.string() },
  { weight: 2, arbitrary: fc.string({ unit: "grapheme" }) },
  {
    weight: 1,
    arbitrary: fc.string({ unit: fc.constantFrom("\ud800", "\udc00", "\u2028", "\0", '"', "\\", "é", "👍") }),
  },
  { weight: 1, arbitrary: fc.constantFrom("", '"$lcmem"', "__proto__") },
);
const specialKeys = [
  "__proto__",
  "constructor",
  "toString",
  "hasOwnProperty",
  "$lcmem",
  "lc",
  "__lc_escaped__",
  "10",
  "9",
  "",
  "type",
  "id",
];
const key = fc.oneof({ weight: 3, arbitrary: fc.string() }, { weight: 1, arbitrary: fc.constantFrom(...specialKeys) });

/** Text of every kind: empty, ASCII, whole graphemes, lone surrogates. */
export function anyText(): fc.Arbitrary<string> {
  return text;
}

/** Keys of objects, those included that JavaScript, LangChain or the record format give a meaning. */
export function anyKey(): fc.Arbitrary<string> {
  return key;
}

/** What JSON holds: the arguments of calls and the fields of content blocks. */
export function anyJson(): fc.Arbitrary<unknown> {
  return nested(fc.oneof(anyText(), fc.boolean(), fc.constant(null), jsonNumber()));
}

/** What an artifact may hold beyond JSON: dates, bytes, big integers, maps, sets and odd numbers too. */
export function anyValue(): fc.Arbitrary<unknown> {
  const beyondJson = fc.oneof(
    // Node.js compares two invalid dates as different.
    fc.date({ noInvalidDate: true }),
    fc.bigInt(),
    fc.uint8Array({ maxLength: 20 }),
    fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes)),
    fc.float64Array({ maxLength: 4 }),
    fc.double(),
    fc.array(fc.tuple(anyText(), jsonNumber()), { maxLength: 3 }).map((entries) => new Map(entries)),
    fc.array(anyText(), { maxLength: 3 }).map((elements) => new Set(elements)),
    fc.constant([undefined]),
  );
  return nested(
    fc.oneof(
      { weight: 3, arbitrary: anyText() },
      { weight: 1, arbitrary: fc.boolean() },
      { weight: 3, arbitrary: beyondJson },
    ),
  );
}

/** Message content: text, or content blocks. */
export function anyContent(): fc.Arbitrary<string | object[]> {
  const block = fc.oneof(
    anyText().map((text) => ({ type: "text", text })),
    fc.webUrl().map((url) => ({ type: "image_url", image_url: { url } })),
    anyText().map((reasoning) => ({ type: "reasoning", reasoning })),
    fc.tuple(fc.constantFrom(...mediaKinds.keys()), fc.base64String()).map(([type, data]) => ({ type, data })),
    properties(anyJson()),
  );
  return fc.oneof(
    { weight: 3, arbitrary: anyText() },
    { weight: 2, arbitrary: fc.array<object>(block, { maxLength: 4 }) },
  );
}

/** Messages of the user; some with a name, an id or metadata, as in all that follow. */
export function anyHuman(): fc.Arbitrary<HumanMessage> {
  return fc
    .record({ content: anyContent(), ...shared() }, optional("content"))
    .map((fields) => new HumanMessage(fields as never));
}

/** System messages, some of them developer messages. */
export function anySystem(): fc.Arbitrary<SystemMessage> {
  const developer = fc.constant({ __openai_role__: "developer" });
  const fields = { ...shared(), additional_kwargs: fc.oneof(developer, properties(anyValue())) };
  return fc
    .record({ content: anyContent(), ...fields }, optional("content"))
    .map((given) => new SystemMessage(given as never));
}

/** AI messages with and without calls, unreadable calls, usage, and content made from v1 blocks. */
export function anyAI(): fc.Arbitrary<AIMessage> {
  const fields = {
    ...shared(),
    tool_calls: fc.array(toolCall(), { maxLength: 3 }),
    invalid_tool_calls: fc.array(invalidToolCall(), { maxLength: 2 }),
    usage_metadata: usage(),
  };
  const fromContent = fc.record({ content: anyContent(), ...fields }, optional("content"));
  const fromBlocks = fc.record(
    { contentBlocks: fc.array(anyText().map((text) => ({ type: "text", text }))), ...fields },
    optional("contentBlocks"),
  );
  return fc
    .oneof({ weight: 4, arbitrary: fromContent }, { weight: 1, arbitrary: fromBlocks })
    .map((given) => new AIMessage(given as never));
}

/** Tool results with and without artifact, status and metadata. */
export function anyTool(): fc.Arbitrary<ToolMessage> {
  const fields = {
    ...shared(),
    artifact: anyValue(),
    status: fc.constantFrom("success", "error"),
    metadata: properties(anyJson()),
  };
  return fc
    .record({ content: anyContent(), tool_call_id: anyText(), ...fields }, optional("content", "tool_call_id"))
    .map((given) => new ToolMessage(given as never));
}

/** Messages of a role of their own. */
export function anyGeneric(): fc.Arbitrary<ChatMessage> {
  return fc
    .record({ content: anyContent(), role: anyText(), ...shared() }, optional("content", "role"))
    .map((fields) => new ChatMessage(fields as never));
}

/** Results of function calls of the former kind. */
export function anyFunction(): fc.Arbitrary<FunctionMessage> {
  return fc
    .record({ content: anyContent(), ...shared(), name: anyText() }, optional("content", "name"))
    .map((fields) => new FunctionMessage(fields as never));
}

/** Pieces of a stream, as a careless caller may hand them in. */
export function anyChunk(): fc.Arbitrary<BaseMessage> {
  const callChunk = fc.record({
    name: fc.string(),
    args: fc.constantFrom("{}", '{"a":1}', '{"a":'),
    id: fc.string({ minLength: 1 }),
    index: fc.nat(3),
  });
  const ai = fc
    .record(
      {
        content: anyContent(),
        ...shared(),
        tool_call_chunks: fc.array(callChunk, { maxLength: 2 }),
        usage_metadata: usage(),
      },
      optional("content"),
    )
    .map((fields) => new AIMessageChunk(fields as never));
  return fc.oneof(
    ai,
    fc
      .record({ content: anyContent(), ...shared() }, optional("content"))
      .map((fields) => new HumanMessageChunk(fields as never)),
  );
}

/** Messages of every type that is stored; some got their id, name or metadata only after they were made. */
export function anyMessage(): fc.Arbitrary<BaseMessage> {
  const made = fc.oneof<fc.Arbitrary<BaseMessage>[]>(
    anyHuman(),
    anySystem(),
    anyAI(),
    anyTool(),
    anyGeneric(),
    anyFunction(),
  );
  const later = fc.record(
    { id: anyText(), name: anyText(), response_metadata: properties(anyJson()) },
    { requiredKeys: [] },
  );
  return fc
    .tuple(made, fc.oneof({ weight: 3, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: later }))
    .map(([message, change]) => Object.assign(message, change));
}

function shared(): Record<string, fc.Arbitrary<unknown>> {
  return {
    id: fc.oneof(fc.uuid(), anyText()),
    name: anyText(),
    additional_kwargs: properties(anyValue()),
    response_metadata: properties(anyJson()),
  };
}

/** All fields but these may be missing. */
function optional(...required: string[]): { requiredKeys: never; noNullPrototype: true } {
  return { requiredKeys: required as never, noNullPrototype: true };
}

function toolCall(): fc.Arbitrary<unknown> {
  return fc.record(
    {
      name: anyText(),
      args: properties(anyJson()),
      id: fc.oneof(fc.uuid(), anyText()),
      type: fc.constant("tool_call"),
    },
    optional("name", "args", "id"),
  );
}

function invalidToolCall(): fc.Arbitrary<unknown> {
  return fc.record(
    { name: anyText(), args: anyText(), id: anyText(), error: anyText(), type: fc.constant("invalid_tool_call") },
    optional(),
  );
}

function usage(): fc.Arbitrary<unknown> {
  const counts = { input_tokens: fc.nat(), output_tokens: fc.nat(), total_tokens: fc.nat() };
  const details = { input_token_details: fc.record({ cache_read: fc.nat(), audio: fc.nat() }, optional()) };
  return fc.record({ ...counts, ...details }, optional(...Object.keys(counts)));
}

function jsonNumber(): fc.Arbitrary<number> {
  return fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0);
}

function properties(value: fc.Arbitrary<unknown>): fc.Arbitrary<Record<string, unknown>> {
  return fc.dictionary(anyKey(), value, { maxKeys: 3, noNullPrototype: true });
}

function nested(leaf: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  return fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      { weight: 2, arbitrary: leaf },
      { weight: 1, arbitrary: tie("array") },
      { weight: 1, arbitrary: tie("object") },
    ),
    array: fc.array(tie("value"), { maxLength: 3 }),
    object: properties(tie("value")),
  })).value;
}
