import { DataError } from "../../cli/failure.js";
import { messagesOfState } from "../../cli/import/langgraph-state.js";
import { messagesOfChatHistory } from "../../cli/import/semantic-kernel.js";
import { MemoryError, RecordError } from "../../src/base/errors.js";
import { positionsIn } from "../../src/checkpoint/item-ranges.js";
import { parseRecord, placeOf, recordHead, writeRecords } from "../../src/checkpoint/thread-records.js";
import { decodeRecord, metaOf, reviveMessage, turnIn } from "../../src/codec/decode-record.js";
import { decodeHead } from "../../src/codec/head.js";
import { identifyRecord } from "../../src/codec/message-ids.js";
import { markFrom } from "../../src/redis-store/turn-marks.js";
import { sealedFieldParts } from "../../src/sealed/keys/field.js";
import { parseSealed } from "../../src/sealed/keys/header.js";
import { fromSevenBitText } from "../../src/sealed/keys/seven-bit-text.js";
import { placeIn } from "../../src/sessions/cursor.js";
import { fieldsOf, parseLine } from "../../src/sessions/lines.js";

/** Readers of bytes that others may have written. Each may refuse them by an error of the package, and by no other. */
export const targets: Readonly<Record<string, (text: string) => unknown>> = {
  record: (text) => decodeRecord(text).message.text,
  "record-parts": (text) => [metaOf(text), turnIn(text), identifyRecord(text)],
  message: (text) => reviveMessage(json(text)).text,
  head: (text) => decodeHead(text),
  "turn-mark": (text) => markFrom(text),
  "session-line": (text) => {
    const line = parseLine(1, text);
    return kinds.map((kind) => refusalOf(() => fieldsOf(kind, line)));
  },
  cursor: (text) => placeIn(text),
  sealed: (text) => [parseSealed(text), sealedFieldParts(text), fromSevenBitText(text)],
  "chat-history": (text) => messagesOfChatHistory(json(text)),
  "graph-state": (text) => messagesOfState(json(text)),
  checkpoint: (text) => [recordHead(text), parseRecord(text), writeRecords(text), placeOf(text)],
  "item-ranges": (text) => Array.from(positionsIn(text, 3, itemOf(text)), itemOf(text)),
};

/** Calls a reader. Throws what is no error of the package; what it refuses by one is well. */
export function read(name: string, text: string): void {
  try {
    targets[name]!(text);
  } catch (error) {
    if (!isRefusal(error)) {
      throw error;
    }
  }
}

/** Kinds of lines in an export. */
const kinds = ["session", "head", "side", "reduction", "discarded turns", "record", "end"] as const;

/** The library refuses by its errors, the command line by its own. */
function isRefusal(error: unknown): boolean {
  return MemoryError.isInstance(error) || error instanceof DataError || error instanceof NoJson;
}

function refusalOf(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    if (isRefusal(error)) {
      return error;
    }
    throw error;
  }
}

class NoJson extends Error {}

/** Parsing is not the reader's part. */
function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new NoJson("no JSON");
  }
}

/** A list of a few items, each with the same text. */
function itemOf(text: string): (position: number) => string {
  return (position) => {
    if (position > 4) {
      throw new RecordError("There is no such item.", { code: "corrupt" });
    }
    return text;
  };
}
