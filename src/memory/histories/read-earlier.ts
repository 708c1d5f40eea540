import type { BaseMessage } from "@langchain/core/messages";
import { tool, type StructuredToolInterface } from "@langchain/core/tools";
import * as z from "zod/mini";
import { RecordError } from "../../base/errors.js";
import { graphemeBoundary } from "../../base/graphemes.js";
import { jsonText } from "../../base/json-text.js";
import { lazy, objectOf, objectWith, parseOptions, positiveInteger } from "../../base/options.js";
import { decodeRecord } from "../../store/codec/decode-record.js";
import { historySession, type RedisChatMessageHistory } from "./redis-chat-message-history.js";
import { answeredId, callsOf, readEarlierName, textOf } from "../../conversation/messages/content.js";
import { refusedMarkOf, roleOf } from "../../conversation/messages/message.js";
import type { ConversationSession } from "../session/conversation-session.js";
import { firstRecords, nextLimit } from "../sessions/read-log.js";
import { foldedText, textFilter } from "../sessions/search-requests.js";
import type { StoredPage } from "../../store/contract/session-data.js";
import { approximateCounter } from "../../conversation/tokens/counters/approximate-counter.js";

/**
 * Options of {@link readEarlierTool}.
 * @example
 * import { RedisChatMemory } from "langchain-redis-memory";
 * import { readEarlierTool, type ReadEarlierOptions } from "langchain-redis-memory/tool-loop";
 *
 * const history = new RedisChatMemory({ url: "redis://localhost:6379" }).history("chat-7");
 * const options: ReadEarlierOptions = { history, maxTokens: 1_000 };
 * const earlier = readEarlierTool(options);
 */
export interface ReadEarlierOptions {
  /** The session that is read; the model cannot name another. */
  readonly history: RedisChatMessageHistory;
  /**
   * Tokens of an answer of the tool, by the memory's counter, else `approximateCounter()`. At least 100.
   * @default 2_000
   */
  readonly maxTokens?: number;
}

/** Bounds of the tool. */
export interface EarlierLimits {
  readonly maxTokens: number;
}

const limitFields = lazy(() => ({
  maxTokens: z._default(positiveInteger().check(z.minimum(100, "must be at least 100")), 2_000),
}));

const schema = lazy(() =>
  z.strictObject({
    history: objectWith<RedisChatMessageHistory>(["getMessages", "append"], "a RedisChatMessageHistory"),
    ...limitFields(),
  }),
);

/** The bounds of an option that may also be true; undefined if the tool is not wanted. */
export const readEarlierOption = lazy(() =>
  z.pipe(
    z._default(
      z.union([z.boolean(), objectOf(limitFields(), "an object")], "must be true, false or { maxTokens }"),
      false,
    ),
    z.transform((option): EarlierLimits | undefined => {
      return option === true ? z.object(limitFields()).parse({}) : option === false ? undefined : option;
    }),
  ),
);

/**
 * Returns the tool `read_earlier_messages`, by which a model reads stored messages of its session again: those that
 * left the view, and whole results that were shortened. For loops that are written by hand; agents get it by the option
 * `readEarlier` of `redisMemoryMiddleware`.
 *
 * The model asks by words (`query`), by the call of a result (`toolCallId`) or by position (`from`, `limit`), and goes
 * on in a long answer with `offset`. A search reads pages of at most 500 messages from the newest on, so that neither
 * Redis nor this process is busy for long.
 * Messages that `retention` discarded are said to be gone.
 *
 * @throws ConfigurationError naming the option.
 */
export function readEarlierTool(options: ReadEarlierOptions): StructuredToolInterface {
  const { history, ...limits } = parseOptions("readEarlierTool", schema(), options);
  const session = historySession("readEarlierTool", history);
  return earlierTool(limits, () => session);
}

const description =
  "Reads earlier messages of this conversation that you no longer see, and whole results of tools that were " +
  "shortened. Give words to search for, or the id of a tool call, or a position.";
const integer = (text: string) => ({ type: "integer", description: text });
const parameters = {
  type: "object" as const,
  properties: {
    query: { type: "string", description: "Words that a message contains, in any case." },
    toolCallId: { type: "string", description: "The id of the call whose whole result is to be read." },
    from: integer("The position of the first message; positions are shown as #12."),
    limit: integer("How many messages to read."),
    offset: integer("Characters of the answer to skip, to go on in a long one."),
  },
};

/** The tool on the session that `find` returns for a call. */
export function earlierTool({ maxTokens }: EarlierLimits, find: () => ConversationSession): StructuredToolInterface {
  const read = async (args: unknown) => {
    const session = find();
    const text = await readEarlier(session, args as Asked);
    const counter = session.context.tokenCounter ?? approximateCounter();
    return bounded(text, { offset: amountIn((args as Asked).offset, 0), maxTokens, counter });
  };
  return tool(read, { name: readEarlierName, description, schema: parameters }) as unknown as StructuredToolInterface;
}

/** The model's arguments, of which none can be trusted. */
type Asked = Readonly<Record<"query" | "toolCallId" | "from" | "limit" | "offset", unknown>>;

interface Found {
  readonly position: number;
  readonly message: BaseMessage;
}

const mostMessages = 50;

