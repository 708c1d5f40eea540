import {
  AIMessage,
  type BaseMessage,
  ChatMessage,
  FunctionMessage,
  HumanMessage,
  mapStoredMessagesToChatMessages,
  RemoveMessage,
  SystemMessage,
  ToolMessage,
  type StoredMessage,
} from "@langchain/core/messages";
import { decodeRecord } from "../../src/store/codec/decode-record.js";
import { digestMessage, encodeMessage } from "../../src/store/codec/encode-message.js";
import { RecordError } from "../../src/base/errors.js";
import { aiCalls, human } from "../support/messages.js";
import { publicFields } from "../support/public-fields.js";

const roundTrip = (message: BaseMessage): BaseMessage =>
  decodeRecord(encodeMessage(message, { id: message.id ?? "m1" }).record).message;

const rich: BaseMessage[] = [
  new HumanMessage({
    content: [
      { type: "text", text: "Was ist das?" },
      { type: "image_url", image_url: { url: "data:image/png;base64,AA==" } },
    ],
    id: "h1",
    name: "Bo",
  }),
  new SystemMessage({ content: "Be brief.", id: "s1", additional_kwargs: { __openai_role__: "developer" } }),
  new AIMessage({
    content: "",
    id: "a1",
    name: "agent",
    tool_calls: [{ type: "tool_call", id: "c1", name: "search", args: { q: "x", filters: { b: 1, a: [null, true] } } }],
    invalid_tool_calls: [{ type: "invalid_tool_call", id: "c2", name: "search", args: "{", error: "Malformed args." }],
    usage_metadata: { input_tokens: 3, output_tokens: 4, total_tokens: 7, input_token_details: { cache_read: 2 } },
    response_metadata: { model_name: "m", finish_reason: "tool_calls" },
    additional_kwargs: { refusal: null },
  }),
  new ToolMessage({
    content: "42",
    id: "t1",
    tool_call_id: "c1",
    name: "search",
    artifact: { rows: [[1, 2]] },
    status: "error",
    metadata: { ms: 3 },
  }),
  new ChatMessage({ content: "hm", id: "g1", role: "moderator" }),
  new FunctionMessage({ content: "ok", id: "f1", name: "legacy" }),
];

describe("a record", () => {
  it("begins with its type, so that rounds are found without parsing it", () => {
    expect(encodeMessage(human("hi"), { id: "m1" })).toEqual({
      id: "m1",
      digest: expect.stringMatching(/^[\w-]{8}$/) as string,
      record: '{"type":"human","data":{"content":"hi","id":"m1"},"meta":{"v":1}}',
    });
  });

  it("holds token counts by counter, apart from the message", () => {
    const { record, digest } = encodeMessage(human("hi"), { id: "m1", tokens: { o200k: 8 } });
    expect(record).toBe('{"type":"human","data":{"content":"hi","id":"m1"},"meta":{"v":1,"tokens":{"o200k":8}}}');
    expect(decodeRecord(record).tokens).toEqual({ o200k: 8 });
    expect(digest).toBe(encodeMessage(human("hi"), { id: "m2" }).digest);
  });

  it("is read by LangChain's own reader", () => {
    const stored = rich.map(
      (message) => JSON.parse(encodeMessage(message, { id: message.id! }).record) as StoredMessage,
    );
    expect(mapStoredMessagesToChatMessages(stored).map(publicFields)).toEqual(rich.map(publicFields));
  });
});

