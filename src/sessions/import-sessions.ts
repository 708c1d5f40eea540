import { isDeepStrictEqual } from "node:util";
import { identifyRecord } from "../codec/message-ids.js";
import { ConfigurationError, ConflictError, EncryptionError, MemoryError } from "../base/errors.js";
import type { StoreWith } from "../store/groups.js";
import { sessionLabel, transferLost } from "../store/refusals.js";
import type { CopiedRecord, CopiedTurn, CopyPage, KeptState } from "../store/copies.js";
import { exportSession } from "./export-session.js";
import { sealedParts } from "../sealed/sealed-session-store.js";
import { BrokenOff, LineReader } from "./line-reader.js";
import { badLine, fieldsOf, parseLine, requireText, StateLines, type ExportLine } from "./session-lines.js";

const pageRecords = 500;
const pageBytes = 1_000_000;

/** What became of a session of an export. */
export interface SessionImport {
  /** `""` where a line is wrong before it names a session. */
  readonly sessionId: string;
  /**
   * `unchanged`: the session is there already, with just this content. `expired`: its time to live is over. `partial`:
   * the export says that it holds only a part of it.
   */
  readonly outcome: "imported" | "unchanged" | "expired" | "failed" | "partial";
  /** True for one that was imported and is encrypted now. */
  readonly sealed: boolean;
  readonly messages: number;
  /** The line with which it ended, or that is wrong; counted from 1. */
  readonly line: number;
  /** Where it failed, or is partial. */
  readonly error?: MemoryError;
}

/** How to import. */
export interface ImportSetting {
  /** Replaces the expiry that the export names: milliseconds from now, or undefined for what the export says. */
  readonly ttlMs: number | undefined;
  /** `keep`: sessions are encrypted that were so where they were exported; `seal` and `plain`: all, and none. */
  readonly encryption: "keep" | "seal" | "plain";
}

/**
 * Brings the sessions of an export back, one after the other, and says what became of each. A session becomes visible
 * when its last line was read.
 *
 * @throws what may pass by itself, such as a StoreError `unavailable`; what is wrong with a session is an outcome.
 */
export async function* importSessions(
  store: StoreWith<"copies">,
  lines: AsyncIterable<string> | Iterable<string>,
  setting: ImportSetting,
): AsyncGenerator<SessionImport> {
  const reader = new LineReader(lines);
  for (;;) {
    let started: StateLines | undefined;
    let from = 0;
    try {
      const line = await reader.line();
      from = reader.number;
      if (line === undefined) {
        return;
      }
      if (line.type !== "session") {
        throw badLine(line.number, 'a session begins with a line of the type "session"');
      }
      started = new StateLines(line);
      const done = await importSession({ store, reader, setting }, started, line);
      yield { sessionId: started.sessionId, ...done, line: reader.number };
    } catch (error) {
      if (!MemoryError.isInstance(error) || (error.retryable && !ConflictError.isInstance(error))) {
        throw error;
      }
      const line = reader.number;
      const outcome = error instanceof BrokenOff ? "partial" : "failed";
      yield { sessionId: started?.sessionId ?? "", outcome, messages: 0, sealed: false, line, error };
      // Only now: whoever stops at the first failure need not wait until all of it is read.
      await reader.skipSession(from === 0 ? line : from);
    }
  }
}

interface Import {
  readonly store: StoreWith<"copies">;
  readonly reader: LineReader;
  readonly setting: ImportSetting;
}

async function importSession(
  { store, reader, setting }: Import,
  started: StateLines,
  first: ExportLine,
): Promise<Pick<SessionImport, "outcome" | "messages" | "sealed">> {
  const { sessionId } = started;
  if ((await store.copies.read({ id: sessionId })) !== undefined) {
    return { outcome: "unchanged", messages: await compareSession({ store, reader }, sessionId, first), sealed: false };
  }
  const target = await targetFor(store, started, setting);
  let line = await reader.required();
  while (started.add(line)) {
    line = await reader.required();
  }
  const now = Date.now();
  const state = withExpiry(started.state(first.number), setting.ttlMs === undefined ? undefined : now + setting.ttlMs);
  if (state.expiresAt !== undefined && state.expiresAt <= now) {
    await reader.skipSession(first.number);
    return { outcome: "expired", messages: 0, sealed: false };
  }
  const records = new RecordLines(reader, state.base, store.limits?.maxMessageBytes ?? Infinity);
  const created = await target.create(
    { id: sessionId },
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
  return { outcome: "imported", messages: records.count, sealed: target.seals };
}

/** Where a session is created: sealed with the current key, or as plain text. */
async function targetFor(
  store: StoreWith<"copies">,
  { sessionId, wasSealed }: StateLines,
  { encryption }: ImportSetting,
) {
  const parts = sealedParts(store);
  const seals = encryption === "seal" || (encryption === "keep" && wasSealed);
  if (seals && (await parts?.ring.current(sessionId)) === undefined) {
    throw new ConfigurationError(
      "encryption",
      `Without a current key ${sessionLabel(sessionId)} cannot be encrypted as it was; nothing was imported of it.`,
    );
  }
  const { copies } = seals ? store : (parts?.store ?? store);
  return { seals, create: copies!.create.bind(copies) };
}

/** The records of a session, from a line on to the line of its end. */
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
 * Reads a session that exists beside its lines, and returns the number of its messages. What may change without a
 * write, and what only counts the view, is not compared.
 *
 * @throws ConflictError `exists` where they differ.
 */
async function compareSession(
  { store, reader }: Pick<Import, "store" | "reader">,
  sessionId: string,
  first: ExportLine,
): Promise<number> {
  let line: ExportLine = first;
  for await (const text of exportSession(store, { id: sessionId })) {
    const stored = parseLine(0, text);
    const names =
      line.type !== "session" ? ignored.none : first.fields["damaged"] === true ? ignored.lost : ignored.kept;
    if (!isDeepStrictEqual(compared(stored, names), compared(line, names))) {
      throw differs(sessionId, line.number);
    }
    if (line.type === "end") {
      return fieldsOf("end", line).records;
    }
    line = await reader.required();
  }
  throw differs(sessionId, line.number);
}

/** Fields that are not compared; the times of a damaged session may be lost, and are those of its import then. */
const kept = ["expiresAt", "tokens", "counter", "damaged", "sealed"];
const ignored = { none: new Set<string>(), kept: new Set(kept), lost: new Set([...kept, "createdAt", "updatedAt"]) };

function compared({ type, fields }: ExportLine, names: ReadonlySet<string>): object {
  return { type, fields: Object.fromEntries(Object.entries(fields).filter(([name]) => !names.has(name))) };
}

function differs(sessionId: string, line: number): ConflictError {
  const message =
    `${sessionLabel(sessionId).replace(/^s/, "S")} exists with other content than the export has at line ${line}; ` +
    "nothing was imported. Delete it first, or import into another key prefix.";
  return new ConflictError(message, { code: "exists", sessionId });
}

function withExpiry(state: KeptState, expiresAt: number | undefined): KeptState {
  return expiresAt === undefined ? state : { ...state, expiresAt };
}
