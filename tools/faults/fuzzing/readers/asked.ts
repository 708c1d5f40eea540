import type { IncomingMessage } from "node:http";
import { encryptionKeysIn } from "../../../../cli/encryption-keys.js";
import { jsonLevels } from "../../../../cli/inspector/model/json-levels.js";
import { markdownOf } from "../../../../cli/inspector/model/markdown.js";
import { indentedJson, cutText } from "../../../../cli/inspector/server/readable-text.js";
import { readItem } from "../../../../cli/inspector/server/log-reader.js";
import { admit } from "../../../../cli/inspector/server/loopback-guard.js";
import { wholeNumber } from "../../../../cli/inspector/server/request-problem.js";
import { showMessage, textOfCall } from "../../../../cli/inspector/server/shown-message.js";
import { textOfPart } from "../../../../cli/inspector/server/shown-parts.js";
import { testCaseOf } from "../../../../cli/inspector/server/test-case.js";
import { reducerOf } from "../../../../cli/reducer-spec.js";
import { structuredAnswer } from "../../../../src/doors/agent/model-call.js";
import { valueIn, fieldsOf } from "../../../../src/conversation/messages/message.js";
import { reviveMessage } from "../../../../src/store/codec/decode-record.js";
import { labelOf, type SessionNames } from "../../../../src/memory/session/identity.js";
import { urlOptions } from "../../../../src/store/redis/connection-options.js";
import { positionIn } from "../../../../src/runs/run-log.js";
import { checkEncryption } from "../../../../src/store/sealed/keys/key-ring.js";
import { placeIn } from "../../../../src/memory/sessions/stored-sessions.js";
import { checkedSearch, textFilter } from "../../../../src/memory/sessions/search-requests.js";
import { approximateCounter } from "../../../../src/conversation/tokens/counters/approximate-counter.js";
import { countOf } from "../../../../src/conversation/tokens/counted-messages.js";
import { imageSize } from "../../../../src/conversation/tokens/formulas/message-cost.js";
import { json, type Reader } from "./reader.js";
import { refusalOf } from "./refusal.js";

/** Readers of what clients ask with, and of what users set: cursors, positions, keys, addresses. */
export const askedReaders: Readonly<Record<string, Reader>> = {
  cursor: (text) => placeIn("sessions.list", text),
  "search-cursor": (text) =>
    [text, Buffer.from(text).toString("base64url")].map((cursor) =>
      refusalOf(() => checkedSearch({ text: "x", cursor })),
    ),
  "search-text": (text) => textFilter(text.split("\n").slice(0, 1))(text),
  "run-position": (text) => positionIn(text),
  "encryption-keys": (text) => {
    const keys = encryptionKeysIn(text);
    return keys === undefined ? undefined : checkEncryption("Server", keys);
  },
  "redis-url": (text) => urlOptions({ url: text, option: "url", owner: "Server" }),
  "session-label": (text) => labelOf("sessions.import", fieldsOf(json(text)) as SessionNames),
  "reducer-spec": (text) => reducerOf(text, { summaryTokens: 10 }),
  "inspector-request": (text) => {
    const request = { method: "GET", url: `/token/${text}`, headers: { host: "localhost:80" } };
    const admitted = admit(request as IncomingMessage, { port: 80, token: "token" });
    return "query" in admitted && ["from", "limit"].map((name) => wholeNumber(admitted.query, name, 0));
  },
};

/** Makers of what people see, or models are told, of texts that others wrote. */
export const shownReaders: Readonly<Record<string, Reader>> = {
  "inspector-message": async (text) => {
    const item = readItem("s", text, 0);
    const shown = await showMessage(item, { position: 0, counter: approximateCounter() });
    const { message } = item;
    return message && [shown, textOfPart(message, 0), textOfCall(message, 0), testCaseOf([message])];
  },
  markdown: (text) => markdownOf(text),
  "json-text": (text) => [indentedJson(text), jsonLevels(indentedJson(text) ?? text), cutText(text, { limit: 5 })],
  tokens: (text) => countOf(approximateCounter(), reviveMessage(json(text))),
  image: (text) => [imageSize(Buffer.from(text, "latin1")), imageSize(Buffer.from(text, "base64"))],
  "structured-answer": (text) => {
    const messages = valueIn(text);
    const answer = (Array.isArray(messages) ? messages : [messages]).map((message) => reviveMessage(message));
    return structuredAnswer(answer, { responseFormat: { parse: (value: unknown) => value } });
  },
};
