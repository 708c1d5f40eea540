import { once } from "node:events";
import type { ServerResponse } from "node:http";
import type { BaseMessage } from "@langchain/core/messages";
import { tiktokenCounter } from "../../../src/conversation/tokens/counters/tiktoken-counter.js";
import type { TokenCounter } from "../../../src/conversation/tokens/counted-messages.js";
import { UsageError } from "../../failure.js";
import type { Server } from "../../server.js";
import type { MessagePage, ServerFacts, ShownMessage, TestCase, TextPiece } from "../model/data.js";
import type { ModelFact } from "../model/facts-of-models.js";
import { sendEvents } from "./live-events.js";
import { readLog, type LogItem } from "./log-reader.js";
import { cutText } from "./readable-text.js";
import { NotFoundError, wholeNumber } from "./request-problem.js";
import { SessionCatalogue } from "./session-catalogue.js";
import { findingsOf, readView, type EarlierView } from "./session-findings.js";
import { readFront } from "./session-front.js";
import { SessionOutlines } from "./session-outlines.js";
import { reportOf } from "./session-report.js";
import { readSnapshot, type SnapshotSource } from "./session-snapshot.js";
import { SessionWhatIf } from "./session-what-if.js";
import { showMessage, textOfCall } from "./shown-message.js";
import { textOfPart } from "./shown-parts.js";
import { testCaseOf } from "./test-case.js";
import { gaugeOf } from "./window-gauge.js";
import { findInSession, findSessions } from "./text-search.js";
import { findThreads, readThreadState } from "./thread-history.js";

const mostMessages = 100;
const pieceLength = 100_000;

/** A request that was let in. */
export interface RouteRequest {
  readonly path: string;
  readonly query: URLSearchParams;
}

type Route = (query: URLSearchParams) => Promise<object>;

/** The routes of the page. Everything is read with the library's own functions; nothing is written. */
export class InspectorRoutes {
  readonly #server: Server;
  readonly #models: readonly ModelFact[];
  readonly #counter: TokenCounter = tiktokenCounter();
  readonly #catalogue: SessionCatalogue;
  readonly #outlines: SessionOutlines;
  readonly #whatIf: SessionWhatIf;

  constructor(server: Server, models: readonly ModelFact[]) {
    this.#server = server;
    this.#models = models;
    this.#catalogue = new SessionCatalogue(server);
    this.#outlines = new SessionOutlines(server, this.#counter);
    this.#whatIf = new SessionWhatIf(server, this.#outlines, this.#counter);
  }

