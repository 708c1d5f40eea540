import { decodeHead, encodeHead } from "../../store/codec/stored-record.js";
import { metaOf } from "../../store/codec/decode-record.js";
import { ConflictError, type MemoryError } from "../../base/errors.js";
import { jsonText } from "../../base/json-text.js";
import { keyOf } from "../../store/redis/keys.js";
import { damaged, sessionLabel } from "../../store/contract/refusals.js";
import { beginsRound } from "../../store/contract/append-decision.js";
import type { SessionLists, SessionRef } from "../../store/contract/session-ref.js";
import type { NamedMark, WholeState } from "../../store/contract/session-data.js";
import { namesIn } from "../session/identity.js";
import { logPages } from "./read-log.js";
import { exportData, besideOf } from "./item-lines.js";
import { concernsOneSession, leaveOut, type ProblemListeners } from "./stored-sessions.js";
import { valueIn } from "../../conversation/messages/message.js";
import type { SessionStore } from "../../store/contract/session-store.js";

/** A session to export. */
interface Source {
  readonly store: SessionStore;
  readonly session: SessionRef;
}

/**
 * Exports a consistent snapshot of a session as JSON lines: the session, its head, side data, reductions and records,
 * and an end. Yields nothing for a missing session. Reads in pages, the first before the first line, so that a session
 * without its key yields no line.
 *
 * @throws ConflictError `stale` if records of the snapshot were removed meanwhile.
 */
export async function* exportSession(store: SessionStore, session: SessionRef): AsyncGenerator<string> {
  const { id: sessionId } = session;
  const whole = await store.copies.read(session);
  if (whole === undefined) {
    return;
  }
  const state = whole.damaged ? await whatIsLeft({ store, session }, whole) : whole;
  const source = { store, session };
  const pages = pagesOf(source, state);
  let next = await pages.next();
  yield* stateLines(sessionId, state);
  const begunBefore = new Set<string>();
  let position = state.base;
  for (; next.done !== true; next = await pages.next()) {
    const page = next.value;
    const markOf = await marksIn(source, page);
    for (const record of page) {
      const mark = markOf(record);
      const isNew = mark !== undefined && mark.first < state.base && !begunBefore.has(mark.name);
      if (isNew) {
        begunBefore.add(mark.name);
      }
      const turn = mark !== undefined && (isNew || mark.first === position) ? mark : undefined;
      yield JSON.stringify({ type: "record", sessionId, position, turn, record: asJson(record) });
      position += 1;
    }
  }
  yield JSON.stringify({ type: "end", sessionId, records: position - state.base });
}

/** Sessions of an owner to export. */
export interface OwnerExport extends ProblemListeners {
  readonly lists: SessionLists;
  readonly store: SessionStore;
  readonly owner: string;
  /** Those of the owner's items. */
  readonly namespaces: readonly (readonly string[])[];
}

/**
 * Exports all sessions of an owner, and their threads and items. Reports and skips a session that cannot be read; a
 * partly read one has no `end` line.
 *
 * @throws the error of the first skipped session, after the others, unless `onProblem` received it.
 */
export async function* exportOwnerSessions(request: OwnerExport): AsyncGenerator<string> {
  const { lists, store, owner, namespaces, ...listeners } = request;
  let first: MemoryError | undefined;
  const note = (sessionId: string, error: unknown, kind?: string) => {
    if (!concernsOneSession(error)) {
      throw error;
    }
    leaveOut(listeners, { operation: "exportOwner", sessionId, ...(kind !== undefined && { kind }), error });
    first ??= error;
  };
  const sessions = new Set<string>();
  for await (const sessionId of lists.scan({ owner })) {
    sessions.add(sessionId);
    let hasBegun = false;
    try {
      for await (const line of exportSession(store, { id: sessionId, owner })) {
        hasBegun = true;
        yield line;
      }
      if (!hasBegun && (await isLost(store, sessionId))) {
        throw damaged("exportOwner", sessionId);
      }
    } catch (error) {
      note(sessionId, error);
    }
  }
  for await (const { id, kind, line, error } of exportData(store, { owner, sessions, namespaces })) {
    if (line === undefined) {
      note(id, error, kind);
    } else {
      yield line;
    }
  }
  if (first !== undefined && listeners.onProblem === undefined) {
    throw first;
  }
}

