import {
  AIMessage,
  ChatMessage,
  FunctionMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
  type BaseMessage,
} from "@langchain/core/messages";
import fc from "fast-check";
import { decodeRecord, reviveMessage } from "../../src/store/codec/decode-record.js";
import { digestMessage, encodeMessage } from "../../src/store/codec/encode-message.js";
import { identifyRecord, decodeHead, encodeHead } from "../../src/store/codec/stored-record.js";
import { RecordError } from "../../src/base/errors.js";
import { human, ai } from "../support/messages.js";
import { forAll } from "../support/property-runs.js";
import { publicFields } from "../support/public-fields.js";
import { headIds } from "../../src/memory/session/screen-pages.js";

const decode = (stored: unknown): BaseMessage => decodeRecord(JSON.stringify(stored)).message;

/** As the peers write it. */
const stored = (message: BaseMessage): string => JSON.stringify(message.toDict());

describe("a record that LangChain for JavaScript wrote", () => {
  it.each<[string, BaseMessage]>([
    ["human", new HumanMessage({ content: "hi", id: "1", name: "Bo" })],
    [
      "ai",
      new AIMessage({
        content: [{ type: "text", text: "x" }],
        tool_calls: [{ id: "c", name: "n", args: { q: 1 } }],
        usage_metadata: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
      }),
    ],
    ["system", new SystemMessage("x")],
    ["tool", new ToolMessage({ content: "x", tool_call_id: "c", artifact: { a: [1] }, status: "success", name: "n" })],
    ["generic", new ChatMessage("x", "moderator")],
    ["function", new FunctionMessage({ content: "x", name: "n" })],
  ])("of type %s is read field for field", (_, message) => {
    const { message: decoded, id, tokens } = decodeRecord(stored(message));
    expect(decoded).toEqual(message);
    expect(decoded.constructor).toBe(message.constructor);
    expect([id, tokens]).toEqual([message.id, {}]);
  });

  it.each<[string, BaseMessage]>([
    ["human", new HumanMessage({ contentBlocks: [{ type: "text", text: "x" }] })],
    ["ai", new AIMessage({ contentBlocks: [{ type: "text", text: "x" }] })],
  ])("from contentBlocks (%s) has its content, which LangChain's own reader loses", (_, message) => {
    expect(publicFields(decodeRecord(stored(message)).message)).toEqual(publicFields(message));
  });

  it("has its objects with a key lc unwrapped", () => {
    const message = new HumanMessage({ content: "x", additional_kwargs: { a: { lc: 1, b: [2] }, list: [{ lc: 2 }] } });
    expect(stored(message)).toContain("__lc_escaped__");
    expect(decodeRecord(stored(message)).message.additional_kwargs).toEqual(message.additional_kwargs);
  });

  it("never has a key read as one of our tags", () => {
    const data = { content: "x", additional_kwargs: { a: { $lcmem: ["Date", "2026"] } } };
    expect(decode({ type: "human", data }).additional_kwargs).toEqual({ a: { $lcmem: ["Date", "2026"] } });
  });

  it("from the first releases is read by type, role and text", () => {
    expect(decode({ type: "human", role: undefined, text: "hi" })).toMatchObject({ content: "hi", type: "human" });
    expect(decode({ type: "generic", role: "moderator", text: "hi" })).toMatchObject({
      content: "hi",
      role: "moderator",
    });
  });

  it("from before calls were parsed has them parsed, the unreadable ones apart", () => {
    const warn = jest.spyOn(console, "warn");
    const call = (id: string, text: string) => ({ id, type: "function", function: { name: "n", arguments: text } });
    const message = decode({
      type: "ai",
      data: { content: "", additional_kwargs: { tool_calls: [call("a", '{"q":1}'), call("b", "{")] } },
    });
    expect(message).toMatchObject({
      tool_calls: [{ id: "a", name: "n", args: { q: 1 } }],
      invalid_tool_calls: [{ id: "b", args: "{" }],
    });
    expect(warn).not.toHaveBeenCalled();
    warn.mockRestore();
  });
});

