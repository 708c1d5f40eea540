import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import { BoundedMap } from "../../../src/base/bounds.js";
import { randomToken, shortHash } from "../../../src/base/ids.js";
import { answeredId, callsOf } from "../../../src/conversation/messages/content.js";
import { roleOf, fieldsOf, stringIn } from "../../../src/conversation/messages/message.js";
import { changedFront, prefixKey } from "../../../src/conversation/structure/ledger.js";
import { metaOf } from "../../../src/store/codec/decode-record.js";
import { usageOf } from "../../../src/memory/session/append-input.js";
import { countOf, type TokenCounter } from "../../../src/conversation/tokens/counted-messages.js";
import type { StoredPage } from "../../../src/store/contract/session-data.js";
import type { Server } from "../../server.js";
import type { AnswerUsage, OutlineEntry, OutlinePage } from "../model/data.js";
import { readableText } from "./readable-text.js";
import { readLog, readPart, type LogItem } from "./log-reader.js";

/** Outlines that are kept: those of the sessions that were looked at last. */
const keptOutlines = 4;
const pageLength = 2_000;

/** The outline of a session's log so far. */
interface Outline {
  /** New whenever messages were removed or replaced. */
  readonly edition: string;
  readonly epoch: string;
  /** Position of the first entry: it moves where retention discards messages. */
  base: number;
  readonly entries: OutlineEntry[];
  /** Hash of the last record that is known: another one there means that the log was changed. */
  last: string;
  /** The last message that is no result, if it calls tools, with the ids of its calls. */
  caller: { readonly position: number; readonly ids: ReadonlySet<string | undefined> } | undefined;
  /** The stamp of the last answer with bound thoughts. */
  stamp: string | undefined;
}

/** Who speaks, how long, how many tokens: of every message of the sessions that are looked at, read once. */
export class SessionOutlines {
  readonly #server: Server;
  readonly #counter: TokenCounter;
  readonly #outlines = new BoundedMap<string, Outline>(keptOutlines);
  /** One after the other for each session, so that none reads what another reads. */
  readonly #reading = new Map<string, Promise<unknown>>();

  constructor(server: Server, counter: TokenCounter) {
    this.#server = server;
    this.#counter = counter;
  }

  /** The edition of a session's log now. Reads one record. */
  edition(sessionId: string): Promise<{ readonly edition: string; readonly page: StoredPage }> {
    return this.#inTurn(sessionId, async () => {
      const { outline, page } = await this.#current(sessionId);
      return { edition: outline.edition, page };
    });
  }

  /** A page of the outline, and at most the 2,000 records that it needs. */
  page(sessionId: string, from: number): Promise<OutlinePage> {
    return this.#inTurn(sessionId, async () => {
      const { outline, page } = await this.#current(sessionId);
      const { edition, base, entries } = outline;
      const first = Math.max(from, base);
      const end = base + entries.length;
      const to = Math.min(first + pageLength, page.next);
      let { next } = page;
      if (end < to) {
        next = await this.#extend(sessionId, { outline, from: end, to });
      }
      return { edition, from: first, entries: entries.slice(first - base, to - base), next };
    });
  }

  async #inTurn<T>(sessionId: string, work: () => Promise<T>): Promise<T> {
    const before = this.#reading.get(sessionId);
    const result = (before ?? Promise.resolve()).catch(() => undefined).then(work);
    this.#reading.set(sessionId, result);
    try {
      return await result;
    } finally {
      if (this.#reading.get(sessionId) === result) {
        this.#reading.delete(sessionId);
      }
    }
  }

  /** The outline as far as it still holds; a new one where the log is not the one that was read. */
  async #current(sessionId: string): Promise<{ readonly outline: Outline; readonly page: StoredPage }> {
    const before = this.#outlines.get(sessionId);
    const end = before === undefined ? 0 : before.base + before.entries.length;
    const page = await readPart(this.#server.store, sessionId, { from: Math.max(0, end - 1), limit: 1 });
    const holds =
      before !== undefined &&
      page.epoch === before.epoch &&
      (before.entries.length === 0
        ? page.base === before.base
        : page.base < end && page.next >= end && hashOf(page.records[0]) === before.last);
    const outline = holds ? before : newOutline(page);
    outline.entries.splice(0, page.base - outline.base);
    outline.base = page.base;
    this.#outlines.set(sessionId, outline);
    return { outline, page };
  }

  async #extend(
    sessionId: string,
    { outline, from, to }: { readonly outline: Outline; readonly from: number; readonly to: number },
  ): Promise<number> {
    let next = to;
    for await (const { page, items } of readLog(this.#server, sessionId, { from, to })) {
      for (const item of items) {
        outline.entries.push(await this.#entryOf(item, outline));
        outline.last = hashOf(item.record);
      }
      next = page.next;
    }
    return next;
  }

  async #entryOf({ position, record, message }: LogItem, outline: Outline): Promise<OutlineEntry> {
    const size = record.length;
    const { at } = metaOf(record);
    const common = { size, ...(at !== undefined && { at }) };
    if (message === undefined) {
      outline.caller = undefined;
      return { role: "unreadable", tokens: 0, ...common };
    }
    const [role, tokens, calls] = [roleOf(message), await countOf(this.#counter, message), callsOf(message)];
    if (role === "tool") {
      const caller = outline.caller?.ids.has(answeredId(message)) ? outline.caller.position : undefined;
      return { role, tokens, ...common, ...(caller !== undefined && { caller }) };
    }
    outline.caller = calls.length === 0 ? undefined : { position, ids: new Set(calls.map(({ id }) => id)) };
    const names = calls.slice(0, 20).map(({ name }) => readableText(name).slice(0, 80));
    const brokenBy = brokenPrefix(message, outline);
    const usage = answerUsage(message);
    return {
      ...{ role, tokens, ...common, ...(calls.length > 0 && { calls: names }) },
      ...(brokenBy && { brokenBy }),
      ...(usage && { usage }),
    };
  }
}

function brokenPrefix({ response_metadata: metadata }: BaseMessage, outline: Outline): OutlineEntry["brokenBy"] {
  const before = outline.stamp;
  const stamp = stringIn(fieldsOf(metadata)[prefixKey]);
  outline.stamp = stamp ?? before;
  return stamp === undefined || before === undefined ? undefined : changedFront(stamp, before);
}

/** The bill of the answer's call; undefined where it is not stored. */
function answerUsage(message: BaseMessage): AnswerUsage | undefined {
  const usage = usageOf(message);
  if (usage === undefined) {
    return undefined;
  }
  const { input_token_details: details } = fieldsOf((message as AIMessage).usage_metadata);
  const { cache_read: cached } = fieldsOf(details);
  const { model, input, output } = usage;
  return { model: readableText(model), input, output, cached: typeof cached === "number" && cached > 0 ? cached : 0 };
}

function newOutline({ epoch, base }: StoredPage): Outline {
  return { edition: randomToken(), epoch, base, entries: [], last: "", caller: undefined, stamp: undefined };
}

function hashOf(record: string | undefined): string {
  return shortHash(record ?? "", 22);
}
