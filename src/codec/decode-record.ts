import type { BaseMessage } from "@langchain/core/messages";
import { RecordError } from "../errors.js";
import { recordVersion } from "./encode-message.js";
import { normalizeForeign } from "./foreign-record.js";
import { isRecord } from "./message-fields.js";
import { reviveFields } from "./revive-message.js";
import { tagKey } from "./tagged-values.js";
import { untagValue } from "./untagged-values.js";

/** A stored message: the message, its id where the record holds one, and its token counts by counter id. */
export interface DecodedRecord {
  readonly message: BaseMessage;
  readonly id: string | undefined;
  readonly tokens: Readonly<Record<string, number>>;
}

/**
 * The message of a record, equal to the one that was encoded, as an instance of its plain class.
 *
 * Also reads what others write: LangChain's `{ type, data }` from JavaScript and Python, and the older `{ type, role, text }`.
 *
 * @throws RecordError with the position given: `corrupt`, or `unsupported_version` for a record of a later format.
 */
export function decodeRecord(record: string, position?: number): DecodedRecord {
  let stored: unknown;
  try {
    stored = JSON.parse(record);
  } catch {
    throw corrupt("it is not JSON", position);
  }
  return decodeStored(stored, { tagged: record.includes(`"${tagKey}"`), position });
}

/**
 * The message of an element that was parsed already, for histories of other makers; reads the same forms as {@link decodeRecord}.
 * Takes the object over: it must not be used afterwards.
 *
 * @throws RecordError as {@link decodeRecord} does.
 */
export function reviveMessage(stored: unknown, position?: number): BaseMessage {
  return decodeStored(stored, { tagged: true, position }).message;
}

function decodeStored(stored: unknown, { tagged, position }: { tagged: boolean; position: number | undefined }): DecodedRecord {
  if (!isRecord(stored) || typeof stored["type"] !== "string") {
    throw corrupt("it has no type", position);
  }
  const own = versionOf(stored, position) !== undefined;
  try {
    const { type, data } = own ? ownParts(stored, tagged) : normalizeForeign(stored);
    const id = typeof data["id"] === "string" && data["id"] !== "" ? data["id"] : undefined;
    if (id === undefined) {
      delete data["id"];
    }
    return { message: reviveFields(type, data), id, tokens: own ? tokensOf(stored["meta"]) : noTokens };
  } catch (error) {
    throw corrupt(error instanceof RangeError ? "it is nested too deeply" : (error as Error).message, position);
  }
}

/** The format's version; undefined for a record of another maker, which has none. */
function versionOf(stored: Record<string, unknown>, position: number | undefined): number | undefined {
  const meta = stored["meta"];
  const version = isRecord(meta) ? meta["v"] : undefined;
  if (version === undefined || version === recordVersion) {
    return version;
  }
  if (typeof version !== "number" || !Number.isInteger(version) || version < recordVersion) {
    throw corrupt("its version is not a number that any release wrote", position);
  }
  const place = position === undefined ? "" : ` at position ${position}`;
  throw new RecordError(
    `The record${place} has format version ${version}; this release reads up to ${recordVersion}. Update langchain-redis-memory.`,
    position === undefined ? { code: "unsupported_version" } : { code: "unsupported_version", position },
  );
}

function ownParts(stored: Record<string, unknown>, tagged: boolean): { type: string; data: Record<string, unknown> } {
  const { type, data } = stored as { type: string; data: unknown };
  if (!isRecord(data)) {
    throw new Error("its data is not an object");
  }
  for (const field of tagged ? Object.keys(data) : []) {
    Object.defineProperty(data, field, { value: untagValue(data[field]), enumerable: true, configurable: true, writable: true });
  }
  return { type, data };
}

const noTokens: Readonly<Record<string, number>> = Object.freeze({});

function tokensOf(meta: unknown): Readonly<Record<string, number>> {
  const tokens = isRecord(meta) ? meta["tokens"] : undefined;
  return isRecord(tokens)
    ? (Object.fromEntries(Object.entries(tokens).filter(([, count]) => typeof count === "number" && count >= 0)) as Record<string, number>)
    : noTokens;
}

/** Without a cause: the errors of JSON.parse quote what they read. */
function corrupt(reason: string, position: number | undefined): RecordError {
  const place = position === undefined ? "" : ` at position ${position}`;
  return new RecordError(`The record${place} cannot be read: ${reason}.`, {
    code: "corrupt",
    ...(position === undefined ? {} : { position }),
  });
}
