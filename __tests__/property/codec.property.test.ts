import { isDeepStrictEqual } from "node:util";
import type { BaseMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { decodeHead, encodeHead, identifyRecord } from "../../src/store/codec/stored-record.js";
import { decodeRecord, reviveMessage } from "../../src/store/codec/decode-record.js";
import { digestMessage, encodeMessage } from "../../src/store/codec/encode-message.js";
import { RecordError } from "../../src/base/errors.js";
import { anyChunk, anyContent, anyJson, anyKey, anyMessage, anyText } from "../support/message-arbitraries.js";
import { publicFields } from "../support/public-fields.js";
import { forAll, propertyRuns } from "../support/property-runs.js";

const runs = { numRuns: propertyRuns(120), endOnFailure: true };

describe("encode and decode, for any message", () => {
  it("preserve every field, including key order", () => {
    fc.assert(
      fc.property(anyMessage(), fc.uuid(), (message, id) => {
        const { record } = encodeMessage(message, { id });
        const decoded = decodeRecord(record);
        expectSame(decoded.message, { ...publicFields(message), id });
        expect(decoded.id).toBe(id);
        expect(keyOrder(decoded.message)).toBe(keyOrder(message));
      }),
      runs,
    );
  });

  it("produce the same record and the same digest the second time", () => {
    fc.assert(
      fc.property(anyMessage(), (message) => {
        const first = encodeMessage(message, { id: "m1", tokens: { o200k: 7 } });
        const { message: decoded } = decodeRecord(first.record);
        expect(encodeMessage(decoded, { id: "m1", tokens: { o200k: 7 } })).toEqual(first);
        expect(digestMessage(decoded)).toBe(first.digest);
        expect(digestMessage(message)).toBe(first.digest);
        expect(identifyRecord(first.record)).toEqual({ id: "m1", digest: first.digest });
      }),
      runs,
    );
  });

  it("do so whether a record is as it was written or other JSON with the same meaning, also if damaged", () => {
    const pieces = fc.constantFrom(
      "",
      " ",
      "}",
      '"',
      ",",
      '"v":1',
      ',"meta":{"v":1}}',
      '},"meta":{"v":1}}',
      ',"meta":{"v":1,"tokens":{"a":2}}}',
      ',"x":{}',
      '{"type":"ai","data":{',
    );
    fc.assert(
      fc.property(
        anyMessage(),
        fc.boolean(),
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.nat(3),
        pieces,
        (message, counted, place, removed, piece) => {
          const { record } = encodeMessage(message, { id: "m1", ...(counted && { tokens: { o200k: 7 } }) });
          const at = Math.round(place * record.length);
          for (const text of [
            record,
            record.slice(0, at) + piece + record.slice(at + removed),
            record + piece,
            record.slice(0, -removed) + piece,
          ]) {
            expect(outcomeOf(text)).toEqual(outcomeOf(` ${text}`));
          }
        },
      ),
      runs,
    );
  });

  it("do not change the message", () => {
    fc.assert(
      fc.property(anyMessage(), (message) => {
        freeze(message);
        encodeMessage(message, { id: "m1" });
        digestMessage(message);
      }),
      runs,
    );
  });

  it("turn a chunk into the message that it is a chunk of", () => {
    fc.assert(
      fc.property(anyChunk(), (chunk) => {
        const { message } = decodeRecord(encodeMessage(chunk, { id: "m1" }).record);
        expectSame(message, { ...publicFields(chunk), id: "m1" });
        expect((message.constructor as typeof BaseMessage).lc_name()).not.toMatch(/Chunk$/);
        expect(message).not.toHaveProperty("tool_call_chunks");
      }),
      runs,
    );
  });
});

describe("the digest", () => {
  it("does not depend on the order of keys", () => {
    fc.assert(
      fc.property(anyMessage(), (message) => {
        const { message: reordered } = decodeRecord(encodeMessage(message, { id: "m1" }).record);
        Object.assign(reordered, {
          additional_kwargs: reverseKeys(reordered.additional_kwargs),
          content: reverseKeys(reordered.content),
        });
        expect(digestMessage(reordered)).toBe(digestMessage(message));
      }),
      runs,
    );
  });

  it("differs for different content", () => {
    fc.assert(
      fc.property(anyMessage(), anyContent(), (message, content) => {
        fc.pre(!isDeepStrictEqual(sorted(message.content), sorted(content)));
        const digest = digestMessage(message);
        expect(digestMessage(Object.assign(message, { content }))).not.toBe(digest);
      }),
      runs,
    );
  });
});

describe("a head", () => {
  it("holds any records", () =>
    forAll({ runs: 40, endOnFailure: true }, fc.array(anyMessage(), { maxLength: 4 }), (messages) => {
      const records = messages.map((message, index) => encodeMessage(message, { id: `m${index}` }).record);
      expect(decodeHead(encodeHead(records))).toEqual(records);
    }));
});

describe("reading what was never written by this package", () => {
  it("returns a message that can be stored, or throws a RecordError, for any text", () => {
    const text = fc.oneof(anyText(), fc.json(), damagedRecord());
    forAll({ runs: 400, endOnFailure: true }, text, (record) => expectReadable(() => decodeRecord(record, 3).message));
  });

  it("does so for any fields under the names of LangChain", () =>
    forAll({ runs: 400, endOnFailure: true }, anyStored(), (stored) => expectReadable(() => reviveMessage(stored))));

  it("returns the records of a head, or throws a RecordError", () => {
    fc.assert(
      fc.property(fc.oneof(anyText(), fc.json()), (head) => {
        expectRecordErrorOnly(() => decodeHead(head));
      }),
      runs,
    );
  });
});

function expectSame(message: BaseMessage, expected: Record<string, unknown>): void {
  if (!isDeepStrictEqual(publicFields(message), expected)) {
    expect(publicFields(message)).toStrictEqual(expected);
    throw new Error("equal to Jest, but not to Node.js");
  }
}

/** JSON without the tags shows the order of keys; what JSON cannot hold looks the same on both sides. */
function keyOrder({ content, additional_kwargs, response_metadata }: BaseMessage): string {
  return JSON.stringify([content, additional_kwargs, response_metadata], (_, value: unknown) =>
    typeof value === "bigint" ? String(value) : value,
  );
}

function freeze(value: unknown): void {
  if (typeof value === "object" && value !== null && !ArrayBuffer.isView(value) && !Object.isFrozen(value)) {
    Object.freeze(value);
    Object.values(value).forEach(freeze);
  }
}

function reverseKeys<T>(value: T): T {
  if (Array.isArray(value)) {
    return value.map(reverseKeys) as T;
  }
  if (typeof value !== "object" || value === null || Object.getPrototypeOf(value) !== Object.prototype) {
    return value;
  }
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, part]) => [key, reverseKeys(part)]),
  ) as T;
}

