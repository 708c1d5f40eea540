import { fieldsOf, valueIn } from "../../conversation/messages/message.js";
import type { StoredText } from "../contract/stored-texts.js";
import { sealedVersion, type SealedRecord, type SessionKey } from "./keys/session-key.js";

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

/**
 * Dictionary: each frequent piece of a message's JSON (escapes, keys of LangChain and of providers) is written as one
 * control character that JSON cannot contain. Part of the stored format: entries may not change.
 *
 * No entry is user text, so the length of a sealed message depends only on the lengths of its texts. General
 * compression would reveal by the length whether texts repeat.
 */
const codedTexts = [
  String.raw`\\`,
  String.raw`\"`,
  String.raw`\n`,
  '{"content":"',
  '{"content":[{',
  '"type":"text","text":"',
  ',"tool_calls":[{',
  '"type":"tool_call"',
  '"id":"',
  '"name":"',
  '"args":{',
  ',"tool_call_id":"',
  ',"status":"success"',
  ',"additional_kwargs":{',
  ',"response_metadata":{',
  ',"usage_metadata":{',
  '"input_tokens":',
  '"output_tokens":',
  ',"total_tokens":',
  '"input_token_details":{',
  '"output_token_details":{',
  '"cache_read":',
  '"reasoning":',
  '"model_name":"',
  '"model_provider":"',
  '"finish_reason":"',
  '"tokenUsage":{"promptTokens":',
  ',"completionTokens":',
  ',"totalTokens":',
];

/** The control characters but tab, line feed and carriage return, which may stand between the values of JSON. */
const codes = Array.from({ length: 0x20 }, (_, code) => String.fromCharCode(code)).filter(
  (code) => !"\t\n\r".includes(code),
);
const codeOf = new Map(codedTexts.map((text, index) => [text, codes[index]!]));
const textOf = new Map(codedTexts.map((text, index) => [codes[index]!, text]));
const anyText = new RegExp(codedTexts.map((text) => text.replace(/[{[\\]/g, "\\$&")).join("|"), "g");
const anyCode = new RegExp(`[${codes.join("")}]`, "g");

/** The JSON of a message with codes in place of its usual parts; undefined for text that holds codes already. */
function codeJson(json: string): string | undefined {
  return json.search(anyCode) < 0 ? json.replace(anyText, (text) => codeOf.get(text)!) : undefined;
}

/** Inverse of {@link codeJson}. Returns JSON without codes unchanged. */
export function decodeJson(coded: string): string {
  return coded.replace(anyCode, (code) => textOf.get(code)!);
}

/*
 * Blocks of 28 bytes, seven words, become 32 characters, eight words: the lower seven bits of each byte, and then their
 * highest bits, those of seven bytes in each of four characters. Working on words takes a third of the time that
 * working on bytes takes.
 */
const blockBytes = 28;
const blockCharacters = 32;
const blocksAtOnce = 256;
const partBytes = blocksAtOnce * blockBytes;
const partCharacters = blocksAtOnce * blockCharacters;
const low = 0x7f7f7f7f;
const high = 0x80808080;

/** Shared buffer for the blocks; safe, because nothing here is asynchronous. */
const wordsOfBytes = new Uint32Array(blocksAtOnce * 7);
const wordsOfText = new Uint32Array(blocksAtOnce * 8);
const bytesOfWords = Buffer.from(wordsOfBytes.buffer);
const textOfWords = Buffer.from(wordsOfText.buffer);

/**
 * Bytes as text of the characters U+0000 to U+007F, seven bits each: a seventh longer than the bytes, where base64 is a
 * third longer. In UTF-8 every character is one byte.
 */
export function toSevenBitText(bytes: Uint8Array): string {
  let text = "";
  for (let from = 0; from < bytes.length; from += partBytes) {
    const part = bytes.subarray(from, from + partBytes);
    const blocks = Math.ceil(part.length / blockBytes);
    bytesOfWords.set(part);
    bytesOfWords.fill(0, part.length, blocks * blockBytes);
    fillText(blocks);
    const rest = part.length % blockBytes;
    const begin = (blocks - 1) * blockCharacters;
    // The last block is truncated to its bytes.
    const end = rest === 0 ? begin + blockCharacters : begin + rest + Math.min(rest, 4);
    textOfWords.copyWithin(begin + (rest === 0 ? blockBytes : rest), begin + blockBytes, begin + blockCharacters);
    text += textOfWords.toString("latin1", 0, end);
  }
  return text;
}

/** The bytes that {@link toSevenBitText} wrote; undefined for any text that it does not write. */
export function fromSevenBitText(text: string): Buffer | undefined {
  // In UTF-8 any other character is longer.
  if (Buffer.byteLength(text) !== text.length) {
    return undefined;
  }
  const last = text.length % blockCharacters;
  const rest = last > 8 ? last - 4 : last / 2;
  if (!Number.isInteger(rest)) {
    return undefined;
  }
  const bytes = Buffer.allocUnsafe(Math.floor(text.length / blockCharacters) * blockBytes + rest);
  for (let [from, at] = [0, 0]; from < text.length; from += partCharacters, at += partBytes) {
    const length = textOfWords.write(text.slice(from, from + partCharacters), "latin1");
    const blocks = Math.ceil(length / blockCharacters);
    if (length < blocks * blockCharacters) {
      const begin = (blocks - 1) * blockCharacters;
      textOfWords.fill(0, length, blocks * blockCharacters);
      textOfWords.copyWithin(begin + blockBytes, begin + rest, begin + rest + 4);
      textOfWords.fill(0, begin + rest, begin + blockBytes);
    }
    fillBytes(blocks);
    const count = Math.min(partBytes, bytes.length - at);
    if (!isZero(count, blocks * blockBytes)) {
      return undefined;
    }
    bytesOfWords.copy(bytes, at, 0, count);
  }
  return bytes;
}

function fillText(blocks: number): void {
  for (let [from, to] = [0, 0]; to < blocks * 8; from += 7, to += 8) {
    let highest = 0;
    for (let index = 0; index < 7; index += 1) {
      const word = wordsOfBytes[from + index]!;
      wordsOfText[to + index] = word & low;
      highest |= (word & high) >>> (index + 1);
    }
    wordsOfText[to + 7] = highest;
  }
}

function fillBytes(blocks: number): void {
  for (let [from, to] = [0, 0]; from < blocks * 8; from += 8, to += 7) {
    const highest = wordsOfText[from + 7]!;
    for (let index = 0; index < 7; index += 1) {
      wordsOfBytes[to + index] = wordsOfText[from + index]! | ((highest << (index + 1)) & high);
    }
  }
}

function isZero(from: number, to: number): boolean {
  for (let index = from; index < to; index += 1) {
    if (bytesOfWords[index] !== 0) {
      return false;
    }
  }
  return true;
}
