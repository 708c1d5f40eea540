import { ConfigurationError } from "../../base/errors.js";
import type { ListPlace } from "../../store/contract/lists.js";

/** Encodes a place in an owner's list as an opaque cursor. */
export function cursorText({ score, member }: ListPlace): string {
  return Buffer.from(`after:${score}:${member}`).toString("base64url");
}

/**
 * Decodes a cursor.
 *
 * @throws ConfigurationError `cursor` for any other text.
 */
export function placeIn(cursor: unknown): ListPlace {
  const text = typeof cursor === "string" && cursor.length <= 4_096 ? Buffer.from(cursor, "base64url").toString() : "";
  const [, digits, member] = /^after:(\d{1,16}):(.+)$/s.exec(text) ?? [];
  const place = member === undefined ? undefined : { score: Number(digits), member };
  if (place === undefined || cursorText(place) !== cursor) {
    throw new ConfigurationError("cursor", 'sessions.list: option "cursor" must be the "next" of an earlier page.');
  }
  return place;
}
