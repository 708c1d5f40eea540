import {
  AIMessage,
  AIMessageChunk,
  HumanMessage,
  RemoveMessage,
  SystemMessage,
  ToolMessage,
  type BaseMessage,
} from "@langchain/core/messages";
import fc from "fast-check";
import { ChunkReader, ChunkWriter } from "../../src/runs/chunk-text.js";
import { forAll } from "../support/property-runs.js";
import { plain } from "./plain-values.js";

/** What a reader gets of the chunks of a run, which are written in batches. */
function sent(chunks: readonly unknown[]): unknown[] {
  const [writer, reader] = [new ChunkWriter(), new ChunkReader()];
  return chunks.flatMap((chunk) => reader.chunks(`[${writer.text(chunk)}]`));
}

const text = fc.string({ maxLength: 60 });
const call = fc.record({ id: text, name: text, args: fc.dictionary(text, fc.jsonValue({ maxDepth: 2 })) });
const message: fc.Arbitrary<BaseMessage> = fc.oneof(
  text.map((content) => new HumanMessage({ content, id: "h" })),
  text.map((content) => new SystemMessage(content)),
  fc.record({ content: text, tool_calls: fc.array(call, { maxLength: 2 }) }).map((fields) => new AIMessage(fields)),
  fc.record({ content: text, id: text, args: text, index: fc.nat(3) }).map(
    ({ content, id, args, index }) =>
      new AIMessageChunk({
        content,
        id,
        tool_call_chunks: [{ id, name: "n", args, index, type: "tool_call_chunk" }],
      }),
  ),
  text.map((content) => new AIMessageChunk({ content, id: "same" })),
  fc
    .record({ content: text, artifact: fc.jsonValue({ maxDepth: 2 }) })
    .map((fields) => new ToolMessage({ ...fields, tool_call_id: "c", status: "error" })),
  text.map((id) => new RemoveMessage({ id })),
);
const json = fc.jsonValue({ maxDepth: 3 });
const metadata = fc.constantFrom(
  { langgraph_node: "model", langgraph_step: 1, tags: ["a"], checkpoint_ns: "model:1234567890" },
  { langgraph_node: "tools", langgraph_step: 2, tags: [], checkpoint_ns: "tools:1234567890" },
  { $lcmem: ["=", 9], tags: { $lcmem: ["ai", null] }, checkpoint_ns: "tools:1234567890" },
);
const chunk = fc.oneof(
  text,
  json,
  message,
  fc.tuple(message, metadata),
  fc.tuple(fc.constant("messages"), fc.tuple(message, metadata)),
  fc.record({ messages: fc.array(message, { maxLength: 4 }) }),
  fc.record({ event: text, data: fc.record({ chunk: message, input: fc.array(message, { maxLength: 2 }) }) }),
  fc.record({ $lcmem: json }),
  fc.array(message, { maxLength: 2 }).map((messages) => new Map([["messages", new Set(messages)]])),
  fc.record({ $lcmem: json, date: fc.date({ noInvalidDate: true }), big: fc.bigInt() }),
);

describe("chunks as text", () => {
  it("come back as they were, whatever the mode of the stream", () =>
    forAll(300, fc.array(chunk, { maxLength: 12 }), (chunks) => {
      // What comes before repeats: by reference from the second time on, also within what is repeated.
      const given = [...chunks, ...chunks, ...chunks];
      expect(sent(given).map(plain)).toEqual(given.map(plain));
    }));

  it("name a whole message, and the metadata of a node, by reference where they repeat", () => {
    const answer = new AIMessage({ id: "a", content: "x".repeat(4_000) });
    const state = Array.from({ length: 20 }, () => ({ messages: [answer] }));
    const writer = new ChunkWriter();
    const lengths = state.map((each) => writer.text(each).length);
    expect(lengths[0]).toBeGreaterThan(4_000);
    expect(Math.max(...lengths.slice(1))).toBeLessThan(60);
    expect(sent(state)).toHaveLength(20);
    const ofNode = { langgraph_node: "model", langgraph_step: 1, checkpoint_ns: "model:1234567890".repeat(20) };
    const parts = Array.from({ length: 3 }, (_, index) => [new AIMessageChunk(` word${index}`), { ...ofNode }]);
    const [first, ...later] = parts.map((each) => new TextEncoder().encode(writer.text(each)).length);
    expect(first).toBeGreaterThan(300);
    expect(Math.max(...later)).toBeLessThan(100);
  });

  it("refuse what cannot be written, and say why without the value", () => {
    const circular: Record<string, unknown> = {};
    circular["self"] = circular;
    for (const bad of [() => 1, { a: Symbol("x") }, circular, [new Promise(() => undefined)]]) {
      expect(() => new ChunkWriter().text(bad)).toThrow(expect.objectContaining({ code: "unsupported_message" }));
    }
  });
});