describe("a message as it is now", () => {
  it("does not take over a call that v1 content lacks", () => {
    const message = new AIMessage({ contentBlocks: [{ type: "text", text: "x" }] });
    message.tool_calls = [{ type: "tool_call", id: "c1", name: "n", args: {} }];
    expect(publicFields(roundTrip(message))).toStrictEqual({ ...publicFields(message), id: "m1" });
  });

  it.each([
    [
      "ai",
      new AIMessage({
        contentBlocks: [
          { type: "reasoning", reasoning: "hm" },
          { type: "text", text: "x" },
        ],
        tool_calls: [{ id: "c", name: "n", args: {} }],
      }),
    ],
    [
      "human",
      new HumanMessage({
        contentBlocks: [
          { type: "text", text: "x" },
          { type: "image", url: "https://example.com/a.png" },
        ],
      }),
    ],
    ["tool", new ToolMessage({ contentBlocks: [{ type: "text", text: "x" }], tool_call_id: "c" } as never)],
  ])("made from contentBlocks (%s) gives the same content and content blocks", (_, message: BaseMessage) => {
    const decoded = roundTrip(message);
    expect(decoded.content).toEqual(message.content);
    expect(decoded.content).not.toHaveLength(0);
    expect(decoded.contentBlocks).toEqual(message.contentBlocks);
    expect(decoded.response_metadata).toEqual({ output_version: "v1" });
  });

  it("keeps constructor arguments that are not fields, but not those of a copied message", () => {
    const decoded = roundTrip(new HumanMessage({ content: "x", example: true } as never));
    expect(decoded.lc_kwargs).toMatchObject({ example: true });
    const copy = new HumanMessage({ ...human("x") } as never);
    expect(encodeMessage(copy, { id: "m1" })).toEqual(encodeMessage(human("x"), { id: "m1" }));
  });

  it("is read without a warning if it has raw calls but no parsed ones, and they stay unparsed", () => {
    const warn = jest.spyOn(console, "warn").mockImplementation(() => undefined);
    const message = new AIMessage({
      content: "",
      tool_calls: [],
      additional_kwargs: { tool_calls: [{ id: "c", type: "function", function: { name: "n", arguments: "{}" } }] },
    });
    warn.mockClear();
    const { record } = encodeMessage(message, { id: "m1" });
    expect(publicFields(decodeRecord(record).message)).toStrictEqual({ ...publicFields(message), id: "m1" });
    expect(warn).not.toHaveBeenCalled();
    expect(publicFields(mapStoredMessagesToChatMessages([JSON.parse(record) as StoredMessage])[0]!)).toEqual({
      ...publicFields(message),
      id: "m1",
    });
    warn.mockRestore();
  });

  it("gets content if a caller removed it, and a list if a model returned one bare block", () => {
    const without = Object.assign(human("x"), { content: null });
    const bare = Object.assign(human("x"), { content: { type: "text", text: "y" } });
    expect(roundTrip(without as never).content).toEqual([]);
    expect(roundTrip(bare as never).content).toEqual([{ type: "text", text: "y" }]);
  });
});

describe("values that JSON cannot hold", () => {
  class Row {
    constructor(readonly id: number) {}
    describe(): string {
      return `row ${this.id}`;
    }
  }
  const values: [string, unknown][] = [
    ["a part of a larger buffer", Buffer.from("0123456789").subarray(3, 6)],
    ["an ArrayBuffer", new Uint8Array([1, 2, 3]).buffer],
    ["an embedding", new Float32Array([0.5, -1, 3e-9])],
    ["64-bit integers", new BigInt64Array([-5n, 2n ** 62n])],
    ["a huge negative integer", -(3n ** 3000n)],
    ["an error", new Error("no", { cause: new Error("why") })],
    ["a nested tag look-alike", { $lcmem: ["Object", { $lcmem: ["Undefined"] }] }],
  ];

  it.each(values)("come back from an artifact: %s", (_, artifact) => {
    const message = new ToolMessage({ content: "x", tool_call_id: "c", id: "t", artifact });
    const { record, digest } = encodeMessage(message, { id: "t" });
    const decoded = decodeRecord(record).message as ToolMessage;
    expect(decoded.artifact).toStrictEqual(artifact);
    expect(digestMessage(decoded)).toBe(digest);
  });

  it("come back as an invalid date, and as an error of the same name", () => {
    const message = new ToolMessage({
      content: "x",
      tool_call_id: "c",
      artifact: [new Date(NaN), new TypeError("no")],
    });
    const [date, error] = (roundTrip(message) as ToolMessage).artifact as [Date, Error];
    expect(date.getTime()).toBeNaN();
    expect([error.name, error.message, String(error)]).toEqual(["TypeError", "no", "TypeError: no"]);
  });

  it("come back from arguments of calls and from content blocks", () => {
    const args = { since: new Date(5), none: [NaN] };
    const message = new AIMessage({
      content: [{ type: "image", data: new Uint8Array([1]) }] as never,
      tool_calls: [{ id: "c", name: "n", args }],
    });
    expect(publicFields(roundTrip(message))).toStrictEqual({ ...publicFields(message), id: "m1" });
  });

  it("become what JSON makes of them if they are instances of other classes", () => {
    const artifact = [new Row(7), new URL("https://example.com/a"), new String("boxed"), human("nested", "n1")];
    const decoded = roundTrip(new ToolMessage({ content: "x", tool_call_id: "c", artifact })) as ToolMessage;
    expect(decoded.artifact).toEqual([
      { id: 7 },
      "https://example.com/a",
      "boxed",
      JSON.parse(JSON.stringify(human("nested", "n1"))),
    ]);
  });
});