async function readEarlier(session: ConversationSession, { query, toolCallId, from, limit }: Asked): Promise<string> {
  const most = Math.min(mostMessages, Math.max(1, amountIn(limit, 10)));
  const words = typeof query === "string" ? foldedText(query).split(/\s+/).filter(Boolean) : [];
  if (typeof toolCallId === "string" && toolCallId !== "") {
    const isAsked = (message: BaseMessage) => roleOf(message) === "tool" && answeredId(message) === toolCallId;
    const mayHold = (record: string) => record.includes(JSON.stringify(toolCallId)) || record.includes("\\u");
    return said(await search(session, { isAsked, mayHold, most: 1 }));
  }
  if (words.length > 0) {
    const isAsked = (message: BaseMessage) => {
      const text = foldedText(textOf(message));
      return message.name !== readEarlierName && words.every((word) => text.includes(word));
    };
    return said(await search(session, { isAsked, mayHold: textFilter(words), most }));
  }
  const page = await pageOf(session, { after: amountIn(from, 0) - 1, limit: most });
  return said({ base: page.base, entries: foundIn(page, { isAsked: () => true, refused: new Set() }) });
}

function amountIn(value: unknown, otherwise: number): number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : otherwise;
}

type SearchedPage = Pick<StoredPage, "records" | "from" | "base">;

interface SearchFor {
  isAsked(this: void, message: BaseMessage): boolean;
  /** False for most records of other messages: to decode them all would take ten times as long. */
  mayHold(this: void, record: string): boolean;
  readonly most: number;
}

/** Searches from the newest message on. */
async function search(session: ConversationSession, { isAsked, mayHold, most }: SearchFor) {
  const entries: Found[] = [];
  const refused = new Set<string>();
  let base = 0;
  for await (const page of newestFirst(session)) {
    entries.unshift(...foundIn(page, { isAsked, mayHold, refused }).slice(-(most - entries.length)));
    base = page.base;
    if (entries.length >= most) {
      break;
    }
  }
  return { base, entries };
}

/** The log in pages of about a megabyte, newest first. */
async function* newestFirst(session: ConversationSession): AsyncGenerator<SearchedPage> {
  let page = await pageOf(session, { limit: firstRecords });
  for (; page.records.length > 0 && page.from > page.base;) {
    yield page;
    page = await pageOf(session, { before: page.from, limit: nextLimit(page.records) });
  }
  yield page;
}

function pageOf(
  { ref, context: { store } }: ConversationSession,
  request: { readonly limit: number; readonly before?: number; readonly after?: number },
): Promise<StoredPage> {
  const { data } = store;
  // Only a page around a message that is not stored is none.
  return data.readPage(ref, request) as Promise<StoredPage>;
}

interface FindIn extends Pick<SearchFor, "isAsked"> {
  /** @default true for every record */
  readonly mayHold?: SearchFor["mayHold"];
  /** Ids of messages that the provider refused; those that the page's marks name are added. */
  readonly refused: Set<string>;
}

/** Records that cannot be read are passed over, and so are messages that the provider refused. */
function foundIn({ records, from }: SearchedPage, { isAsked, mayHold = () => true, refused }: FindIn): Found[] {
  const messages = records.map((record, index) => {
    return mayHold(record) || record.includes('"refused"') ? messageIn(record, from + index) : undefined;
  });
  for (const message of messages) {
    const { ids = [], before = [] } = (message && refusedMarkOf(message)) ?? {};
    [...ids, ...before].forEach((id) => refused.add(id));
  }
  return messages.flatMap((message, index) => {
    const isFound = message !== undefined && !refused.has(message.id ?? "") && mayHold(records[index]!);
    const isMark = message !== undefined && refusedMarkOf(message) !== undefined;
    return isFound && !isMark && isAsked(message) ? [{ position: from + index, message }] : [];
  });
}

function messageIn(record: string, position: number): BaseMessage | undefined {
  try {
    return decodeRecord(record, position).message;
  } catch (error) {
    if (!RecordError.isInstance(error)) {
      throw error;
    }
    return undefined;
  }
}

function said({ base, entries }: { readonly base: number; readonly entries: readonly Found[] }): string {
  const gone = base > 0 ? [`Messages before #${base} were discarded and cannot be read again.`] : [];
  const lines = entries.map(({ position, message }) => `#${position} ${speakerIn(message)}: ${wordsOf(message)}`);
  return (entries.length === 0 ? ["No stored message was found.", ...gone] : lines).join("\n");
}

const speakers: Readonly<Record<string, string>> = { human: "user", ai: "assistant" };

function speakerIn(message: BaseMessage): string {
  const role = roleOf(message);
  return role === "tool" ? `result of ${message.name ?? "a tool"} (${answeredId(message)})` : (speakers[role] ?? role);
}

function wordsOf(message: BaseMessage): string {
  const calls = callsOf(message).map(({ name, args }) => `[called ${name}(${jsonText(args) ?? ""})]`);
  return [textOf(message), ...calls].filter((part) => part !== "").join(" ");
}

interface Bounds {
  readonly offset: number;
  readonly maxTokens: number;
  readonly counter: { countText(text: string): number | Promise<number> };
}

/** As much of a text from `offset` on as takes `maxTokens`, with the offset by which it goes on. */
async function bounded(text: string, { offset, maxTokens, counter }: Bounds): Promise<string> {
  const rest = text.slice(graphemeBoundary(text, offset));
  // No tokenizer makes a token of more characters, on average.
  for (let length = Math.min(rest.length, 8 * maxTokens); ;) {
    const end = graphemeBoundary(rest, length);
    const goesOn = end < rest.length ? `\n[… goes on: give "offset": ${text.length - rest.length + end}]` : "";
    const shown = rest.slice(0, end) + goesOn;
    const tokens = await counter.countText(shown);
    if (tokens <= maxTokens || end === 0) {
      return shown;
    }
    length = Math.floor(end * Math.min(0.9, (0.95 * maxTokens) / tokens));
  }
}
