import { fieldsOf, valueIn } from "../../../conversation/messages/values.js";
import type { StoredText } from "../../contract/stored-texts.js";
import { isKeyId } from "./encryption-options.js";

/** Version of the format of sealed records. */
export const sealedVersion = 2;

/** Plain-text header of a sealed record. */
export interface SealedHeader {
  readonly type: string;
  readonly data: { readonly id: string };
  /** The name of the data key that it is sealed with. */
  readonly sealed: string;
  readonly meta: Readonly<Record<string, unknown>> & { readonly v: number; readonly whole?: boolean };
}

/** A sealed record: a header of JSON in one line, and the sealed text behind it. */
export interface SealedRecord {
  readonly header: SealedHeader;
  /** The header as it is stored. */
  readonly line: string;
  readonly text: string;
}

/** The parts of a sealed record; undefined for any other text. */
export function parseSealed(record: string | StoredText): SealedRecord | undefined {
  if (typeof record !== "string") {
    return undefined;
  }
  const line = record.indexOf("\n");
  const end = line < 0 ? record.length : line;
  const first = record.slice(0, end);
  if (!first.includes('},"sealed":"')) {
    return undefined;
  }
  const { type, data, sealed, meta } = fieldsOf(valueIn(first)) as Partial<SealedHeader>;
  const isSealed = typeof type === "string" && isKeyId(sealed) && meta?.v === sealedVersion;
  return isSealed && typeof data?.id === "string"
    ? { header: { type, data: { id: data.id }, sealed, meta }, line: first, text: record.slice(end + 1) }
    : undefined;
}
