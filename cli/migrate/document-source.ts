import { open, stat, type FileHandle } from "node:fs/promises";
import type { BaseMessage } from "@langchain/core/messages";
import { reviveMessage } from "../../src/store/codec/decode-record.js";
import { RecordError } from "../../src/base/errors.js";
import type { LegacyMessage } from "../../src/store/codec/read-legacy-messages.js";
import { exactValueIn, isRecord, without } from "../../src/conversation/messages/message.js";
import { shortHash } from "../../src/base/ids.js";
import { UsageError } from "../failure.js";
import { linesOfFile } from "../lines-of-file.js";
import { DocumentIndex, type Documents, type Place } from "./document-index.js";
import type { Skipped, SourceSession } from "./source.js";

/** A message as langchain-redis for Python keeps it in RedisJSON. */
interface Document {
  readonly sessionId: string;
  readonly timestamp: number;
  readonly stored: Record<string, unknown>;
}

const pageSize = 100;

/**
 * Sessions from a file of exported RedisJSON documents, one a line, as langchain-redis for Python writes them:
 * `{ session_id, type, data, timestamp, message_id? }`. The documents of a session may stand anywhere and in any order;
 * their timestamps decide. The file is read twice: first for the places of all documents, which are kept, then session
 * by session.
 *
 * @throws UsageError for a file that cannot be read, and for pipes; DataError for a line that is too long.
 */
export async function* documentSessions(
  path: string,
  { onSkipped, onRead, signal }: DocumentReading,
): AsyncGenerator<SourceSession> {
  const isStream = path === "-" || (await stat(path).catch(() => undefined))?.isFile() === false;
  if (isStream) {
    throw new UsageError("migrate: --file must name a file; standard input and pipes cannot be read twice.");
  }
  const index = new DocumentIndex();
  for await (const { number: line, text, offset, length } of linesOfFile(path)) {
    if (signal.aborted) {
      return;
    }
    onRead(length + 1);
    const document = documentIn(text);
    if (typeof document === "string") {
      await onSkipped({ place: path, index: line, reason: document });
    } else {
      index.add(document.sessionId, document.timestamp, { offset, length, line });
    }
  }
  const file = await open(path);
  try {
    for (const { sessionId, documents } of index.sessions()) {
      yield sessionOf(sessionId, documents, { file, path, onRead });
    }
  } finally {
    await file.close();
  }
}

/** How a file of documents is read. */
interface DocumentReading {
  readonly onSkipped: (skipped: Skipped) => Promise<void>;
  /** Called with each line that holds a document, in each reading, and its bytes. */
  readonly onRead: (bytes: number) => void;
  readonly signal: AbortSignal;
}

interface OpenFile extends Pick<DocumentReading, "onRead"> {
  readonly file: FileHandle;
  readonly path: string;
}

function sessionOf(sessionId: string, documents: Documents, source: OpenFile): SourceSession {
  return {
    sessionId,
    place: `${source.path} (${sessionId})`,
    ttl: undefined,
    remove: undefined,
    pages: async function* (onSkipped) {
      for (let first = 0; first < documents.count; first += pageSize) {
        const page: LegacyMessage[] = [];
        for (let index = first; index < Math.min(first + pageSize, documents.count); index += 1) {
          const message = await messageAt(documents.place(index), sessionId, source);
          if (typeof message === "string") {
            onSkipped({ place: source.path, index: documents.place(index).line, reason: message });
          } else {
            page.push(message);
          }
        }
        yield page;
      }
    },
  };
}

/** The message there, or why it cannot be read. */
async function messageAt(
  { offset, length }: Place,
  sessionId: string,
  { file, onRead }: OpenFile,
): Promise<LegacyMessage | string> {
  onRead(length + 1);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, offset);
  const source = buffer.toString("utf8", 0, bytesRead);
  const document = documentIn(source);
  if (typeof document === "string" || document.sessionId !== sessionId) {
    return "the file changed while it was read";
  }
  const message = messageOf(document);
  return typeof message === "string" ? message : { message, source };
}

/** The document in a line, or why there is none. */
export function documentIn(text: string): Document | string {
  const value = exactValueIn(text);
  if (value === undefined) {
    return "the line is no JSON";
  }
  // JSON.GET with the path $ answers with a list of one document.
  const stored: unknown = Array.isArray(value) && value.length === 1 ? value[0] : value;
  if (!isRecord(stored) || typeof stored["session_id"] !== "string" || stored["session_id"] === "") {
    return 'the line is no document with "session_id"';
  }
  const at = stored["timestamp"];
  const timestamp = typeof at === "object" ? NaN : Number(at);
  return { sessionId: stored["session_id"], timestamp: Number.isFinite(timestamp) ? timestamp : 0, stored };
}

/** The message of a document, or why it cannot be read. */
export function messageOf({ sessionId, timestamp, stored }: Document): BaseMessage | string {
  const { message_id: id } = stored;
  try {
    const message = reviveMessage(structuredClone(without(stored, "session_id", "timestamp", "message_id")));
    if (message.id === undefined) {
      const own = typeof id === "string" && id !== "" ? id : undefined;
      message._updateId(own ?? `legacy:${shortHash(JSON.stringify([sessionId, timestamp, stored]), 22)}`);
    }
    return message;
  } catch (error) {
    if (error instanceof RangeError) {
      return "The record cannot be read: it is nested too deeply.";
    }
    if (!RecordError.isInstance(error)) {
      throw error;
    }
    return error.message;
  }
}
