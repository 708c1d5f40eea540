import { isRecord } from "../messages/values.js";
import { shortHash } from "../base/ids.js";

/**
 * Form of a turn's answer, from which a retry's output is rebuilt: `message`, `messages`, `text`, or `conversation`
 * (the input followed by the answer); with `key`, an object with this value under its only key. The answer is the
 * turn's last `count` messages.
 */
export interface TurnOutput {
  /** Form in which the run returned its answer. */
  readonly as: "message" | "messages" | "text" | "conversation";
  /** Number of messages of the answer, 1 or more. */
  readonly count: number;
  /** Key of the answer in the returned object; undefined if the run returned none. */
  readonly key?: string;
}

/** Metadata of a record, not part of its digest. */
export interface RecordMeta {
  /** Time of the write, in milliseconds since 1970; older records have none. */
  readonly at?: number;
  /** Name of the message's turn, see {@link turnNameOf}. */
  readonly turn?: string;
  /** On the last record of a turn: the form of its answer. */
  readonly output?: TurnOutput;
  /** Write only: the owner's mark, last in `meta`; `ownerMarkIn` reads it. */
  readonly owner?: string;
}

/** The name of a turn in Redis: a hash of its id, 14 characters of base64url. */
export function turnNameOf(turnId: string): string {
  return shortHash(`\u0000turn\u0000${turnId}`, 14);
}

/** Metadata of a record; empty if it has none or cannot be read. Parses the record's end only. */
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

/** The turn's name without parsing the rest: called for each record of a view. */
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