/** True for a session of which Redis holds the index of its messages alone: no message of it can be read. */
async function isLost(store: SessionStore, sessionId: string): Promise<boolean> {
  const { wire } = besideOf(store);
  const ids = { verb: "exists", args: [keyOf(wire?.keyPrefix ?? "", "ids", sessionId)] };
  return (await wire?.runner.read({ operation: "exportOwner", sessionId }, ids)) === 1;
}

/** The state of a damaged session, corrected by its log, so that it can be imported. */
async function whatIsLeft(source: Source, state: WholeState): Promise<WholeState> {
  let [next, rounds] = [state.base, 0];
  for await (const page of pagesOf(source, { ...state, next: Infinity })) {
    next += page.length;
    rounds += page.filter(beginsRound).length;
  }
  const start = Math.min(Math.max(state.start, state.base), next);
  return { ...state, next, rounds, start };
}

function* stateLines(sessionId: string, state: WholeState): Generator<string> {
  const { owner, createdAt, updatedAt, expiresAt, base, start, rounds, tokens, counter, usage } = state;
  const { damaged, reduced, label, hasLabel, next } = state;
  yield JSON.stringify({
    ...{ type: "session", sessionId, owner, ...(hasLabel && namesIn(label)), createdAt, updatedAt, expiresAt },
    ...{ messages: next - base, base, start, rounds, tokens, counter, usage },
    ...{ reductions: reduced, ...(damaged && { damaged }) },
  });
  for (const line of headLines(state.head)) {
    yield JSON.stringify({ type: "head", sessionId, ...line });
  }
  for (const [name, value] of Object.entries(state.side)) {
    yield JSON.stringify({ type: "side", sessionId, name, value: asJson(value) });
  }
  for (const reduction of state.reductions) {
    yield JSON.stringify({ type: "reduction", sessionId, ...reduction });
  }
}

/** The records of the snapshot, in pages. */
async function* pagesOf({ store, session }: Source, state: WholeState): AsyncGenerator<readonly string[]> {
  let position = state.base;
  for await (const records of logPages(store, session, { from: state.base, end: state.next })) {
    yield records;
    position += records.length;
  }
  if (position < state.next && state.damaged) {
    return;
  }
  const { epoch, cut } = (await store.copies.read(session)) ?? {};
  if (position < state.next || epoch !== state.epoch || cut !== state.cut) {
    throw changed(session.id);
  }
}

/** The turn marks of a page's records. */
async function marksIn(
  { store, session }: Source,
  records: readonly string[],
): Promise<(record: string) => NamedMark | undefined> {
  const names = [...new Set(records.flatMap((record) => metaOf(record).turn ?? []))];
  const { turns } = await store.copies.readMarks(session, { turns: names });
  const marks = new Map(names.flatMap((name, index) => (turns[index] ? [[name, { name, ...turns[index] }]] : [])));
  return (record) => marks.get(metaOf(record).turn ?? "");
}

/** The records of the head; the raw text if they would not round-trip. */
function headLines(head: string): { readonly record?: unknown; readonly text?: string }[] {
  try {
    const records = decodeHead(head);
    return encodeHead(records) === head ? records.map((record) => ({ record: asJson(record) })) : [{ text: head }];
  } catch {
    return [{ text: head }];
  }
}

/** The parsed JSON of a text if it round-trips; else the text, as for a record that is nested too deeply for a line. */
function asJson(text: string): unknown {
  const value = valueIn(text);
  const isRecord = typeof value === "object" && value !== null;
  // The line that holds it is a few levels deeper.
  return isRecord && jsonText([[[[value]]]]) === `[[[[${text}]]]]` ? value : text;
}

function changed(sessionId: string): ConflictError {
  const message = `Messages of ${sessionLabel(sessionId)} were removed while it was exported; export it again.`;
  return new ConflictError(message, { code: "stale", sessionId });
}
