import { ConfigurationError } from "../base/errors.js";

/** Encodes a place in an owner's list as an opaque cursor. */
export function cursorText(place: number): string {
  return Buffer.from(`after:${place}`).toString("base64url");
}

/**
 * Decodes a cursor.
 *
 * @throws ConfigurationError `cursor` for any other text.
 */
export function placeIn(cursor: unknown): number {
  const text = typeof cursor === "string" && cursor.length <= 64 ? Buffer.from(cursor, "base64url").toString() : "";
  const [, digits] = /^after:(\d{1,16})$/.exec(text) ?? [];
  if (digits === undefined || cursorText(Number(digits)) !== cursor) {
    throw new ConfigurationError("cursor", 'sessions.list: option "cursor" must be the "next" of an earlier page.');
  }
  return Number(digits);
}