describe("a record that LangChain for Python wrote", () => {
  it("has null read as missing", () => {
    const call = { name: "n", args: { q: null }, id: null, type: "tool_call" };
    const data = {
      content: "x",
      additional_kwargs: {},
      response_metadata: {},
      type: "ai",
      name: null,
      id: null,
      example: false,
      tool_calls: [call],
      invalid_tool_calls: [],
      usage_metadata: null,
    };
    const message = decode({ type: "ai", data }) as AIMessage;
    expect(publicFields(message)).toEqual(
      publicFields(new AIMessage({ content: "x", tool_calls: [{ name: "n", args: { q: null }, type: "tool_call" }] })),
    );
    expect(message.tool_calls![0]).not.toHaveProperty("id");
  });

  it.each<[string, string, object]>([
    ["AIMessageChunk", "ai", {}],
    ["HumanMessageChunk", "human", {}],
    ["ToolMessageChunk", "tool", { tool_call_id: "c" }],
    ["chat", "generic", { role: "moderator" }],
  ])("of type %s is read as %s", (type, expected, fields) => {
    expect(decode({ type, data: { content: "x", ...fields } })).toMatchObject({ type: expected, content: "x" });
  });

  it("has bare text in content lists read as text blocks", () => {
    expect(decode({ type: "human", data: { content: ["a", { type: "text", text: "b" }] } }).text).toBe("ab");
  });
});

describe("a flat record of another program", () => {
  const call = { id: "c", type: "function", function: { name: "pay", arguments: '{"to":"Ann"}' } };

  it.each<[string, object, object]>([
    ["type and content", { type: "human", content: "hi", additional_kwargs: {} }, { type: "human", content: "hi" }],
    ["role and content", { role: "user", content: "hi" }, { type: "human", content: "hi" }],
    ["a message of OpenAI", { type: "message", role: "user", content: "hi" }, { type: "human", content: "hi" }],
    ["an assistant", { role: "assistant", content: "hi", id: 7 }, { type: "ai", content: "hi", id: "7" }],
    ["OpenAI's calls", { role: "assistant", content: null, tool_calls: [call] }, { type: "ai", content: "" }],
    ["a result", { role: "tool", tool_call_id: "c", content: "ok" }, { type: "tool", tool_call_id: "c" }],
    ["a developer", { role: "developer", content: "x" }, { type: "system", content: "x" }],
    ["another role", { role: "critic", content: "x" }, { type: "generic", role: "critic", content: "x" }],
    ["text", { type: "human", text: "hi" }, { type: "human", content: "hi" }],
    ["LangChain's serialized object", human("hi", "m").toJSON(), { type: "human", content: "hi", id: "m" }],
  ])("is read: %s", (_, record, expected) => {
    const message = decode(record);
    expect(message).toMatchObject(expected);
    const again = decodeRecord(encodeMessage(message, { id: "m" }).record).message;
    expect({ ...publicFields(again), id: message.id }).toEqual({ ...publicFields(message), id: message.id });
    expect((message as AIMessage).tool_calls ?? []).toEqual(
      "tool_calls" in record ? [{ id: "c", name: "pay", args: { to: "Ann" } }] : [],
    );
  });

  it("of any form is read with all of its text, or refused: never as an empty message", () => {
    const words = fc.stringMatching(/^[a-z]{3,8}$/);
    const keys = fc.constantFrom("content", "text", "data", "message", "body", "parts", "kwargs", "value");
    const types = fc.constantFrom("human", "ai", "system", "HumanMessage", "user", "message", undefined);
    const roles = fc.constantFrom("user", "assistant", "system", undefined);
    const inner = fc.oneof(words, fc.dictionary(keys, words, { maxKeys: 2 }), fc.constant(null));
    const record = fc.record({ type: types, role: roles, rest: fc.dictionary(keys, inner, { maxKeys: 3 }) });
    forAll(500, record, ({ type, role, rest }) => {
      const text = JSON.stringify({ type, role, ...rest });
      try {
        expect(decodeRecord(text).message.content).not.toHaveLength(0);
      } catch (error) {
        expect(error).toMatchObject({ code: "corrupt" });
      }
    });
  });

  it("keeps the digits of integers that JavaScript would round", () => {
    const args = (json: string) =>
      (
        decodeRecord(`{"type":"ai","data":{"content":"","tool_calls":[{"id":"c","name":"q","args":${json}}]}}`)
          .message as AIMessage
      ).tool_calls![0]!.args;
    const said = '"12345678901234567891 \\" 12345678901234567891"';
    expect(
      args(
        `{"a":2512292042121000001,"b":[-9007199254740993],"c":9007199254740992,"d":1.2345678901234567891,"e":${said}}`,
      ),
    ).toEqual({
      ...{ a: "2512292042121000001", b: ["-9007199254740993"], c: 9007199254740992, d: 1.2345678901234567 },
      e: '12345678901234567891 " 12345678901234567891',
    });
    forAll(200, fc.bigInt(), (value) => {
      expect(String(args(`{"id":${value}}`)["id"])).toBe(String(value));
    });
  });
});

