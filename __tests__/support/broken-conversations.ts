import {
  AIMessage,
  AIMessageChunk,
  type BaseMessage,
  ChatMessage,
  FunctionMessage,
  HumanMessage,
  RemoveMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";
import fc from "fast-check";

/**
 * Random conversations that break every structure rule: orphan, missing, late, doubled and out-of-order results, ids
 * that come again, are empty, too long or full of odd characters, empty and blank content, unreadable arguments,
 * foreign content blocks, thinking and reasoning, unknown roles, system messages anywhere. Every text that says
 * something holds a word of its own, as `<w12>`.
 */
export function brokenConversation({ maxLength = 24 }: { maxLength?: number } = {}): fc.Arbitrary<BaseMessage[]> {
  return fc.array(anyDraft(), { maxLength }).map((drafts) => drafts.map((draft, index) => draft(index)));
}

/** The words of {@link brokenConversation} in a message's text, wherever it stands. */
export function wordsOf(message: BaseMessage): string[] {
  return JSON.stringify(message.content).match(/<w[0-9a-z]+>/g) ?? [];
}

type Draft = (index: number) => BaseMessage;

const oddIds = ["", "toolu_01|fc_77.x", "x".repeat(41), "x".repeat(70), "abcdefghi"];
const callId = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom("c1", "c2", "c3") },
  { weight: 1, arbitrary: fc.constantFrom(...oddIds) },
);
const toolName = fc.oneof(
  { weight: 6, arbitrary: fc.constant("lookup") },
  { weight: 1, arbitrary: fc.constantFrom("", "look up!", "n".repeat(80)) },
);
const speakerName = fc.oneof(
  { weight: 6, arbitrary: fc.constant(undefined) },
  { weight: 1, arbitrary: fc.constantFrom("", "Zoë Q.", "bob") },
);

/** Text of a message at an index: a word, blank, or nothing. */
const textOf = fc
  .oneof(
    { weight: 8, arbitrary: fc.constantFrom("%", "% ", "say %\n") },
    { weight: 1, arbitrary: fc.constantFrom("", " ", "\n\n") },
  )
  .map((pattern) => (index: number) => pattern.replace("%", `<w${index}>`));

const anyBlock = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .constantFrom("%", "%", " ", "")
      .map((pattern) => (word: string) => ({ type: "text", text: pattern.replace("%", word) })),
  },
  {
    weight: 2,
    arbitrary: fc
      .constantFrom<object>(
        { type: "image_url", image_url: { url: "https://example.com/a.png" } },
        { type: "thinking", thinking: "hm", signature: "sig" },
        { type: "thinking", thinking: "hm" },
        { type: "redacted_thinking", data: "x" },
        { type: "reasoning", id: "rs_1", summary: [] },
        { type: "tool_use", id: "c1", name: "lookup", input: {} },
        { type: "tool_use", id: "c2", name: "lookup", input: {} },
        { type: "functionCall", functionCall: { name: "lookup", args: {} } },
        { type: "tool_result", tool_use_id: "c1", content: "x" },
        { type: "mystery" },
      )
      .map((block) => () => ({ ...block })),
  },
);

const contentOf = fc.oneof(
  { weight: 4, arbitrary: textOf },
  {
    weight: 1,
    arbitrary: fc
      .array(anyBlock, { maxLength: 4 })
      .map((blocks) => (index: number) => blocks.map((block, place) => block(`<w${index}x${place}>`))),
  },
);

const kwargsOf = fc.oneof(
  { weight: 6, arbitrary: fc.constant({}) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<object>(
      { reasoning_content: "because" },
      { reasoning: { id: "rs_1", type: "reasoning" } },
      { prefix: true },
      { synthesized: true },
      { lcmem_summary: { count: 2 } },
    ),
  },
);

function anyDraft(): fc.Arbitrary<Draft> {
  return fc.oneof(
    {
      weight: 5,
      arbitrary: draft(
        ({ content, name, kwargs }) => new HumanMessage({ content, name, additional_kwargs: kwargs } as never),
      ),
    },
    { weight: 1, arbitrary: draft(({ content }) => new SystemMessage({ content } as never)) },
    { weight: 8, arbitrary: anyAnswer() },
    { weight: 8, arbitrary: anyResult() },
    { weight: 1, arbitrary: anyOther() },
  );
}

interface Parts {
  readonly content: unknown;
  readonly name: string | undefined;
  readonly kwargs: object;
  readonly id: string;
}

function draft(make: (parts: Parts) => BaseMessage): fc.Arbitrary<Draft> {
  return fc.record({ contentAt: contentOf, name: speakerName, kwargs: kwargsOf }).map(
    ({ contentAt, name, kwargs }) =>
      (index) =>
        make({ content: contentAt(index), name, kwargs: { ...kwargs }, id: `m${index}` }),
  );
}

function anyAnswer(): fc.Arbitrary<Draft> {
  const args = fc.oneof(
    { weight: 6, arbitrary: fc.constant<unknown>({ q: 1 }) },
    { weight: 1, arbitrary: fc.constantFrom<unknown>("{", "[1]", 7, null) },
  );
  const call = fc
    .record({ id: callId, name: toolName, args })
    .map((fields) => ({ ...fields, type: "tool_call" as const }));
  const unreadable = fc.record({ id: callId, name: toolName, args: fc.constantFrom('{"q": "tru', "", "[2]") });
  return fc
    .record({
      contentAt: contentOf,
      name: speakerName,
      kwargs: kwargsOf,
      calls: fc.array(call, { maxLength: 3 }),
      invalid: fc.oneof(
        { weight: 5, arbitrary: fc.array(unreadable, { maxLength: 0 }) },
        { weight: 1, arbitrary: fc.array(unreadable, { maxLength: 2 }) },
      ),
      shape: fc.constantFrom("plain", "plain", "plain", "chunk", "v1", "foreign"),
    })
    .map(({ contentAt, calls, invalid, shape, name, kwargs }) => (index) => {
      const copies = {
        tool_calls: calls.map((one) => ({ ...one })),
        invalid_tool_calls: invalid.map((one) => ({ ...one, type: "invalid_tool_call" })),
      };
      const fields = { content: contentAt(index), name, additional_kwargs: { ...kwargs }, id: `m${index}`, ...copies };
      if (shape === "chunk") {
        return new AIMessageChunk(fields as never);
      }
      const response_metadata =
        shape === "v1" ? { output_version: "v1" } : shape === "foreign" ? { model_provider: "deepseek" } : {};
      return new AIMessage({ ...fields, response_metadata } as never);
    });
}

function anyResult(): fc.Arbitrary<Draft> {
  const name = fc.oneof({ weight: 3, arbitrary: toolName }, { weight: 1, arbitrary: fc.constant(undefined) });
  return fc
    .record({ contentAt: contentOf, id: callId, name, kwargs: kwargsOf })
    .map(({ contentAt, id, name: called, kwargs }) => (index) => {
      return new ToolMessage({
        content: contentAt(index),
        tool_call_id: id,
        name: called,
        additional_kwargs: { ...kwargs },
      } as never);
    });
}

function anyOther(): fc.Arbitrary<Draft> {
  const role = fc.constantFrom("user", "assistant", "system", "developer", "critic");
  return fc.oneof(
    role.map(
      (name): Draft =>
        (index) =>
          new ChatMessage({ content: `<w${index}>`, role: name }),
    ),
    fc.constant<Draft>((index) => new FunctionMessage({ content: `<w${index}>`, name: "lookup" })),
    fc.constant<Draft>((index) => new RemoveMessage({ id: `m${index}` })),
  );
}
