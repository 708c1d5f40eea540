import { runInNewContext } from "node:vm";
import { Document } from "@langchain/core/documents";
import fc from "fast-check";
import { AIMessage, HumanMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { copyMessage } from "../../src/store/codec/stored-record.js";
import { redact } from "../../src/conversation/messages/copies/redact.js";
import { propertyRuns } from "../support/property-runs.js";

const card = "4111111111111111";
const clean = redact(/\d{16}/);

const answer = (args: Record<string, unknown>) =>
  new AIMessage({
    content: [{ type: "tool_use", id: "c1", name: "pay", input: args }],
    tool_calls: [{ id: "c1", name: "pay", args, type: "tool_call" }],
    additional_kwargs: {
      tool_calls: [{ id: "c1", type: "function", function: { name: "pay", arguments: JSON.stringify(args) } }],
    },
  });
const result = (artifact: unknown) => new ToolMessage({ content: "Paid.", tool_call_id: "c1", artifact });

/** The arguments of the call, which is the only copy that is left. */
function argumentsOf(message: AIMessage): unknown {
  expect([message.content, message.additional_kwargs]).toEqual(["", {}]);
  return message.tool_calls![0]!.args;
}

describe("redact, in the blocks of a question", () => {
  it.each(["text", "input_text"])("finds what several blocks of type %s say together", (type) => {
    const content = [
      { type, text: `My card ${card.slice(0, 9)}` },
      { type, text: `${card.slice(9)}.` },
    ];
    expect(clean(new HumanMessage({ content })).content).toEqual([{ type, text: "My card [redacted]." }]);
  });
});

describe("redact, in the arguments of a call", () => {
  const names = ["name", "id", "type", "role", "data", "bytes", "call_id", "signature", "encrypted_content", "q"];

  it.each(names)("cleans a value whatever its name is: %s", (name) => {
    const args = { [name]: `My card ${card}`, deep: { [name]: { list: [card] } } };
    const cleaned = { [name]: "My card [redacted]", deep: { [name]: { list: ["[redacted]"] } } };
    const message = clean(answer(args));
    expect(argumentsOf(message)).toEqual(cleaned);
    expect(message.tool_calls![0]).toMatchObject({ id: "c1", name: "pay" });
  });

  it("cleans numbers and names of properties", () => {
    const args = { card: Number(card), by: { [card]: 1, "[redacted]": 2 }, count: 3 };
    const cleaned = { card: "[redacted]", by: { "[redacted] ": 1, "[redacted]": 2 }, count: 3 };
    expect(argumentsOf(clean(answer(args)))).toEqual(cleaned);
  });

  it("leaves what matches across the syntax of JSON only", () => {
    const args = { password: "secret", note: 'say "password":"secret"' };
    const cleaned = argumentsOf(redact(/"password":"[^"]*"/)(answer(args)));
    expect(cleaned).toEqual({ password: "secret", note: "say [redacted]" });
  });

  it("applies a function once to each text", () => {
    const twice = redact((text) => text.replaceAll("a", "aa"));
    expect(argumentsOf(twice(answer({ q: "banana" })))).toEqual({ q: "baanaanaa" });
    expect(twice(new HumanMessage("banana")).content).toBe("baanaanaa");
  });
});

/** JSON with a marker in texts and names of properties, at any place. */
function markedJson(marker: string): fc.Arbitrary<Record<string, unknown>> {
  const name = fc.constantFrom("name", "id", "data", "type", "mimeType", "input", "toJSON", "__proto__", "q", marker);
  const text = fc.constantFrom(marker, `a ${marker}`, `{"q":"${marker}"}`, `{"${marker}`, `data:,${marker}`, "b");
  const { record } = fc.letrec((tie) => ({
    value: fc.oneof({ depthSize: "small" }, text, fc.integer(), fc.constant(null), tie("list"), tie("record")),
    list: fc.array(tie("value"), { maxLength: 4 }),
    record: fc.dictionary(name, tie("value"), { maxKeys: 5 }),
  }));
  return record as fc.Arbitrary<Record<string, unknown>>;
}

describe("redact, of any arguments and any artifact", () => {
  const marker = "4111-2222";

  it("leaves no match", () => {
    fc.assert(
      fc.property(markedJson(marker), (value) => {
        const args = { value };
        const before = JSON.stringify(args);
        const message = redact(marker)(answer(args));
        expect(JSON.stringify(message)).not.toContain(marker);
        expect(JSON.stringify(redact(marker)(result(value)))).not.toContain(marker);
        expect(JSON.stringify(args)).toBe(before);
      }),
      { numRuns: 500 },
    );
  });
});

describe("redact, with any pattern, in any place", () => {
  const marker = "4111-2222";
  const patterns = fc.oneof(
    fc.constant(marker),
    fc.subarray(["g", "y", "i", "m", "s", "u", "d"]).map((flags) => new RegExp("\\d{4}-\\d{4}", flags.join(""))),
  );
  const part = fc.constantFrom(
    "",
    " ",
    "a",
    "A".repeat(80),
    "\n",
    ",",
    "data:",
    ";base64,",
    "text/plain",
    "=",
    '{"q":"',
    '"}',
  );
  const text = fc.tuple(fc.array(part, { maxLength: 6 }), fc.array(part, { maxLength: 4 })).map(([before, after]) => {
    return [...before, marker, ...after].join("");
  });
  const places: Readonly<Record<string, (said: string) => BaseMessage>> = {
    text: (said) => new HumanMessage(said),
    block: (said) =>
      new HumanMessage({
        content: [
          { type: "text", text: "a" },
          { type: "text", text: said },
        ],
      }),
    field: (said) => new HumanMessage({ content: "a", additional_kwargs: { note: said, name: "n" } }),
    argument: (said) => answer({ note: said, [said]: 1 }),
    metadata: (said) => new AIMessage({ content: "a", response_metadata: { said: [{ said }] } }),
    thought: (said) => new AIMessage({ content: [{ type: "thinking", thinking: said }] as never }),
    result: (said) => new ToolMessage({ content: said, tool_call_id: "c1" }),
    artifact: (said) => result({ [said]: [said] }),
  };

  it("leaves no match", () => {
    fc.assert(
      fc.property(patterns, text, text, fc.constantFrom(...Object.keys(places)), (pattern, said, other, place) => {
        const clean = redact(pattern);
        for (const each of [said, other]) {
          expect(JSON.stringify(clean(places[place]!(each)))).not.toContain(marker);
        }
      }),
      { numRuns: propertyRuns(500) },
    );
  });
});

class Receipt {
  constructor(
    readonly text: string,
    readonly total: number,
  ) {}
}

describe("redact, in a tool's artifact", () => {
  const kinds: Readonly<Record<string, unknown>> = {
    text: card,
    number: Number(card),
    "big integer": BigInt(card),
    "text object": Object(card),
    answer: { status: 200, data: { rows: [{ id: card, name: card, type: card }] } },
    data: { data: card, bytes: card },
    "short data of a file": { data: card, mimeType: "image/png" },
    "long data of no type": { data: card.repeat(5), mimeType: "png" },
    document: new Document({ pageContent: card, metadata: { id: card } }),
    instance: [new Receipt(card, 3)],
    "object of another realm": runInNewContext(`({ text: "${card}" })`),
    "value with its own JSON": { toJSON: () => ({ text: card }) },
    address: new URL(`https://shop.example/${card}`),
    map: new Map([[card, { text: card }]]),
    set: new Set([card]),
    error: new Error(card, { cause: { text: card } }),
    message: new HumanMessage(card),
    "JSON in which it is escaped": `{"data":"${card.replace("4", "\\u0034")}"}`,
    "server-sent event": `data: {"card":"${card}"}`,
    "text behind the head of an address of data": `data:text/plain,${card}`,
  };

  it.each(Object.entries(kinds))("cleans it in every kind of value that is stored: %s", (_, artifact) => {
    const shown = (message: ToolMessage) =>
      JSON.stringify((copyMessage(message) as ToolMessage).artifact, (__, value: unknown) =>
        value instanceof Map || value instanceof Set
          ? [...(value as Iterable<unknown>)]
          : value instanceof Error
            ? [value.message, value.cause]
            : typeof value === "bigint"
              ? String(value)
              : value,
      );
    expect(shown(result(artifact)).replace("\\\\u0034", "4")).toContain(card);
    const cleaned = shown(clean(result(artifact)));
    expect(cleaned.replace("\\\\u0034", "4")).not.toContain(card);
    expect(cleaned).toContain("redacted");
  });

  it("gives back the very same message where nothing matches", () => {
    const values = { ...kinds, date: new Date(0), bytes: new Uint8Array(16), none: null, missing: undefined };
    const message = result(values);
    expect(redact("4000")(message)).toBe(message);
  });

  it("leaves encoded files as they are", () => {
    const artifact = [
      { type: "image", data: card.repeat(4), mimeType: "image/png" },
      { type: "image_url", image_url: { url: `data:image/png;base64,${card.repeat(4)}` } },
      { bytes: Buffer.from(card) },
    ];
    const message = result(artifact);
    expect(clean(message)).toBe(message);
  });

  it("refuses a value that refers back to itself, like the store", () => {
    const artifact: Record<string, unknown> = {};
    artifact["self"] = [artifact];
    expect(() => clean(result(artifact))).toThrow(expect.objectContaining({ code: "unsupported_message" }));
  });
});

describe("redact, in what a provider says of an answer", () => {
  const spelled = (text: string) => [...text].map((token) => ({ token, bytes: [...Buffer.from(token)], logprob: -1 }));

  it("leaves out the probabilities of tokens that spell what it takes out", () => {
    const given = (text: string) =>
      new AIMessage({
        content: [{ type: "text", text, logprobs: spelled(text) } as never],
        response_metadata: { logprobs: { content: spelled(text) }, finish_reason: "stop" },
      });
    const message = clean(given(`My card ${card}.`));
    expect(message.content).toBe("My card [redacted].");
    expect(message.response_metadata).toEqual({ finish_reason: "stop" });
    const other = given("Hello.");
    expect(clean(other)).toBe(other);
  });

  it("leaves encoded data of blocks, and no text under the name of one", () => {
    const thought = { type: "redacted_thinking", data: `${card}_-`.repeat(5) };
    const file = { type: "file", source_type: "base64", data: `${card.repeat(5)}==`, mime_type: "application/pdf" };
    const message = new HumanMessage({ content: [thought, file] as never });
    expect(clean(message)).toBe(message);
    const said = new HumanMessage({ content: "Hi", additional_kwargs: { data: `card ${card}`, bytes: card } });
    expect(clean(said).additional_kwargs).toEqual({ data: "card [redacted]", bytes: "[redacted]" });
  });

  it("makes an answer plain where only a step of its provider's own tools matches", () => {
    const step = { type: "server_tool_use", id: "s1", name: "web_search", input: { query: card } };
    const message = new AIMessage({ content: [step, { type: "text", text: "Found." }] as never });
    expect(clean(message).content).toBe("Found.");
  });

  it("leaves ids, names and types of blocks", () => {
    const message = new HumanMessage({
      content: [{ type: "server_tool_use", id: card, name: card, input: { query: card, id: card } } as never],
    });
    expect(clean(message).content).toEqual([
      { type: "server_tool_use", id: card, name: card, input: { query: "[redacted]", id: "[redacted]" } },
    ]);
  });
});
