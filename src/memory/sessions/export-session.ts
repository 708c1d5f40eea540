import { decodeHead } from "../../codec/head.js";
import { unknownKey } from "../../encryption/key-refusals.js";
import { refuseSealedFields } from "../../encryption/sealed-field.js";
import { parseSealed } from "../../encryption/sealed-header.js";
import { hasCapability, type StoreWith } from "../../store/capabilities.js";
import type { SessionAccess } from "../../store/session-index.js";
import type { SessionStore } from "../../store/session-store.js";
import { namesIn, refuseLocked } from "./session-labels.js";

const pageLength = 500;

/**
 * All that is stored of a session as lines of JSON: the session itself, its head, records, side data and reductions.
 * Nothing for a session that does not exist. Reads page by page.
 */
export async function* exportSession(
  store: StoreWith<"index">,
  sessionId: string,
  access: SessionAccess,
): AsyncGenerator<string> {
  const details = await store.index.describe(sessionId, access);
  if (details === undefined) {
    return;
  }
  const { label, labelVersion: _, ...rest } = details;
  refuseLocked(sessionId, label);
  yield JSON.stringify({ type: "session", ...rest, ...namesIn(label) });
  const { head } = await store.readView(sessionId, access);
  refuseSealedFields(sessionId, [head]);
  for (const record of head === "" ? [] : recordsIn(head)) {
    yield JSON.stringify({ type: "head", sessionId, record: parsed(record) });
  }
  let from: number | undefined = 0;
  while (from !== undefined) {
    const page: { records: readonly string[]; from: number } = await store.readLog(sessionId, {
      ...access,
      from,
      limit: pageLength,
    });
    for (const [index, record] of page.records.entries()) {
      yield JSON.stringify({
        type: "record",
        sessionId,
        position: page.from + index,
        record: opened(sessionId, record),
      });
    }
    from = page.records.length < pageLength ? undefined : page.from + page.records.length;
  }
  yield* sideLines(store, sessionId, access);
  const reductions = hasCapability(store, "pages") ? await store.pages.readReductions(sessionId, access) : [];
  for (const reduction of reductions) {
    yield JSON.stringify({ type: "reduction", sessionId, ...reduction });
  }
}

async function* sideLines(store: SessionStore, sessionId: string, access: SessionAccess): AsyncGenerator<string> {
  if (!hasCapability(store, "sideData")) {
    return;
  }
  const side = await store.readSide(sessionId, "", access);
  refuseSealedFields(sessionId, Object.values(side));
  for (const [name, value] of Object.entries(side)) {
    yield JSON.stringify({ type: "side", sessionId, name, value: parsed(value) });
  }
}

function recordsIn(head: string): readonly string[] {
  try {
    return decodeHead(head);
  } catch {
    return [head];
  }
}

/** The record, which only a store without its key returns sealed. */
function opened(sessionId: string, text: string): unknown {
  const sealed = parseSealed(text);
  if (sealed !== undefined) {
    throw unknownKey(sessionId, sealed.header.sealed);
  }
  return parsed(text);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
