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
  const meta = end < start ? "" : record.slice(end + metaStart.length, -1);
  const idText = JSON.stringify(id);
  const dataEnd = end - idEnd(idText).length;
  const isOwn = record.startsWith(dataStart, start) && isMeta(meta) && record.startsWith(idEnd(idText), dataEnd);
  const data = isOwn ? codeJson(record.slice(start + dataStart.length, dataEnd)) : undefined;
  const plainMeta = data === undefined ? wholeMeta : meta;
  const version = `{"v":${sealedVersion}`;
  const line = `{"type":"${type}","data":{"id":${idText}},"sealed":"${key.id}","meta":${version}${plainMeta}}`;
  const sealed = toSevenBitText(key.seal(data ?? record, Buffer.from(line)));
  return `${line}\n${sealed}` as unknown as StoredText;
}

/** How the data of a record ends: with the id, which is kept once. */
function idEnd(id: string): string {
  return `,"id":${id}}`;
}

/** The text behind the version in `meta`, of records that this package wrote. */
const usualMeta = (() => {
  const [word, name] = [String.raw`(?:\d+|"[\w-]*")`, String.raw`"[\w .:/@-]*"`];
  const fields = `${name}:${word}(?:,${name}:${word})*`;
  return new RegExp(`^(?:,"(?:at|tokens|turn|output|owner)":(?:${word}|{${fields}}))*}$`);
})();

/** True for what can follow the version in `meta`; false for what is more than that. */
function isMeta(meta: string): boolean {
  if (usualMeta.test(meta)) {
    return true;
  }
  return meta !== wholeMeta && /^[,}].*$/.test(meta) && fieldsOf(valueIn(`{"v":1${meta}`))["v"] === 1;
}

const wholeMeta = ',"whole":true}';

/** The record that was sealed, letter for letter; undefined if the key does not open it. */
export function openRecord(key: SessionKey, { type, id, meta, line, text }: SealedRecord): string | undefined {
  const bytes = fromSevenBitText(text);
  const plain = bytes && key.open(bytes, Buffer.from(line));
  return plain === undefined || meta === wholeMeta
    ? plain
    : `${type},"data":${decodeJson(plain)}${idEnd(id)}${metaStart}${meta}}`;
}
