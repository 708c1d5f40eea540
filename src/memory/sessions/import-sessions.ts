import { isDeepStrictEqual } from "node:util";
import * as z from "zod/mini";
import { identifyRecord } from "../../store/codec/stored-record.js";
import { ConflictError, EncryptionError, MemoryError, ConfigurationError } from "../../base/errors.js";
import { sessionLabel, transferLost } from "../../store/contract/refusals.js";
import type { CopiedRecord, CopiedTurn, CopyPage } from "../../store/contract/session-data.js";
import { exportSession } from "./export-session.js";
import { importItemLine, besideOf, importThread } from "./item-lines.js";
import { badLine, fieldsOf, otherContent, parseLine, requireText, StateLines, type ExportLine } from "./lines.js";
import type { SessionStore } from "../../store/contract/session-store.js";
import { lazy, listener, parseOptions, positiveInteger } from "../../base/options.js";

/** A session of an export that could not be imported. */
export interface SessionImportProblem {
  /** Number of the line at which the problem was found, from 1. */
  readonly line: number;
  /** `""` for an invalid line before any session. */
  readonly sessionId: string;
  /** The reason. */
  readonly error: MemoryError;
}

/** Progress of an import; at its end, the result. */
export interface SessionImportSummary {
  /** Imported sessions. */
  readonly sessions: number;
  /** Imported LangGraph threads. */
  readonly threads: number;
  /** Imported items of long-term memory. */
  readonly items: number;
  /** Messages of the imported sessions. */
  readonly messages: number;
  /** Sessions, threads and items that existed with equal content. */
  readonly unchanged: number;
  /** Skipped sessions, threads and items whose expiry has passed. */
  readonly expired: number;
  /** Sessions, threads and items passed to `onProblem`. */
  readonly failed: number;
}

/**
 * Options of `memory.sessions.import`.
 * @example
 * import { createReadStream } from "node:fs";
 * import { createInterface } from "node:readline";
 * import { RedisChatMemory } from "langchain-redis-memory";
 *
 * const memory = new RedisChatMemory({ url: "redis://localhost:6379" });
 * const lines = createInterface({ input: createReadStream("sessions.jsonl") }); // what an export wrote
 * const { sessions, failed } = await memory.sessions.import(lines, {
 *   onProblem: ({ line, sessionId, error }) => console.error(`Line ${line}, session ${sessionId}: ${error.message}`),
 * });
 * console.log(`${sessions} sessions imported, ${failed} not`);
 */
export interface SessionImportOptions {
  /** Time to live of the sessions in seconds, instead of the exported expiries. @default as exported */
  readonly sessionTTL?: number;
  /** Receives each session that cannot be imported; the others are imported. @default the import throws */
  readonly onProblem?: (problem: SessionImportProblem) => void;
  /** Called after each session. */
  readonly onProgress?: (progress: SessionImportSummary) => void;
}

const importSchema = lazy(() =>
  z.strictObject({
    sessionTTL: z.optional(positiveInteger()),
    onProblem: z.optional(listener<SessionImportProblem>()),
    onProgress: z.optional(listener<SessionImportSummary>()),
  }),
);

/** Imports the sessions of an export; see `memory.sessions.import`. */
export async function importLines(
  store: SessionStore,
  lines: AsyncIterable<string> | Iterable<string>,
  options: SessionImportOptions,
): Promise<SessionImportSummary> {
  const { sessionTTL, onProblem, onProgress } = parseOptions("sessions.import", importSchema(), options);
  if (typeof lines !== "object" || lines === null || !(Symbol.asyncIterator in lines || Symbol.iterator in lines)) {
    throw new ConfigurationError(
      "lines",
      "sessions.import: the lines must be an array or another iterable of strings.",
    );
  }
  const done = { sessions: 0, threads: 0, items: 0, messages: 0, unchanged: 0, expired: 0, failed: 0 };
  const imports = importSessions(store, lines, sessionTTL === undefined ? undefined : sessionTTL * 1_000);
  for await (const { outcome, kind, messages, sessionId, line, error } of imports) {
    if (error !== undefined && onProblem === undefined) {
      throw error;
    }
    const imported = kind === undefined ? "sessions" : (`${kind}s` as const);
    done[outcome === "imported" ? imported : outcome] += 1;
    done.messages += outcome === "imported" ? messages : 0;
    if (error !== undefined) {
      onProblem?.({ line, sessionId, error });
    }
    onProgress?.({ ...done });
  }
  return done;
}

const pageRecords = 500;
const pageBytes = 1_000_000;

