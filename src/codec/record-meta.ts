import { isRecord } from "../messages/values.js";
import { shortHash } from "../base/ids.js";

/**
 * What a turn's answer was, so that a retry can be given it again: `message`, `messages` or `text`, or `conversation`
 * (what was sent, and the messages behind it); with `key`, an object that holds this under its only key. `count`
 * messages at the end of the turn are the answer.
 */
export interface TurnOutput {
  /** The form in which the run returned its answer. */
  readonly as: "message" | "messages" | "text" | "conversation";
  /** How many messages at the end of the turn are the answer; 1 or more. */
  readonly count: number;
  /** The only key of the object that held the answer; left out where the run returned no object. */
  readonly key?: string;
}

/** What a record says besides its message and token counts, outside the digest. */
export interface RecordMeta {
  /** When the message was stored, in milliseconds since 1970; older records have none. */
  readonly at?: number;
  /** The name of the turn that the message was stored for, see {@link turnNameOf}. */
  readonly turn?: string;
  /** On the last record of a turn: what the turn's answer was. */
  readonly output?: TurnOutput;
  /**
   * Only written: the mark of the owner in whose name the message is stored, last in `meta`; `ownerMarkIn` reads it.
   */
  readonly owner?: string;
}

/** The name of a turn in Redis: a hash of its id, 14 characters of base64url. */
export function turnNameOf(turnId: string): string {
  return shortHash(`\u0000turn\u0000${turnId}`, 14);
}

/** What a record says besides its message; empty if it says nothing, or cannot be read. Looks at its end only. */
export function metaOf(record: string): RecordMeta {
  const start = record.lastIndexOf(',"meta":{');
  if (start < 0 || record.endsWith(plainEnd)) {
    return noMeta;
  }
  try {
    const { meta } = JSON.parse(`{${record.slice(start + 1)}`) as { meta: Record<string, unknown> };
    const [at, turn, output] = [timeIn(meta["at"]), checkedName(meta["turn"]), outputIn(meta["output"])];
    return { ...(at !== undefined && { at }), ...(turn !== undefined && { turn }), ...(output && { output }) };
  } catch {
    return noMeta;
  }
}

/** The turn's name alone, without reading the rest: views ask each of their records. */
export function turnIn(record: string): string | undefined {
  const meta = record.endsWith(plainEnd) ? -1 : record.lastIndexOf(',"meta":{');
  const at = meta < 0 ? -1 : record.indexOf(turnField, meta);
  return at < 0
    ? undefined
    : checkedName(record.slice(at + turnField.length, record.indexOf('"', at + turnField.length)));
}

const turnField = '"turn":"';
const plainEnd = ',"meta":{"v":1}}';
const noMeta: RecordMeta = Object.freeze({});

function timeIn(at: unknown): number | undefined {
  return Number.isSafeInteger(at) && (at as number) >= 0 ? (at as number) : undefined;
}

function checkedName(turn: unknown): string | undefined {
  return typeof turn === "string" && /^[\w-]{14}$/.test(turn) ? turn : undefined;
}

const outputKinds: ReadonlySet<unknown> = new Set(["message", "messages", "text", "conversation"]);

function outputIn(output: unknown): TurnOutput | undefined {
  if (!isRecord(output) || !Number.isSafeInteger(output["count"]) || (output["count"] as number) < 1) {
    return undefined;
  }
  const { as, count, key } = output as unknown as TurnOutput;
  return outputKinds.has(as) ? { as, count, ...(typeof key === "string" && { key }) } : undefined;
}
