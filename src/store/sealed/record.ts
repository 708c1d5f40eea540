import { fieldsOf, valueIn } from "../../conversation/messages/values.js";
import type { StoredText } from "../contract/stored-texts.js";
import { sealedVersion, type SealedRecord } from "./keys/header.js";
import type { SessionKey } from "./keys/session-key.js";
import { fromSevenBitText, toSevenBitText } from "./keys/seven-bit-text.js";
import { codeJson, decodeJson } from "./coded-json.js";

const dataStart = ',"data":';
const metaStart = ',"meta":{"v":1';
const beginning = /^\{"type":"([\w-]{1,40})"/;

/**
 * Seals a record: a line `{"type":…,"data":{"id":…},"sealed":"<key name>","meta":{"v":2,…}}`, and behind it the sealed
 * text, seven bits in each character. It opens only behind that same line.
 *
 * Not encrypted: the type, by which rounds are found, the id, and `meta` with the turn's name (a hash), token counts,
 * time, and form of the answer. Encrypted: the rest of `data`, compacted by {@link codeJson}; of a record that another
 * package wrote, all of its text, unchanged.
 */
export function sealRecord(key: SessionKey, record: string, id: string): StoredText {
  const type = beginning.exec(record)?.[1] ?? "";
  const start = `{"type":"${type}"`.length;
  const end = record.lastIndexOf(metaStart);
  const rest = end < start ? "" : record.slice(end + metaStart.length, -1);
  const idEnd = endWith(id);
  const isOwn = record.startsWith(dataStart, start) && isMeta(rest) && record.endsWith(idEnd, end);
  const data = isOwn ? codeJson(record.slice(start + dataStart.length, end - idEnd.length)) : undefined;
  const meta = data === undefined ? wholeMeta : `{"v":${sealedVersion}${rest}`;
  const line = `{"type":"${type}","data":{"id":${JSON.stringify(id)}},"sealed":"${key.id}","meta":${meta}}`;
  const sealed = toSevenBitText(key.seal(data ?? record, { format: "record 3", type: "", name: line }));
  return `${line}\n${sealed}` as unknown as StoredText;
}

/** How the data of a record ends: with the id, which is kept once. */
function endWith(id: string): string {
  return `,"id":${JSON.stringify(id)}}`;
}

/** True for what can follow the version in `meta` and reads the same when it is written again. */
function isMeta(rest: string): boolean {
  if (rest === "}") {
    return true;
  }
  const text = `{"v":1${rest}`;
  const meta = fieldsOf(valueIn(text));
  return meta["v"] === 1 && !("whole" in meta) && JSON.stringify(meta) === text;
}

const wholeMeta = `{"v":${sealedVersion},"whole":true}`;

/** The record that was sealed, letter for letter; undefined if the key does not open it. */
export function openRecord(key: SessionKey, { header, line, text }: SealedRecord): string | undefined {
  const { type, data, meta } = header;
  const bytes = fromSevenBitText(text);
  const plain = bytes && key.open(bytes, { format: "record 3", type: "", name: line });
  if (plain === undefined || meta.whole === true) {
    return plain;
  }
  const ownMeta = JSON.stringify({ ...meta, v: 1 });
  return `{"type":"${type}","data":${decodeJson(plain)}${endWith(data.id)},"meta":${ownMeta}}`;
}