/** Outcome of one session of an export. */
interface SessionImport {
  /** `""` for an invalid line before any session. */
  readonly sessionId: string;
  /** Set for a thread, whose id is `sessionId`, and for an item of long-term memory, whose `sessionId` is `""`. */
  readonly kind?: "thread" | "item";
  /**
   * `unchanged`: the session exists as it is in the export. `expired`: its expiry has passed.
   */
  readonly outcome: "imported" | "unchanged" | "expired" | "failed";
  readonly messages: number;
  /** Number of the session's last or invalid line, from 1. */
  readonly line: number;
  /** Set for `failed`. */
  readonly error?: MemoryError;
}

/**
 * Imports sessions one by one and yields each outcome. A session becomes visible, atomically, after its last line.
 * `ttlMs` is their time to live in milliseconds; undefined for the exported expiry.
 *
 * @throws errors that concern the whole import, such as a StoreError `unavailable`; a session's own error is an
 *   outcome.
 */
export async function* importSessions(
  store: SessionStore,
  lines: AsyncIterable<string> | Iterable<string>,
  ttlMs: number | undefined,
): AsyncGenerator<SessionImport> {
  const reader = new LineReader(lines);
  for (;;) {
    let first: ExportLine | undefined;
    let from = 0;
    try {
      first = await reader.line();
      from = reader.number;
      if (first === undefined) {
        return;
      }
      const done = await importPiece({ store, reader, ttlMs }, first);
      yield { ...nameIn(first), ...done, line: reader.number };
    } catch (error) {
      if (!MemoryError.isInstance(error) || (error.retryable && !ConflictError.isInstance(error))) {
        throw error;
      }
      const line = reader.number;
      yield { ...nameIn(first), outcome: "failed", messages: 0, line, error };
      // After the yield: a caller that stops at the first failure need not read the rest of the session.
      await reader.skipSession(from === 0 ? line : from);
    }
  }
}

/** The session, thread or item that a first line begins; no name for any other line. */
function nameIn(first: ExportLine | undefined): Pick<SessionImport, "sessionId" | "kind"> {
  const { sessionId, threadId } = first?.fields ?? {};
  const type = first?.type;
  const name = type === "thread" ? threadId : type === "session" ? sessionId : undefined;
  const kind = type === "thread" || type === "item" ? type : undefined;
  return { sessionId: typeof name === "string" ? name : "", ...(kind && { kind }) };
}

/** Imports a session from its first line on, or the line of a thread or an item. */
async function importPiece(work: Import, line: ExportLine): Promise<Pick<SessionImport, "outcome" | "messages">> {
  const { store, ttlMs } = work;
  const { wire, ring } = besideOf(store);
  if ((line.type === "thread" || line.type === "item") && wire !== undefined) {
    const importLine = line.type === "thread" ? importThread : importItemLine;
    return { outcome: await importLine(line, { wire, ttlMs, ring }), messages: 0 };
  }
  if (line.type !== "session") {
    throw badLine(line.number, 'a session begins with a line of the type "session"');
  }
  return importSession(work, new StateLines(line), line);
}

interface Import {
  readonly store: SessionStore;
  readonly reader: LineReader;
  readonly ttlMs: number | undefined;
}

async function importSession(
  { store, reader, ttlMs }: Import,
  started: StateLines,
  first: ExportLine,
): Promise<Pick<SessionImport, "outcome" | "messages">> {
  const { sessionId } = started;
  const stored = await exportSession(store, { id: sessionId }).next();
  if (stored.done !== true) {
    refuseOther(stored.value, sessionId, first);
    await reader.skipSession(first.number);
    return { outcome: "unchanged", messages: Number(first.fields["messages"] ?? 0) };
  }
  let line = await reader.required();
  while (started.add(line)) {
    line = await reader.required();
  }
  const now = Date.now();
  const exported = started.state(first.number);
  const state = ttlMs === undefined ? exported : { ...exported, expiresAt: now + ttlMs };
  if (state.expiresAt !== undefined && state.expiresAt <= now) {
    await reader.skipSession(first.number);
    return { outcome: "expired", messages: 0 };
  }
  const records = new RecordLines(reader, state.base, store.limits?.maxMessageBytes ?? Infinity);
  const created = await store.copies.create(
    { id: sessionId, ...(state.owner !== undefined && { owner: state.owner }) },
    {
      base: state.base,
      pages: () => records.pages(line),
      finish: async () => state,
      ...(state.owner !== undefined && { owners: [state.owner] }),
    },
  );
  if (created === undefined) {
    throw transferLost(sessionId);
  }
  return { outcome: "imported", messages: records.count };
}

/** Reader of a session's records, up to its end line. */
class RecordLines {
  readonly #reader: LineReader;
  readonly #base: number;
  readonly #maxBytes: number;
  count = 0;

  constructor(reader: LineReader, base: number, maxBytes: number) {
    this.#reader = reader;
    this.#base = base;
    this.#maxBytes = maxBytes;
  }

