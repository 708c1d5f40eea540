import { AIMessage, HumanMessage, ToolMessage, type BaseMessage, type ToolCall } from "@langchain/core/messages";
import fc from "fast-check";
import { randomBytes } from "node:crypto";
import { identifyRecord } from "../../src/store/codec/stored-record.js";
import { encodeMessage } from "../../src/store/codec/encode-message.js";
import { SessionKey, parseSealed } from "../../src/store/sealed/keys/session-key.js";
import { fromSevenBitText, toSevenBitText, openRecord, sealRecord } from "../../src/store/sealed/record.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import { anyMessage } from "../support/message-arbitraries.js";
import { testKey, testKeys } from "../support/test-keys.js";
import { forAll } from "../support/property-runs.js";

/** The same key for each session. */
const sessionKey = (sessionId: string) => new SessionKey(testKey("k").key, "AAAAAAAA", sessionId);

describe("the option encryption", () => {
  const short = randomBytes(31);
  const refused: readonly [string, unknown, string][] = [
    ["a key of 31 bytes", { current: { id: "k", key: short } }, "encryption.current.key"],
    ["a key that is text", { current: { id: "k", key: "a".repeat(32) } }, "encryption.current.key"],
    [
      "an older key of 33 bytes",
      { ...testKeys("k"), previous: [{ id: "o", key: randomBytes(33) }] },
      "encryption.previous.0.key",
    ],
    ["an id with spaces", { current: { ...testKey("k"), id: "a b" } }, "encryption.current.id"],
    ["no key", {}, "encryption.current"],
    ["no key at all", { current: null }, "encryption.current"],
    ["two keys of one id", testKeys("k", "k"), "encryption.previous"],
    ["a source without key()", { currentKeyId: () => "k" }, "encryption.key"],
    ["null", null, "encryption"],
    [
      "plain text refused, and written",
      { current: null, previous: [testKey("k")], plain: "refuse" },
      "encryption.plain",
    ],
    ["another word for plain", { ...testKeys("k"), plain: "read" }, "encryption.plain"],
    ["another word in a source", { currentKeyId: () => "k", key: () => short, plain: true }, "encryption.plain"],
    ["an unknown part", { ...testKeys("k"), algorithm: "none" }, "encryption.algorithm"],
  ];
  it.each(refused)("is refused with %s, without a part of a key", (_, encryption, option) => {
    const create = () => new RedisChatMemory({ store: new InMemorySessionStore(), encryption: encryption as never });
    expect(create).toThrow(expect.objectContaining({ name: "ConfigurationError", option }));
    expect(create).not.toThrow(new RegExp(`${short.toString("hex").slice(0, 8)}|aaaa`));
  });

  it("refuses what a source returns in place of a key, and writes nothing", async () => {
    const store = new InMemorySessionStore();
    for (const [key, name] of [
      [short, "ConfigurationError"],
      [undefined, "EncryptionError"],
    ] as const) {
      const encryption = { currentKeyId: () => "k", key: () => key as Uint8Array };
      const history = new RedisChatMemory({ store, encryption }).history("s");
      await expect(history.append([], { side: { set: { a: "b" } } })).rejects.toMatchObject({ name });
    }
    expect((await store.readView({ id: "s" })).epoch).toBe("");
  });
});

