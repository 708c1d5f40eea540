import * as z from "zod/mini";
import { ConfigurationError } from "../../base/errors.js";
import { valueIn } from "../../conversation/messages/values.js";
import { lazy, nonEmptyText, nonNegativeInteger } from "../../base/options.js";
import type { ListPlace } from "../../store/contract/lists.js";

/** The place where a list goes on, or a search, behind a session. */
export interface SearchPlace {
  /** The `before` of a page of an owner's list. @default the first page, or all owners */
  readonly page?: ListPlace | undefined;
  /** The session, of that page or of all owners; left out in front of the first one. */
  readonly after?: string;
}

const schema = lazy(() =>
  z.strictObject({
    page: z.optional(z.strictObject({ score: nonNegativeInteger(), member: nonEmptyText() })),
    after: z.optional(nonEmptyText()),
  }),
);

/** Encodes a place as an opaque cursor. */
export function cursorText(place: SearchPlace): string {
  return Buffer.from(JSON.stringify(place)).toString("base64url");
}

const longestCursor = 4_096;

/**
 * Decodes a cursor of a page of `user`.
 *
 * @throws ConfigurationError `cursor` for any other text, and where the place is to name a page and names none.
 */
export function placeIn(user: string, cursor: unknown, { namesPage = false } = {}): SearchPlace {
  const isCursor = typeof cursor === "string" && cursor.length <= longestCursor;
  const { data } = schema().safeParse(valueIn(isCursor ? Buffer.from(cursor, "base64url").toString() : ""));
  if (data === undefined || (namesPage && data.page === undefined)) {
    throw new ConfigurationError("cursor", `${user}: option "cursor" must be the "next" of an earlier page.`);
  }
  return data as SearchPlace;
}
