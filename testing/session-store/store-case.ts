import { readLog, type StoredReduction } from "../../src/store/contract/session-data.js";
import { readLastRounds } from "../../src/memory/session/screen-pages.js";
import { createHash } from "node:crypto";
import { copySession, type CopyRequest } from "../../src/memory/sessions/copy-session.js";
import type { StoredTurn, AppendRequest, NewRecord } from "../../src/store/contract/session-writes.js";
import type { ReadState, SessionView } from "../../src/store/contract/session-reads.js";
import { type SessionRef, keyParts } from "../../src/store/contract/session-ref.js";
import type { SessionStore } from "../../src/store/contract/session-store.js";

/** How to create the store under test. */
export interface StoreSetup {
  /** Creates a store with default limits, without the sessions `contract-<number>`. */
  create(): SessionStore | Promise<SessionStore>;
  /**
   * Takes a part of a session away in a store that `create` made, as an eviction does, so that the session is damaged.
   * @default sessions of these stores are never damaged
   */
  damage?(store: SessionStore, sessionId: string): unknown;
  /** Called after each case, also after a failed one. */
  destroy?(store: SessionStore): unknown;
  /**
   * Lets this much of the store's time pass, for stores whose clock a test can move. The times of the cases are a
   * hundred times longer then, so that the speed of the machine decides nothing. @default waits in real time
   */
  wait?(milliseconds: number): unknown;
}

/** The tools of a case. */
export interface StoreContext {
  readonly store: SessionStore;
  readonly session: SessionRef;
  /** Takes a part of a session away; undefined where the store loses nothing. */
  readonly damage: ((sessionId: string) => Promise<void>) | undefined;
  /** A duration in the store's time, scaled as `wait` scales it. */
  time(milliseconds: number): number;
  /** Lets time of the store pass. */
  wait(milliseconds: number): Promise<void>;
}

/** A promise and its proof. */
export interface StoreCase {
  readonly title: string;
  check(context: StoreContext): Promise<void>;
}

/** Creates a record as a codec would: `role` is its type, and the id is also its content. */
export function record(
  id: string,
  { role = "ai", text = id, tokens }: { role?: string; text?: string; tokens?: number } = {},
): NewRecord {
  const content = `{"type":"${role}","data":${JSON.stringify({ id, content: text })}}`;
  const digest = createHash("sha256").update(content).digest("base64url").slice(0, 8);
  return { id, digest, record: content, ...(tokens !== undefined && { tokens }) };
}

/** Creates a human record. */
export function human(id: string): NewRecord {
  return record(id, { role: "human" });
}

/** Creates records whose ids are a letter and a number: `records("a", 3)` is a1, a2, a3. */
export function records(letter: string, count: number): NewRecord[] {
  return Array.from({ length: count }, (_, index) => record(`${letter}${index + 1}`));
}

/** Returns the texts of records, as reads return them. */
export function texts(list: readonly NewRecord[]): string[] {
  return list.map((item) => item.record);
}

/** Appends records, as somebody of whom the session says more where given, and returns the resulting view. */
export async function written(
  { store, session }: StoreContext,
  list: readonly NewRecord[],
  { as = {}, ...rest }: Omit<AppendRequest, "records"> & { readonly as?: Omit<SessionRef, "id"> } = {},
): Promise<SessionView> {
  await store.append({ ...session, ...as }, { records: list, ...rest });
  return store.readView(session);
}

/** The session for a caller with its data key, which reads texts as they are stored. */
export async function withKey(store: SessionStore, session: SessionRef): Promise<SessionRef> {
  const key = (await store.edits.readKey(session))?.stored;
  return { ...session, keys: key === undefined ? {} : { name: keyParts(key).name } };
}

/** The last reductions of a session. */
export async function reductionsOf(store: SessionStore, session: SessionRef): Promise<readonly StoredReduction[]> {
  return (await store.data.readStats(session))?.reductions ?? [];
}

/** A turn of a session by its mark, and the records that the log has from its first on; undefined for none. */
export async function storedTurn(
  store: SessionStore,
  session: SessionRef,
  name: string,
): Promise<StoredTurn | undefined> {
  const [mark] = (await store.copies.readMarks(session, { turns: [name] })).turns;
  const { base, from, records } = await readLog(store, session, mark && { from: mark.first });
  return mark && { ...mark, records: records.slice(0, Math.max(0, mark.count - (Math.max(base, from) - mark.first))) };
}

/** Returns everything that reads show of a session, to check that nothing has changed. */
export async function everything({ store, session }: StoreContext): Promise<unknown> {
  const stored = await withKey(store, session);
  return {
    view: await store.readView(stored),
    log: await readLog(store, stored),
    rounds: await readLastRounds(store, stored, 1_000),
    side: await store.data.readSide(stored, ""),
  };
}

/** A request for a copy, but for both sessions. */
export type Copying = Omit<CopyRequest, "session" | "target">;

/** Copies a session, as a fork does. */
export function forkOf(
  store: SessionStore,
  session: SessionRef,
  target: SessionRef,
  request: Copying,
): ReturnType<typeof copySession> {
  return copySession(store, { ...request, session, target });
}

/** For `assert.rejects`: an error with this code. */
export function code(expected: string): (error: unknown) => boolean {
  return (error) => (error as { code?: unknown }).code === expected;
}

/** For `assert.rejects`: an error about this option. */
export function option(expected: string): (error: unknown) => boolean {
  return (error) => (error as { option?: unknown }).option === expected;
}

/** Returns what a compare-and-set must name of a view. */
export function asRead({ epoch, rev, next }: SessionView): ReadState {
  return { epoch, rev, next };
}