describe("a developer message", () => {
  it("is a system message that says so", () => {
    expect(decode({ type: "developer", data: { content: "x" } })).toMatchObject({
      type: "system",
      additional_kwargs: { __openai_role__: "developer" },
    });
  });
});

describe("a record that cannot be read", () => {
  const deep = (levels: number) => "[".repeat(levels) + "]".repeat(levels);

  it.each<[string, string]>([
    ["no JSON", "secret"],
    ["without a type", '{"data":{"content":"secret"}}'],
    ["of no type that is stored", '{"type":"remove","data":{"id":"secret"}}'],
    ["of a type that every object has", '{"type":"constructor","data":{"content":"secret"}}'],
    ["with data that is no object", '{"type":"human","data":"secret","meta":{"v":1}}'],
    ["without content", '{"type":"human","data":{"secret":"x"}}'],
    ["with content that is null", '{"type":"ai","data":{"content":null,"name":"secret"}}'],
    ["flat without content", '{"role":"user","secret":"x"}'],
    ["no JSON but Python's", '{"type":"human","data":{"content":"secret","logprobs":NaN}}'],
    ["with content that is a number", '{"type":"human","data":{"content":7}}'],
    ["with calls that are no list", '{"type":"ai","data":{"content":"","tool_calls":"secret"}}'],
    ["of a tool without its call", '{"type":"tool","data":{"content":"secret"}}'],
    ["of a role without its role", '{"type":"generic","data":{"content":"secret"}}'],
    [
      "with an unknown tag",
      '{"type":"human","data":{"content":"","additional_kwargs":{"$lcmem":["Secret"]}},"meta":{"v":1}}',
    ],
    [
      "with a big integer that is none",
      '{"type":"human","data":{"content":"","additional_kwargs":{"$lcmem":["BigInt","secret"]}},"meta":{"v":1}}',
    ],
    [
      "with bytes that are no floats",
      '{"type":"human","data":{"content":"","additional_kwargs":' +
        '{"a":{"$lcmem":["Float64Array","AAA="]}}},"meta":{"v":1}}',
    ],
    [
      "with tags nested too deeply",
      '{"type":"tool","data":{"content":"","tool_call_id":"c","artifact":' +
        `{"$lcmem":["Set",[${deep(100_000)}]]}},"meta":{"v":1}}`,
    ],
    ["with a version that is no number", '{"type":"human","data":{"content":"secret"},"meta":{"v":"1"}}'],
  ])("because it is %s names the position and never the content", (_, record) => {
    const error = errorOf(record, 41);
    expect(error).toMatchObject({ code: "corrupt", position: 41, message: expect.stringContaining("at position 41") });
    expect(`${error.message} ${String(error.cause)}`).not.toContain("secret");
  });

  it("because it is newer names its version", () => {
    expect(errorOf('{"type":"human","data":{},"meta":{"v":2}}', 5)).toMatchObject({
      code: "unsupported_version",
      position: 5,
      message: expect.stringContaining("version 2") as string,
    });
  });

  it("because it is nested without end does not take the process along", () => {
    const tool = `{"type":"tool","data":{"content":"","tool_call_id":"c","artifact":${deep(200_000)}}`;
    const { message } = decodeRecord(`${tool},"meta":{"v":1}}`);
    expect(() => digestMessage(message)).toThrow(RecordError);
    expect(errorOf(`${tool}}`)).toMatchObject({ code: "corrupt" });
  });

  function errorOf(record: string, position?: number): RecordError {
    try {
      decodeRecord(record, position);
    } catch (error) {
      expect(RecordError.isInstance(error)).toBe(true);
      return error as RecordError;
    }
    throw new Error("The record was read.");
  }
});

