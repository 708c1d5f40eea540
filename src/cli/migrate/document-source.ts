import type { BaseMessage } from "@langchain/core/messages";
import { reviveMessage } from "../../codec/decode-record.js";
import { RecordError } from "../../errors.js";
import { isRecord } from "../../messages/values.js";
import { shortHash } from "../../short-hash.js";
import { linesOfFile } from "../lines-of-file.js";
import type { Skipped, SourceSession } from "./source.js";

/** A message as langchain-redis for Python keeps it in RedisJSON. */
interface Document {
  readonly sessionId: string;
  readonly timestamp: number;
  readonly line: number;
  readonly stored: Record<string, unknown>;
}

const pageSize = 100;

/**
 * Sessions from a file of exported RedisJSON documents, one a line, as langchain-redis for Python writes them:
 * `{ session_id, type, data, timestamp, message_id? }`. The documents of a session may stand in any order; their
 * timestamps decide.
 */
export async function documentSessions(path: string, onSkipped: (skipped: Skipped) => void): Promise<SourceSession[]> {
  const sessions = new Map<string, Document[]>();
  for await (const { number, text } of linesOfFile(path)) {
    const document = documentIn(text, number);
    if (typeof document === "string") {
      onSkipped({ place: path, index: number, reason: document });
      continue;
    }
    const others = sessions.get(document.sessionId);
    if (others === undefined) {
      sessions.set(document.sessionId, [document]);
    } else {
      others.push(document);
    }
  }
  return [...sessions].map(([sessionId, documents]) => sessionOf(sessionId, documents, path));
}

function sessionOf(sessionId: string, documents: Document[], path: string): SourceSession {
  documents.sort((a, b) => a.timestamp - b.timestamp || a.line - b.line);
  return {
    ...{ sessionId, place: `${path} (${sessionId})`, ttl: undefined, remove: undefined },
    pages: async function* (onSkipped) {
      for (let first = 0; first < documents.length; first += pageSize) {
        yield documents
          .slice(first, first + pageSize)
          .flatMap((document) => messageOf(document, path, onSkipped) ?? []);
      }
    },
  };
}

function documentIn(text: string, line: number): Document | string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return "the line is no JSON";
  }
  // JSON.GET with the path $ answers with a list of one document.
  const stored: unknown = Array.isArray(value) && value.length === 1 ? value[0] : value;
  if (!isRecord(stored) || typeof stored["session_id"] !== "string" || stored["session_id"] === "") {
    return 'the line is no document with "session_id"';
  }
  const timestamp = Number(stored["timestamp"]);
  return { sessionId: stored["session_id"], timestamp: Number.isFinite(timestamp) ? timestamp : 0, line, stored };
}

function messageOf(
  { sessionId, line, timestamp, stored }: Document,
  path: string,
  onSkipped: (skipped: Skipped) => void,
): BaseMessage | undefined {
  const { type, data, message_id: id } = stored;
  try {
    const message = reviveMessage(structuredClone({ type, data }));
    if (message.id === undefined) {
      const own = typeof id === "string" && id !== "" ? id : undefined;
      message._updateId(own ?? `legacy:${shortHash(JSON.stringify([sessionId, timestamp, stored]), 22)}`);
    }
    return message;
  } catch (error) {
    if (!RecordError.isInstance(error)) {
      throw error;
    }
    onSkipped({ place: path, index: line, reason: error.message });
    return undefined;
  }
}
