import * as crypto from "node:crypto";

/** Characters of an owner's mark. */
export const ownerMarkLength = 12;

/**
 * The mark of an owner in records: the first 12 hexadecimal digits of the name's SHA-1, which Redis scripts compute
 * too. It identifies the owner if only records of a session are left. Not a secret.
 */
export function ownerMark(owner: string): string {
  return crypto.createHash("sha1").update(owner).digest("hex").slice(0, ownerMarkLength);
}

/**
 * The mark at the end of a record's first line, where `meta` ends, sealed or not; undefined for a record without an
 * owner. `owner-left.lua` reads the same.
 */
export function ownerMarkIn(record: string): string | undefined {
  const lineEnd = record.indexOf("\n");
  const end = lineEnd < 0 ? record.length : lineEnd;
  return markAtEnd.exec(record.slice(Math.max(0, end - markLength), end))?.[1];
}

const markAtEnd = /"owner":"([0-9a-f]{12})"\}\}$/;
const markLength = '"owner":"0123456789ab"}}'.length;

/** The record with the mark of another owner; a record without a mark is unchanged. */
export function withOwnerMark(record: string, owner: string): string {
  return record.replace(markAtEnd, `"owner":"${ownerMark(owner)}"}}`);
}

/** True for a record that begins a round. */
export function beginsRound(record: string): boolean {
  return record.startsWith('{"type":"human"');
}
