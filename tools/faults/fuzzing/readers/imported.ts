import { conversationOf, type ChatFormat } from "../../../../cli/import/chat-files.js";
import { documentIn, messageOf } from "../../../../cli/migrate/document-source.js";
import { readLegacyMessages } from "../../../../src/store/codec/read-legacy-messages.js";
import { InMemorySessionStore } from "../../../../src/store/in-memory/in-memory-session-store.js";
import { MessageHistory } from "../../../../src/formats/openai/message-history.js";
import { exportSession } from "../../../../src/memory/sessions/export-session.js";
import { importSessions } from "../../../../src/memory/sessions/import-sessions.js";
import { fieldsOf, parseLine } from "../../../../src/memory/sessions/lines.js";
import { repairConversation, validateConversation } from "../../../../src/conversation/structure/validate.js";
import { ToolInvocationHistory } from "../../../../src/formats/tool-log/tool-invocation-history.js";
import { json, type Reader } from "./reader.js";
import { refusalOf } from "./refusal.js";

/** Files that a user imports, and texts of other packages' making. */
export const importedReaders: Readonly<Record<string, Reader>> = {
  "session-line": (text) => {
    const line = parseLine(1, text);
    return kinds.map((kind) => refusalOf(() => fieldsOf(kind, line)));
  },
  "session-export": async (text) => {
    const store = new InMemorySessionStore();
    const imported = importSessions(store, text.split("\n"), undefined);
    for await (const { sessionId, outcome } of imported) {
      for await (const line of outcome === "imported" ? exportSession(store, { id: sessionId }) : []) {
        parseLine(1, line);
      }
    }
  },
  "chat-history": (text) => conversationOf(json(text), "semantic-kernel", place),
  "graph-state": (text) => conversationOf(json(text), "langgraph", place),
  "chat-file": (text) => {
    const value = json(text);
    return formats.map((format) => conversationOf(value, format, place));
  },
  "chat-structure": (text) => {
    const { messages } = conversationOf(json(text), "langgraph", place);
    return profiles.map((profile) => {
      return [validateConversation(messages, { profile }), repairConversation(messages, { profile })];
    });
  },
  "openai-history": (text) => {
    const history = MessageHistory.fromJSON(text);
    return MessageHistory.fromPrompt(history.toPrompt()).toMessages();
  },
  "xml-prompt": (text) => MessageHistory.fromPrompt(text).toMessages(),
  "tool-history": (text) => ToolInvocationHistory.fromJSON(text).toJSON(),
  "legacy-list": (text) => {
    const lrange = (_: string, start: number) => Promise.resolve(start === -100 ? text.split("\n") : []);
    return readLegacyMessages({ client: { lrange }, key: "k" });
  },
  "json-document": (text) => {
    const document = documentIn(text);
    return typeof document === "string" ? document : messageOf(document);
  },
};

/** Place of a conversation in its file. */
const place = { line: 1, sessionId: "s", end: 1 };
/** Kinds of lines in an export. */
const kinds = ["session", "head", "side", "reduction", "record", "end"] as const;
const profiles = ["langchain", "openai", "anthropic", "gemini", "bedrock"] as const;
const formats: readonly ChatFormat[] = ["openai", "message-history", "semantic-kernel", "langgraph"];
