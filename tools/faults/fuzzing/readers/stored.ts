import type { BaseMessage } from "@langchain/core/messages";
import { JsonPlusSerializer } from "@langchain/langgraph-checkpoint";
import { positionsIn } from "../../../../src/langgraph/checkpoint/split-value.js";
import { SealedTexts } from "../../../../src/store/sealed/sealed-texts.js";
import { ThreadReader } from "../../../../src/langgraph/checkpoint/thread-reader.js";
import { parseRecord, placeOf, recordHead, writeRecords } from "../../../../src/store/redis/thread-records.js";
import { decodeRecord, metaOf, reviveMessage, turnIn } from "../../../../src/store/codec/decode-record.js";
import { decodeHead, identifyRecord } from "../../../../src/store/codec/stored-record.js";
import { itemValue, parseRecord as parseItem } from "../../../../src/store/redis/item-records.js";
import { detailsFrom, usageFrom } from "../../../../src/store/redis-lists/stored-details.js";
import { reductionsIn, wholeStateFrom } from "../../../../src/store/redis-store/session-data.js";
import { lookedUp, markFrom, turnFrom } from "../../../../src/store/redis-store/append-call.js";
import { ChunkReader } from "../../../../src/runs/chunk-text.js";
import { noticesIn, runEndIn, runMetaIn } from "../../../../src/runs/run-store.js";
import { decodeJson, fromSevenBitText, openRecord } from "../../../../src/store/sealed/record.js";
import { openText, sealedTextParts, parseSealed, SessionKey } from "../../../../src/store/sealed/keys/session-key.js";
import { decodeView } from "../../../../src/memory/session/view.js";
import { emptyView } from "../../../../src/store/contract/session-reads.js";
import { decodeSessionId } from "../../../../src/store/contract/session-ref.js";
import { parseInvocations } from "../../../../src/formats/tool-log/tool-invocation.js";
import { itemOf, json, type Reader } from "./reader.js";

/** Readers of a session in Redis: of its log, its state and its lists. */
export const sessionReaders: Readonly<Record<string, Reader>> = {
  record: (text) => textOf(decodeRecord(text).message),
  "record-parts": (text) => [metaOf(text), turnIn(text), identifyRecord(text)],
  message: (text) => textOf(reviveMessage(json(text))),
  head: (text) => decodeHead(text),
  view: (text) => {
    const [head = "", ...records] = text.split("\n");
    return decodeView({ ...emptyView(), head, records, next: records.length }, lenient);
  },
  "turn-mark": (text) => [
    markFrom(text),
    turnFrom(text.split("\n")),
    lookedUp(emptyView(), [text], { turn: "abcdefghijklmn" }),
  ],
  "session-state": (text) => {
    const lines = text.split("\n");
    const list = lines.length % 2 === 0 ? lines : [...lines, ""];
    const state = wholeStateFrom(["STATE", "epoch", "3", "0", "", list, list]);
    return [state, reductionsIn(text), detailsFrom("s", lines, undefined), usageFrom(text)];
  },
  "key-name": (text) => decodeSessionId(text),
};

/** Readers of encrypted texts in Redis. */
export const sealedReaders: Readonly<Record<string, Reader>> = {
  sealed: (text) => {
    const [record, field] = [parseSealed(text), sealedTextParts(text)];
    return [record && openRecord(key, record), field && openText(key, field, "field", "head"), fromSevenBitText(text)];
  },
  "opened-record": (text) => {
    const opened = `{"type":"human","data":${decodeJson(text)},"id":"a"},"meta":{"v":1}}`;
    return decodeRecord(opened).message.text;
  },
};

/** Readers of runs, threads of LangGraph, long-term memory and tools in Redis. */
export const besideReaders: Readonly<Record<string, Reader>> = {
  checkpoint: (text) => [recordHead(text), parseRecord(text), writeRecords(text), placeOf(text)],
  "item-ranges": (text) => Array.from(positionsIn(text, 3, itemOf(text)), itemOf(text)),
  thread: async (text) => {
    const [record = "", writes = "", ...items] = text.split("\u0001");
    const reader = new ThreadReader("thread", serializer, new SealedTexts(undefined, "thread"));
    const opened = await reader.open({ member: "\u0000checkpoint", record, writes });
    return reader.tuple(opened, await reader.openItems(new Map(items.entries())));
  },
  "run-notices": (text) => noticesIn(text),
  "run-facts": (text) => runMetaIn(text, "s"),
  "run-end": (text) => runEndIn(text, "s"),
  "run-chunks": (text) => {
    const reader = new ChunkReader();
    return text.split("\n").map((batch) => reader.chunks(batch));
  },
  "long-term-item": (text) => {
    const item = parseItem("users\u0000ann\u0000\u0000key", text);
    return itemValue(item.name, item.text);
  },
  "tool-record": (text) => parseInvocations("ToolInvocationHistory", [json(text)]),
};

const key = new SessionKey(new Uint8Array(32), "k1", "s");
const serializer = new JsonPlusSerializer();
const lenient = { sessionId: "s", strict: false, onEvent: undefined };

/** The text by LangChain's own getter, which joins the lists in it, and so runs out of stack where they are deep. */
function textOf(message: BaseMessage): string {
  try {
    return message.text;
  } catch (error) {
    if (error instanceof RangeError) {
      return "";
    }
    throw error;
  }
}
