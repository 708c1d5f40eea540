import { decodeHead, encodeHead } from "../../src/store/codec/head.js";
import { decodeRecord } from "../../src/store/codec/decode-record.js";
import { encodeMessage } from "../../src/store/codec/encode-message.js";
import { RecordError } from "../../src/base/errors.js";
import { headIds } from "../../src/memory/session/screen-pages.js";
import { ai, human } from "../support/messages.js";

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