describe("an odd record that can be read", () => {
  it("has a key __proto__ as data and changes no prototype", () => {
    const record =
      '{"type":"human","data":{"content":"x","__proto__":{"polluted":1},' +
      '"additional_kwargs":{"__proto__":{"polluted":1}}}}';
    for (const text of [record, `${record.slice(0, -1)},"meta":{"v":1}}`]) {
      const { message } = decodeRecord(text);
      expect(Object.keys(message.additional_kwargs)).toEqual(["__proto__"]);
      expect("polluted" in message).toBe(false);
      expect("polluted" in message.additional_kwargs).toBe(false);
    }
  });

  it("leaves out counts that are not numbers", () => {
    const record = '{"type":"human","data":{"content":"x"},"meta":{"v":1,"tokens":{"a":3,"b":"4","c":-1,"d":null}}}';
    expect(decodeRecord(record).tokens).toEqual({ a: 3 });
  });

  it("treats an id that is not a string as missing", () => {
    expect(decodeRecord('{"type":"human","data":{"content":"x","id":7}}')).toMatchObject({
      id: undefined,
      message: { id: undefined },
    });
    expect(decodeRecord('{"type":"human","data":{"content":"x","id":""}}').id).toBeUndefined();
  });
});

describe("a stored message that was parsed already", () => {
  it("is revived in every form that a record may have", () => {
    expect(reviveMessage(human("hi", "m1").toDict())).toEqual(human("hi", "m1"));
    const artifact = { at: new Date(5) };
    const { record } = encodeMessage(new ToolMessage({ content: "x", tool_call_id: "c", artifact }), { id: "m1" });
    expect(reviveMessage(JSON.parse(record))).toMatchObject({ id: "m1", artifact });
  });

  it("is rejected with its position if it is not one", () => {
    expect(() => reviveMessage(undefined, 3)).toThrow(
      expect.objectContaining({ code: "corrupt", position: 3 }) as Error,
    );
  });
});

describe("identifyRecord", () => {
  it("returns the id and the digest that the record was written under", () => {
    const { id, digest, record } = encodeMessage(human("hi"), { id: "m1" });
    expect(identifyRecord(record)).toEqual({ id, digest });
  });

  it("returns a foreign record's own id, or one that depends on its text alone", () => {
    expect(identifyRecord(stored(human("hi", "own")))?.id).toBe("own");
    const first = identifyRecord(stored(human("hi")));
    expect(first).toEqual({
      id: expect.stringMatching(/^record:[\w-]{14}$/) as string,
      digest: digestMessage(human("hi")),
    });
    expect(identifyRecord(stored(human("hi")))).toEqual(first);
    expect(identifyRecord(stored(human("ho")))?.id).not.toBe(first?.id);
  });

  it("returns undefined for an unreadable record", () => {
    expect([identifyRecord("{"), identifyRecord('{"type":"human","data":{"content":"x"},"meta":{"v":9}}')]).toEqual([
      undefined,
      undefined,
    ]);
  });
});

describe("a head", () => {
  const records = [human("a\n]"), ai('"}', { calls: ["c"] })].map(
    (message, index) => encodeMessage(message, { id: `m${index}` }).record,
  );

  it("keeps records of other makers readable", () => {
    const foreign = '{ "type": "human",\n "data": { "content": "x" } }';
    expect(decodeHead(encodeHead([foreign])).map((record) => decodeRecord(record).message.content)).toEqual(["x"]);
  });

  it.each(["[", "{}", "null", '["secret"]', "[null]", "secret", '[{"type":"human"},]'])(
    "that reads %s is refused without showing it",
    (head) => {
      expect(() => decodeHead(head)).toThrow(RecordError);
      expect(() => decodeHead(head)).toThrow(/^(?!.*secret)/);
    },
  );

  it("rejects what is not a record", () => {
    expect(() => encodeHead([records[0]!, '{"a":1}],[{']).length).toThrow(
      expect.objectContaining({ code: "corrupt", position: 1 }) as Error,
    );
  });
});

describe("the ids in a head", () => {
  const records = ["a", "b"].map((id) => encodeMessage(human(id), { id }).record);

  it("are those of its messages, and none of a record or head that cannot be read", () => {
    expect(headIds(encodeHead(records))).toEqual(["a", "b"]);
    expect(headIds(encodeHead([records[0]!, '{"type":"none"}']))).toEqual(["a"]);
    expect([headIds(""), headIds("[7]")]).toEqual([[], []]);
  });
});
