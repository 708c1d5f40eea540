import type { SessionKey } from "../../encryption/session-key.js";

/** Version of the format of sealed records. */
const sealedVersion = 2;
const dataStart = ',"data":';
const metaStart = ',"meta":{"v":1';
const beginning = /^\{"type":"([\w-]{1,40})"/;

/** A sealed record as it is stored. */
interface StoredSeal {
  readonly type: string;
  readonly data: { readonly id: string };
  readonly sealed: string;
  readonly meta: Readonly<Record<string, unknown>> & { readonly v: number; readonly whole?: boolean };
}

/** A sealed record, and the key that it names. */
export interface SealedRecord {
  readonly keyId: string;
  readonly stored: StoredSeal;
}

/**
 * Seals a record: `{"type":…,"data":{"id":…},"sealed":"<key id>.<base64url>","meta":{"v":2,…}}`.
 *
 * Plain stay the type, with which rounds are found, the id, and what `meta` says: the turn's name (a hash), token
 * counts, the time, and the kind of the output. All of `data` is sealed; of a record of another maker, everything.
 */
export function sealRecord(key: SessionKey, record: string, id: string): string {
  const type = beginning.exec(record)?.[1] ?? "";
  const start = `{"type":"${type}"`.length;
  const end = record.lastIndexOf(metaStart);
  const rest = end < start ? "" : record.slice(end + metaStart.length, -1);
  const idEnd = endWith(id);
  const isOwn = record.startsWith(dataStart, start) && isMeta(rest) && record.endsWith(idEnd, end);
  const data = isOwn ? record.slice(start + dataStart.length, end - idEnd.length) : record;
  const meta = isOwn ? `{"v":${sealedVersion}${rest}` : wholeMeta;
  const text = key.seal(data, { format: "record 2", type, name: id });
  return `{"type":"${type}","data":{"id":${JSON.stringify(id)}},"sealed":"${key.id}.${text}","meta":${meta}}`;
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
  try {
    const meta = JSON.parse(text) as Record<string, unknown>;
    return meta["v"] === 1 && !("whole" in meta) && JSON.stringify(meta) === text;
  } catch {
    return false;
  }
}

const wholeMeta = `{"v":${sealedVersion},"whole":true}`;

/** The key and the parts of a sealed record; undefined for any other text. */
export function parseSealed(record: string): SealedRecord | undefined {
  if (typeof record !== "string" || !record.includes('},"sealed":"')) {
    return undefined;
  }
  try {
    const stored = JSON.parse(record) as Partial<StoredSeal>;
    const { type, data, sealed, meta } = stored;
    const isSealed = typeof type === "string" && typeof sealed === "string" && meta?.v === sealedVersion;
    return isSealed && typeof data?.id === "string"
      ? { keyId: sealed.slice(0, Math.max(0, sealed.lastIndexOf("."))), stored: stored as StoredSeal }
      : undefined;
  } catch {
    return undefined;
  }
}

/** The record that was sealed, letter for letter; undefined if the key does not open it. */
export function openRecord(key: SessionKey, { stored }: SealedRecord): string | undefined {
  const { type, data, sealed, meta } = stored;
  const text = sealed.slice(sealed.lastIndexOf(".") + 1);
  const plain = key.open(text, { format: "record 2", type, name: data.id });
  if (plain === undefined || meta.whole === true) {
    return plain;
  }
  return `{"type":"${type}","data":${plain}${endWith(data.id)},"meta":${JSON.stringify({ ...meta, v: 1 })}}`;
}
