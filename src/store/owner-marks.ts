import * as crypto from "node:crypto";

/** Characters of an owner's mark. */
export const ownerMarkLength = 12;

/**
 * The mark of an owner in records: the first 12 hexadecimal digits of the name's SHA-1, which scripts of Redis compute
 * too. Where only records are left of a session, it tells whose they are. It is no secret.
 */
export function ownerMark(owner: string): string {
  return crypto.createHash("sha1").update(owner).digest("hex").slice(0, ownerMarkLength);
}

/**
 * The mark at the end of a record's first line, where `meta` ends, sealed or not; undefined for a record that was
 * stored in nobody's name. `owner-left.lua` reads the same.
 */
export function ownerMarkIn(record: string): string | undefined {
  const lineEnd = record.indexOf("\n");
  const end = lineEnd < 0 ? record.length : lineEnd;
  return markAtEnd.exec(record.slice(Math.max(0, end - markLength), end))?.[1];
}

const markAtEnd = /"owner":"([0-9a-f]{12})"\}\}$/;
const markLength = '"owner":"0123456789ab"}}'.length;

/** The record in the name of another owner; one without a mark stays as it is. */
export function withOwnerMark(record: string, owner: string): string {
  return record.replace(markAtEnd, `"owner":"${ownerMark(owner)}"}}`);
}