describe("a sealed record", () => {
  const key = sessionKey("s");

  it("opens to the same text, whatever the message is, and only at its place", () =>
    forAll(60, fc.tuple(anyMessage(), fc.string({ minLength: 1 })), ([message, id]) => {
      const { record } = encodeMessage(message, { id });
      const sealed = String(sealRecord(key, record, id));
      expect(openRecord(key, parseSealed(sealed)!)).toBe(record);
      expect(JSON.parse(sealed.split("\n")[0]!)).toMatchObject({
        type: message.getType(),
        data: { id },
        meta: { v: 2 },
      });
      expect(() => identifyRecord(sealed)).toThrow(expect.objectContaining({ name: "EncryptionError" }));
      const other = sessionKey("t");
      expect(openRecord(other, parseSealed(sealed)!)).toBeUndefined();
    }));

  it("opens to the same text for text that no release wrote", () => {
    const controls = fc.array(fc.nat(0x1f)).map((codes) => String.fromCharCode(...codes));
    const texts = fc.oneof(
      fc.string(),
      fc.json(),
      controls.map((between) => `{"type":"ai","data":{${between}"content":"Hi","id":"m"},"meta":{"v":1}}`),
      fc.json().map((text) => `{"type":"ai","data":${text},"meta":{"v":1}}`),
    );
    forAll(200, fc.tuple(texts, fc.oneof(fc.constant("m"), fc.string())), ([text, id]) => {
      expect(openRecord(key, parseSealed(sealRecord(key, text, id))!)).toBe(text);
    });
  });
});

describe("the length of a sealed record", () => {
  const key = sessionKey("s");
  const sealedLength = (message: BaseMessage) => {
    const { record } = encodeMessage(message, { id: "m" });
    return String(sealRecord(key, record, "m")).length;
  };

  it("depends on how long the texts of a message are, not on what they say", () => {
    const keys = ["name", "id", "content", "input_tokens", "type"];
    const json = fc.oneof(fc.json(), fc.constantFrom(...keys.map((name) => `{"${name}":"`), '","tool_calls":[{'));
    const texts = fc.array(fc.oneof(fc.string({ unit: "grapheme" }), json), { maxLength: 6 });
    forAll(
      200,
      texts.map((parts) => parts.join("")),
      (text) => {
        // Three escapes take the one byte of their character, the others as many as in JSON.
        const escaped = JSON.stringify(text)
          .slice(1, -1)
          .replace(/\\[\\"n]/g, "x");
        const blank = "x".repeat(Buffer.byteLength(escaped));
        for (const make of [
          (content: string) => new HumanMessage(content),
          (content: string) => new ToolMessage({ content, tool_call_id: content, name: content }),
          (content: string) =>
            new AIMessage({ content: [{ type: "text", text: content }], tool_calls: [call(content)] }),
        ]) {
          expect(sealedLength(make(text))).toBe(sealedLength(make(blank)));
        }
      },
    );
  });

  it("is less than the message's own where keys that every provider uses take much of it", () => {
    const usage_metadata = { input_tokens: 500, output_tokens: 60, total_tokens: 560 };
    const response_metadata = { model_name: "gpt-4o-mini", model_provider: "openai", finish_reason: "stop" };
    const message = new AIMessage({ content: "", usage_metadata, response_metadata, tool_calls: [call("Oslo")] });
    expect(sealedLength(message)).toBeLessThan(encodeMessage(message, { id: "m" }).record.length);
  });
});

function call(text: string): ToolCall {
  return { type: "tool_call", id: text, name: text, args: { place: text } };
}

describe("bytes as text of seven bits", () => {
  const bytes = fc.uint8Array({ maxLength: 200 });

  it("come back, are a seventh longer, and every character is one byte in UTF-8", () => {
    const long = [7_167, 7_168, 7_169, 30_000].map((length) => randomBytes(length));
    const check = (given: Uint8Array) => {
      const text = toSevenBitText(given);
      expect(Buffer.compare(fromSevenBitText(text)!, given)).toBe(0);
      expect(text.length).toBeLessThanOrEqual(Math.ceil((given.length * 8) / 7) + 3);
      expect(Buffer.byteLength(text)).toBe(text.length);
    };
    long.forEach(check);
    forAll(300, bytes, check);
  });

  it("are read from one text only", () => {
    const texts = fc.array(fc.nat(160), { maxLength: 80 }).map((codes) => String.fromCharCode(...codes));
    forAll(300, texts, (text) => {
      const read = fromSevenBitText(text);
      expect(read === undefined ? text : toSevenBitText(read)).toBe(text);
    });
  });
});
