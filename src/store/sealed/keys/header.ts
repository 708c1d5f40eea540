import type { StoredText } from "../../contract/stored-texts.js";

/** Version of the format of sealed records. */
export const sealedVersion = 2;

/** A sealed record: a line of JSON that is not encrypted, and the sealed text behind it. */
export interface SealedRecord {
  /** The beginning of the line, up to the type. */
  readonly type: string;
  /** The id, as JSON. */
  readonly id: string;
  /** The name of the data key that it is sealed with. */
  readonly keyName: string;
  /** The text behind the version in `meta`. */
  readonly meta: string;
  /** The line as it is stored. */
  readonly line: string;
  readonly text: string;
}

const sealedLine =
  /^(\{"type":"[\w-]*"),"data":\{"id":("(?:[^"\\]|\\.)*")\},"sealed":"([\w.:/@-]{1,64})","meta":\{"v":2([,}].*)\}$/s;

/** The parts of a sealed record; undefined for any other text. */
export function parseSealed(record: string | StoredText): SealedRecord | undefined {
  const stored = record as string;
  const end = stored.indexOf("\n");
  const line = end < 0 ? stored : stored.slice(0, end);
  const [, type, id, keyName, meta] = sealedLine.exec(line) ?? [];
  return type === undefined
    ? undefined
    : { type, id: id!, keyName: keyName!, meta: meta!, line, text: end < 0 ? "" : stored.slice(end + 1) };
}