describe("a message that cannot be stored", () => {
  const circular: Record<string, unknown> = { secret: "classified" };
  circular["self"] = { again: circular };
  let deep: unknown = "classified";
  for (let level = 0; level < 100_000; level += 1) {
    deep = [deep];
  }
  let wide: unknown[] = ["classified"];
  for (let level = 0; level < 40; level += 1) {
    wide = [wide, wide];
  }

  it.each<[string, unknown, RegExp]>([
    ["a function", { rows: [1, { format: () => "classified" }] }, /artifact\.rows\[1\]\.format is a function/],
    ["a symbol", [Symbol("classified")], /artifact\[0\] is a symbol/],
    ["a circle", circular, /artifact\.self\.again refers back/],
    ["a promise", { later: Promise.resolve("classified") }, /artifact\.later is a Promise/],
    ["a regular expression", /classified/, /artifact is a RegExp/],
    ["nesting without end", deep, /is nested deeper than 500 levels/],
    ["shared references that multiply without end", wide, /too large/],
    [
      "a getter that throws",
      {
        get x() {
          throw new Error("no");
        },
      },
      /artifact cannot be read/,
    ],
  ])("names the place of %s and never the value", (_, artifact, reason) => {
    const error = refusal(new ToolMessage({ content: "x", tool_call_id: "c", artifact }));
    expect(error).toMatchObject({ code: "unsupported_message", message: expect.stringMatching(reason) as string });
    expect(error.message).not.toContain("classified");
    expect(error.message.length).toBeLessThan(300);
  });

  it.each<[string, unknown, RegExp]>([
    ["RemoveMessage", new RemoveMessage({ id: "m1" }), /rewind\(\)/],
    ["a type of its own", Object.assign(human("x"), { type: "custom" }), /type "custom"/],
    ["a plain object", { role: "user", content: "classified" }, /not a LangChain message/],
    ["null", null, /not a LangChain message/],
    [
      "a tool result without the id of its call",
      new ToolMessage({ content: "x" } as never),
      /must have a tool_call_id/,
    ],
    ["a number as content", Object.assign(human("x"), { content: 7 }), /content of a message of type "human" must be/],
    [
      "calls that are no objects",
      Object.assign(aiCalls("c"), { tool_calls: ["c"] }),
      /tool_calls .* must be an array of objects/,
    ],
  ])("says what to do about %s", (_, message, reason) => {
    expect(refusal(message as BaseMessage)).toMatchObject({
      code: "unsupported_message",
      message: expect.stringMatching(reason) as string,
    });
  });

  function refusal(message: BaseMessage): RecordError {
    for (const attempt of [() => digestMessage(message), () => encodeMessage(message, { id: "m1" })]) {
      try {
        attempt();
      } catch (error) {
        expect(RecordError.isInstance(error)).toBe(true);
        return error as RecordError;
      }
    }
    throw new Error("The message was stored.");
  }
});

describe("the digest", () => {
  it("does not depend on id, tokens or the order of keys", () => {
    const first = new AIMessage({
      content: "",
      tool_calls: [{ id: "c", name: "n", args: { a: 1, b: { c: 2, d: [{ e: 1, f: 2 }] } } }],
    });
    const second = new AIMessage({
      content: "",
      id: "x",
      tool_calls: [{ name: "n", args: { b: { d: [{ f: 2, e: 1 }], c: 2 }, a: 1 }, id: "c" }],
    });
    expect(encodeMessage(first, { id: "1", tokens: { a: 1 } }).digest).toBe(digestMessage(second));
  });

  it("stays what it was in stored sessions", () => {
    expect(digestMessage(human("hi"))).toBe("6LAY1drN");
    expect(digestMessage(rich[2]!)).toBe("Vzm-aXM7");
  });
});