function sorted(content: unknown): unknown {
  return JSON.parse(JSON.stringify(content ?? null)) as unknown;
}

function damagedRecord(): fc.Arbitrary<string> {
  return fc
    .tuple(anyMessage(), fc.nat(), fc.constantFrom("", '"', "{", "}", "[", "0", "$", "null"))
    .map(([message, at, insert]) => {
      const { record } = encodeMessage(message, { id: "m1" });
      const position = at % record.length;
      return record.slice(0, position) + insert + record.slice(position + 1);
    });
}

function anyStored(): fc.Arbitrary<object> {
  const names = [
    "content",
    "content_blocks",
    "name",
    "id",
    "role",
    "tool_call_id",
    "artifact",
    "status",
    "metadata",
    "tool_calls",
  ];
  const key = fc.oneof(
    { weight: 5, arbitrary: fc.constantFrom(...names, "invalid_tool_calls", "additional_kwargs", "response_metadata") },
    anyKey(),
  );
  const type = fc.constantFrom(
    "human",
    "ai",
    "system",
    "tool",
    "generic",
    "function",
    "chat",
    "developer",
    "AIMessageChunk",
    "remove",
    "constructor",
  );
  const meta = fc.constantFrom({ v: 1 }, { v: 1, tokens: { a: 1 } }, undefined, { v: 0 }, { v: 2 }, null, "1");
  return fc.record(
    { type, data: fc.oneof(fc.dictionary(key, anyJson()), anyJson()), meta },
    { requiredKeys: ["type"] },
  );
}

function expectReadable(read: () => BaseMessage): void {
  const message = expectRecordErrorOnly(read);
  if (message !== undefined) {
    expect(digestMessage(message)).toMatch(/^[\w-]{8}$/);
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  }
}

function expectRecordErrorOnly<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    expect(RecordError.isInstance(error)).toBe(true);
    return undefined;
  }
}

/** What reading a text gives: the record, or the error's words. */
function outcomeOf(text: string): unknown {
  try {
    const { message, ...rest } = decodeRecord(text);
    return { type: message.getType(), fields: publicFields(message), ...rest };
  } catch (error) {
    expect(RecordError.isInstance(error)).toBe(true);
    return (error as Error).message;
  }
}