  /** Answers a request. @throws what {@link problemOf} puts into words */
  async answer({ path, query }: RouteRequest, response: ServerResponse): Promise<void> {
    if (path === "api/events") {
      const sessionId = query.get("id") ?? undefined;
      return sendEvents(response, { server: this.#server, catalogue: this.#catalogue, sessionId });
    }
    if (path === "api/export") {
      return sendExport(response, this.#server, idIn(query));
    }
    if (path === "api/report.txt") {
      const id = idIn(query);
      const { text } = await reportOf(this.#source, id);
      response.writeHead(200, downloadOf(id, { type: "text/plain", suffix: "-report.txt" })).end(text);
      return;
    }
    const route = Object.hasOwn(this.#routes, path) ? this.#routes[path] : undefined;
    if (route === undefined) {
      throw new NotFoundError("There is nothing at this address.");
    }
    const result = await route(query);
    response.writeHead(200, { "content-type": "application/json; charset=utf-8" }).end(JSON.stringify(result));
  }

  readonly #routes: Readonly<Record<string, Route>> = {
    "api/server": () => Promise.resolve(this.#facts()),
    "api/sessions": (query) =>
      this.#catalogue.find({
        search: query.get("search") ?? "",
        limit: wholeNumber(query, "limit", 100),
        only: query.get("only") ?? "",
        order: query.get("order") ?? "",
      }),
    "api/session": (query) => readSnapshot(this.#source, idIn(query)),
    "api/report": (query) => reportOf(this.#source, idIn(query)),
    "api/outline": (query) => this.#outlines.page(idIn(query), wholeNumber(query, "from", 0)),
    "api/messages": (query) => this.#messages(query),
    "api/text": (query) => this.#text(query),
    "api/findings": (query) => findingsOf(this.#server, idIn(query), query.get("profile") ?? "langchain"),
    "api/find": (query) =>
      findInSession(this.#server, idIn(query), { text: wordsIn(query), from: wholeNumber(query, "from", 0) }),
    "api/search": (query) =>
      findSessions(this.#server, { text: wordsIn(query), cursor: query.get("cursor") ?? undefined }),
    "api/gauge": (query) => gaugeOf(this.#server, idIn(query), this.#models),
    "api/threads": (query) => findThreads(this.#server, query.get("search") ?? "", wholeNumber(query, "limit", 100)),
    "api/thread": (query) => readThreadState(this.#server, idIn(query), wholeNumber(query, "limit", 50)),
    "api/what-if": (query) => this.#whatIf.replay(idIn(query), query.get("reducer") ?? "none"),
    "api/test-case": (query) => this.#testCase(query),
  };

  get #source(): SnapshotSource {
    return { server: this.#server, outlines: this.#outlines, counter: this.#counter };
  }

  #facts(): ServerFacts {
    const { address, keyPrefix: prefix } = this.#server;
    return { address, prefix, models: this.#models };
  }

  async #messages(query: URLSearchParams): Promise<MessagePage> {
    const [sessionId, from] = [idIn(query), wholeNumber(query, "from")];
    const limit = Math.min(wholeNumber(query, "limit", mostMessages), mostMessages);
    const { edition } = await this.#outlines.edition(sessionId);
    const messages: ShownMessage[] = [];
    for await (const { items } of readLog(this.#server, sessionId, { from, to: from + limit })) {
      for (const item of items) {
        messages.push(await showMessage(item, { position: item.position, counter: this.#counter }));
      }
    }
    return { edition, messages };
  }

  /** A piece of a text that was cut: of a part, of the arguments of a call, or of a record that cannot be read. */
  async #text(query: URLSearchParams): Promise<TextPiece> {
    const [{ message, record }, from] = [await this.#item(query), wholeNumber(query, "from", 0)];
    const index = wholeNumber(query, "index", 0);
    const isCall = query.get("of") === "call";
    const text = message === undefined ? record : isCall ? textOfCall(message, index) : textOfPart(message, index);
    if (text === undefined) {
      throw new NotFoundError("The message has no such part.");
    }
    const { text: piece, end } = cutText(text, { from, limit: pieceLength });
    return { text: piece, end, length: text.length };
  }

  async #item(query: URLSearchParams): Promise<LogItem> {
    const sessionId = idIn(query);
    if (query.has("place")) {
      const { items } = await readFront(this.#server, sessionId);
      return items[wholeNumber(query, "place")] ?? notFound();
    }
    const position = wholeNumber(query, "position");
    for await (const { items } of readLog(this.#server, sessionId, { from: position, to: position + 1 })) {
      return items.find((item) => item.position === position) ?? notFound();
    }
    return notFound();
  }

  async #testCase(query: URLSearchParams): Promise<TestCase> {
    const sessionId = idIn(query);
    if (query.get("what") === "view") {
      const { entries } = await readView(this.#server, sessionId, earlierViewIn(query));
      return testCaseOf(entries.map(({ message }) => message));
    }
    const messages: BaseMessage[] = [];
    for await (const { items } of readLog(this.#server, sessionId, { from: 0 })) {
      messages.push(...items.flatMap(({ message }) => message ?? []));
    }
    return testCaseOf(messages);
  }
}

function notFound(): never {
  throw new NotFoundError("There is no such message.");
}

/** The moment that a query names; undefined for now. */
function earlierViewIn(query: URLSearchParams): EarlierView | undefined {
  return query.has("to")
    ? { from: wholeNumber(query, "from"), to: wholeNumber(query, "to"), hasFront: query.get("front") === "1" }
    : undefined;
}

function idIn(query: URLSearchParams): string {
  const id = query.get("id");
  if (id === null || id === "") {
    throw new UsageError('"id" must be the id of a session.');
  }
  return id;
}

function wordsIn(query: URLSearchParams): string {
  const text = query.get("text") ?? "";
  if (text.trim() === "") {
    throw new UsageError('"text" must be what to search for.');
  }
  return text;
}

/** The same lines as `memory.sessions.export` gives. */
async function sendExport(response: ServerResponse, { memory }: Server, sessionId: string): Promise<void> {
  let begun = false;
  for await (const line of memory.sessions.export(sessionId)) {
    if (!begun) {
      begun = true;
      response.writeHead(200, downloadOf(sessionId, { type: "application/x-ndjson", suffix: ".jsonl" }));
    }
    if (!response.write(`${line}\n`)) {
      await Promise.race([once(response, "drain"), once(response, "close")]);
    }
    if (response.destroyed) {
      return;
    }
  }
  if (!begun) {
    throw new NotFoundError("There is no session with this id.");
  }
  response.end();
}

/** Headers of a file about a session. */
function downloadOf(sessionId: string, { type, suffix }: { readonly type: string; readonly suffix: string }) {
  const name = `${sessionId.replace(/[^\w-]+/g, "_").slice(0, 80)}${suffix}`;
  return { "content-type": `${type}; charset=utf-8`, "content-disposition": `attachment; filename="${name}"` };
}
