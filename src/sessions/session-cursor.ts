import { ConfigurationError } from "../base/errors.js";

/** A place in an owner's list as a text to pass on. */
export function cursorText(place: number): string {
  return Buffer.from(`after:${place}`).toString("base64url");
}

/**
 * The place that a cursor stands for.
 *
 * @throws ConfigurationError `cursor` for a text that no list has returned.
 */
export function placeIn(cursor: unknown): number {
  const text = typeof cursor === "string" && cursor.length <= 64 ? Buffer.from(cursor, "base64url").toString() : "";
  const [, digits] = /^after:(\d{1,16})$/.exec(text) ?? [];
  if (digits === undefined || cursorText(Number(digits)) !== cursor) {
    throw new ConfigurationError("cursor", 'sessions.list: option "cursor" must be the "next" of an earlier page.');
  }
  return Number(digits);
}