  async *pages(first: ExportLine): AsyncGenerator<CopyPage> {
    let page = newPage();
    let line = first;
    for (; line.type === "record"; line = await this.#reader.required()) {
      page.bytes += this.#add(page, line);
      if (page.records.length === pageRecords || page.bytes > pageBytes) {
        yield page;
        page = newPage();
      }
    }
    if (line.type !== "end") {
      throw badLine(line.number, 'the session has no line of the type "end" in front of it');
    }
    if (fieldsOf("end", line).records !== this.count) {
      throw badLine(line.number, `the export says that the session has other records than the ${this.count} here`);
    }
    yield page;
  }

  /** Returns the size of the record. */
  #add({ records, turns }: NewPage, line: ExportLine): number {
    const { position, record: value, turn } = fieldsOf("record", line);
    if (position !== this.#base + this.count) {
      throw badLine(line.number, `the record of position ${this.#base + this.count} is missing`);
    }
    this.count += 1;
    const record = requireText(line, "record", value);
    const bytes = Buffer.byteLength(record);
    if (bytes > this.#maxBytes) {
      throw badLine(line.number, `the record is longer than ${this.#maxBytes} bytes, the option "maxMessageBytes"`);
    }
    records.push({ record, identity: identityOf(line, record) });
    if (turn !== undefined) {
      turns.push({ name: turn.name, count: turn.count, first: turn.first, ...(turn.done && { doneAt: turn.count }) });
    }
    return bytes;
  }
}

interface NewPage {
  readonly records: CopiedRecord[];
  readonly turns: CopiedTurn[];
  bytes: number;
}

function newPage(): NewPage {
  return { records: [], turns: [], bytes: 0 };
}

function identityOf(line: ExportLine, record: string): CopiedRecord["identity"] {
  try {
    return identifyRecord(record);
  } catch (error) {
    throw EncryptionError.isInstance(error) ? badLine(line.number, "the record is encrypted") : error;
  }
}

/**
 * Compares the first line of an existing session with that of the export: owner, title, metadata, times and counts.
 * Ignores what may change without a write, and counts of the view.
 *
 * @throws ConflictError `exists` if they differ.
 */
function refuseOther(stored: string, sessionId: string, first: ExportLine): void {
  const names = first.fields["damaged"] === true ? ignored.lost : ignored.kept;
  if (!isDeepStrictEqual(compared(parseLine(0, stored), names), compared(first, names))) {
    const subject = sessionLabel(sessionId).replace(/^s/, "S");
    throw otherContent(`${subject} exists with other content than the export has at line ${first.number}`, sessionId);
  }
}

/** Fields that are not compared; the times of a damaged session may be lost, and are then those of its import. */
const kept = ["expiresAt", "tokens", "counter", "damaged"];
const ignored = { kept: new Set(kept), lost: new Set([...kept, "createdAt", "updatedAt"]) };

function compared({ fields }: ExportLine, names: ReadonlySet<string>): object {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !names.has(name)));
}

/** Reader of an export's lines with one line of pushback. */
class LineReader {
  readonly #lines: AsyncIterator<string> | Iterator<string>;
  #number = 0;
  #last = "";
  #back: string | undefined;

  constructor(lines: AsyncIterable<string> | Iterable<string>) {
    this.#lines = Symbol.asyncIterator in lines ? lines[Symbol.asyncIterator]() : lines[Symbol.iterator]();
  }

  get number(): number {
    return this.#number;
  }

  /** The next line that is not empty, as text. */
  async text(): Promise<string | undefined> {
    const back = this.#back;
    this.#back = undefined;
    if (back !== undefined) {
      this.#number += 1;
      return (this.#last = back);
    }
    for (;;) {
      const { done = false, value } = await this.#lines.next();
      if (done) {
        return undefined;
      }
      this.#number += 1;
      if ((value as string).trim() !== "") {
        return (this.#last = value as string);
      }
    }
  }

  async line(): Promise<ExportLine | undefined> {
    const text = await this.text();
    return text === undefined ? undefined : parseLine(this.#number, text);
  }

  /** The next line inside a session. @throws RecordError `corrupt` at the end of the export. */
  async required(): Promise<ExportLine> {
    const line = await this.line();
    if (line === undefined) {
      throw badLine(this.#number, "the export ends before the session's end");
    }
    return line;
  }

  /** Skips to the next session, thread or item; `from` is the number of this session's first line. */
  async skipSession(from: number): Promise<void> {
    const isNext = this.#number > from && this.#back === undefined;
    let text = isNext ? this.#last : await this.text();
    for (; text !== undefined; text = await this.text()) {
      if (/^\s*\{\s*"type"\s*:\s*"(session|thread|item)"/.test(text)) {
        this.#back = text;
        this.#number -= 1;
        return;
      }
    }
  }
}
