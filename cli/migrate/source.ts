import type { BaseMessage } from "@langchain/core/messages";
import type { LegacyMessage } from "../../src/store/codec/read-legacy-messages.js";
import { encodeContent } from "../../src/store/codec/encode-message.js";
import { type Fields, fieldsOf, without } from "../../src/conversation/messages/message.js";

/** A session that is to be copied. */
export interface SourceSession {
  /** The id that the copy gets. */
  readonly sessionId: string;
  /** Its origin: a key, or a file. */
  readonly place: string;
  /** Seconds that it still lives; undefined if it does not expire. */
  readonly ttl: number | undefined;
  /** Its messages with their sources, oldest first, in pages; `onSkipped` is called with what cannot be read. */
  pages(onSkipped: (skipped: Skipped) => void): AsyncIterable<readonly LegacyMessage[]>;
  /** Removes it if it holds this many messages, and none was added meanwhile; undefined where that cannot be done. */
  readonly remove: ((messages: number) => Promise<boolean>) | undefined;
}

/** An element that cannot be read. */
export interface Skipped {
  readonly place: string;
  /** Counted from the oldest, which is 0. */
  readonly index: number;
  readonly reason: string;
}

/**
 * True if a stored message holds every text and number of the JSON that it was read from. Works on the JSON itself, so
 * that it sees what reading left out or rounded.
 */
export function holdsAllOf(source: string, stored: BaseMessage): boolean {
  const held = new Set(valuesIn(withDigits(`{${encodeContent(stored).data}}`)));
  return valuesIn(partsOf(withDigits(source))).every((value) => held.has(value) || held.has(shortest(value)));
}

/** The value of a JSON text, each number as the text of its digits. */
function withDigits(json: string): unknown {
  const tokens = /"(?:[^"\\]+|\\.)*"|-?\d[\d.eE+-]*/g;
  return JSON.parse(json.replace(tokens, (token) => (token.startsWith('"') ? token : `"${token}"`)));
}

/** The parts of a record that a message repeats: not its type and role, which it tells in another form, nor chunks. */
function partsOf(record: unknown): Fields {
  const whole = fieldsOf(Array.isArray(record) && record.length === 1 ? record[0] : record);
  const fields = fieldsOf(
    whole["data"] ?? whole["kwargs"] ?? without(whole, "session_id", "timestamp", "message_id", "lc"),
  );
  const isSaid = (fields["content"] ?? undefined) !== undefined;
  return without(fields, "type", "role", "id", "tool_call_chunks", ...(isSaid ? ["content_blocks"] : []));
}

/** All texts that a value holds. */
function valuesIn(value: unknown): string[] {
  const values: string[] = [];
  const open = [value];
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next === "object" && next !== null) {
      open.push(...Object.values(next));
    } else if (typeof next === "string" && next !== "") {
      values.push(next);
    }
  }
  return values;
}

/** A number as JavaScript writes it, such as 1 for 1.0; other texts, and integers that would be rounded, unchanged. */
function shortest(text: string): string {
  return /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(text) && !/^-?\d{16,}$/.test(text) ? String(Number(text)) : text;
}
