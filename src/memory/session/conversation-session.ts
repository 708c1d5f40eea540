import { readLog } from "../../store/contract/session-data.js";
import type { BaseMessage } from "@langchain/core/messages";
import * as z from "zod/mini";
import { identifyRecord } from "../../store/codec/stored-record.js";
import { metaOf } from "../../store/codec/decode-record.js";
import { turnNameOf } from "../../store/codec/encode-message.js";
import type { Round } from "../../conversation/messages/rounds.js";
import { ConfigurationError, StoreError } from "../../base/errors.js";
import { report } from "../../base/events.js";
import { loadedOnce, promised } from "../../base/bounds.js";
import { lazy, nonEmptyText, nonNegativeInteger, parseOptions, positiveInteger } from "../../base/options.js";
import { otherOwner } from "../../store/contract/refusals.js";
import type { HoldPlace, HoldRequest, SessionView } from "../../store/contract/session-reads.js";
import type { SessionHold, SessionRef } from "../../store/contract/session-ref.js";
import type { AppendRequest, AppendResult } from "../../store/contract/session-writes.js";
import { checkedAppend } from "./append-input.js";
import type {
  AppendOptions,
  AppendOutcome,
  TurnAppendOptions,
  TurnOutcome,
  TurnSettings,
  TurnTicket,
} from "./append-input.js";
import { appendTurn, type Appended, type Write } from "./append-turn.js";
import type { MemoryContext, SessionOfMemory } from "./memory-context.js";
import { currentRun, traceOf, type TracePlace } from "./reduction-trace.js";
import {
  roundsInTurnOrder,
  turnsWithoutQuestion,
  decodeEntries,
  decodeMessages,
  decodeView,
  viewMessages,
} from "./view.js";
import type { DecodedView, StoredEntry } from "./view.js";

const pageSchema = lazy(() =>
  z.strictObject({ from: z.optional(nonNegativeInteger()), limit: z.optional(positiveInteger()) }),
);
const roundsSchema = lazy(() => z.strictObject({ count: positiveInteger() }));
const rebuildSchema = lazy(() => z.strictObject({ owner: z.optional(nonEmptyText()) }));
/** The code of reductions, loaded with the first one. */
const reductions = loadedOnce(() => import("./reduce-view.js"));
/** The code of titles, loaded with the first write of a memory that gives them. */
const titling = loadedOnce(() => import("./give-title.js"));
/** The code of pages and rounds, loaded with the first call of one. */
const pages = loadedOnce(() => import("./screen-pages.js"));

/** Number of extra rounds to read to find the question of a late answer. */
const furtherRounds = 50;

/** A call on a session that acquires the hold atomically if it gets a request for one. */
export type TakingCall<Result extends { readonly place?: HoldPlace }> = (
  request: HoldRequest | undefined,
) => Promise<Result>;

/** Makes a call that acquires the hold; repeats it after waiting if others have it. */
export type TakeWithCall = <Result extends { readonly place?: HoldPlace }>(call: TakingCall<Result>) => Promise<Result>;

/**
 * The operations of one session, for the adapters (history, Runnable, middleware). Its only state is its identity and
 * the hold in which it writes.
 */
export class ConversationSession implements SessionOfMemory {
  readonly context: MemoryContext;
  readonly #caller: Omit<SessionRef, "hold">;
  #hold: Required<SessionHold> | undefined;
  #isGivenBack = false;
  #take: TakeWithCall | undefined;

  constructor(caller: Omit<SessionRef, "hold">, context: MemoryContext) {
    if (typeof caller.id !== "string" || caller.id === "") {
      throw new ConfigurationError("sessionId", 'The session id ("sessionId") must be a non-empty string.');
    }
    this.#caller = caller;
    this.context = context;
  }

  get sessionId(): string {
    return this.#caller.id;
  }

  get ref(): SessionRef {
    return this.#hold === undefined ? this.#caller : { hold: this.#hold, ...this.#caller };
  }

  /** Session id and listener of its events. */
  get observer(): { readonly sessionId: string; readonly onEvent: MemoryContext["onEvent"] } {
    return { sessionId: this.sessionId, onEvent: this.context.onEvent };
  }

  get reductionRef(): SessionRef {
    return this.#isGivenBack ? this.#caller : this.ref;
  }

  /**
   * Makes all later writes carry the hold, also after its release. Returns a function that records the release: a
   * reduction that outlives the hold is committed without it.
   */
  writeWithin(hold: Required<SessionHold>): () => void {
    this.#hold = hold;
    this.#isGivenBack = false;
    return () => {
      this.#isGivenBack = true;
    };
  }

  /** Sets the function that makes the next read for a turn, or first write of one, and lets it acquire the hold. */
  takeWithNextCall(take: TakeWithCall): void {
    this.#take = take;
  }

  /** Makes a call that may acquire the hold atomically. */
  #taking<Result extends { readonly place?: HoldPlace }>(call: TakingCall<Result>): Promise<Result> {
    const take = this.#take;
    this.#take = undefined;
    return take === undefined ? call(undefined) : take(call);
  }

  /** Removes the session; inside a hold a new session begins under the same hold. */
  async clear(): Promise<void> {
    const epoch = await this.context.store.clear(this.ref);
    this.#hold &&= { ...this.#hold, epoch };
  }

  get #isNeverReduced(): boolean {
    const { reducer, window } = this.context;
    return reducer === undefined && window === undefined;
  }

  /** The messages of the view. One round trip. */
  async readView(): Promise<BaseMessage[]> {
    const stored = await this.context.store.readView(this.ref, { neverReduced: this.#isNeverReduced });
    return viewMessages(stored, this.#decodeOptions());
  }

  /** The view with the positions of its messages, and the stored state of a turn and of ids. One round trip. */
  async readForTurn({ turnId, ids }: { readonly turnId: string | undefined; readonly ids: readonly string[] }) {
    const { store } = this.context;
    const stored = await this.#taking((take) =>
      store.readView(this.ref, {
        neverReduced: this.#isNeverReduced,
        ...(ids.length > 0 && { ids }),
        ...(turnId !== undefined && { turn: turnNameOf(turnId) }),
        ...(take && { take }),
      }),
    );
    return decodeView(stored, this.#decodeOptions());
  }

  /** The messages of a page of the log, each with its record and position. One round trip. */
  async readEntries(options: { readonly from: number; readonly limit?: number }): Promise<StoredEntry[]> {
    const page = await readLog(this.context.store, this.ref, options);
    return decodeEntries(page.records, this.#decodeOptions(), page.from);
  }

  /** Decodes a view returned by a write. */
  decode(view: SessionView): DecodedView {
    return decodeView(view, this.#decodeOptions());
  }

  /** Adds a turn. One round trip; one more for a reduction. */
  append(messages: readonly BaseMessage[], options?: AppendOptions): Promise<AppendOutcome> {
    return promised(() => {
      const { turn: ticket, ...checked } = options === undefined ? {} : checkedAppend(options);
      const turn = ticket?.settings;
      return appendTurn(this, this.#writeFor(turn), {
        messages,
        options: { ...checked, ...(turn && { turn }) } as TurnAppendOptions,
        finish: (appended) => this.#finish(appended, { messages, ticket }),
      });
    });
  }

  /** The outcome of an append, behind the reduction that its view calls for. */
  #finish(
    { outcome: done, written }: Appended,
    { messages, ticket }: { readonly messages: readonly BaseMessage[]; readonly ticket: TurnTicket | undefined },
  ): AppendOutcome | Promise<AppendOutcome> {
    const turn = ticket?.settings;
    if (written === undefined) {
      return outcomeFor(ticket, done);
    }
    const gaveBack = turn?.release !== undefined;
    this.#isGivenBack ||= gaveBack;
    const outcome = gaveBack ? { gaveBack, ...done } : done;
    const { result, records } = written;
    const { view } = result;
    for (const index of turn?.opens ? [] : result.conflicts) {
      report(this.context.onEvent, { type: "conflict_kept", sessionId: this.sessionId, messageId: records[index]!.id });
    }
    if (this.context.titles !== undefined) {
      this.inBackground(this.#giveTitle({ messages, isNew: done.next === done.appended }));
    }
    if (view === undefined || turn?.returnView === true) {
      return outcomeFor(ticket, view === undefined ? outcome : { view, ...outcome });
    }
    const reduction = this.#reduce(view, turn?.trace ?? traceOf(currentRun()));
    if (this.context.reduceWhen !== "background") {
      return reduction.then(() => outcomeFor(ticket, outcome));
    }
    this.inBackground(reduction);
    return outcomeFor(ticket, outcome);
  }

  async #giveTitle(written: { readonly messages: readonly BaseMessage[]; readonly isNew: boolean }): Promise<void> {
    const { giveTitle } = await titling();
    return giveTitle(this, written);
  }

  async #reduce(view: SessionView, trace: TracePlace | undefined): Promise<void> {
    const { reduceAfterWrite } = await reductions();
    return reduceAfterWrite(this, view, trace);
  }

  /** The whole log, or a page of it, oldest first. One round trip. */
  async transcript(options: { readonly from?: number; readonly limit?: number } = {}): Promise<BaseMessage[]> {
    const page = await readLog(this.context.store, this.ref, parseOptions("getTranscript", pageSchema(), options));
    this.#reportDamage(page.damaged, "getTranscript");
    return decodeMessages(page.records, this.#decodeOptions(), page.from);
  }

  /**
   * The last `count` rounds of the transcript, each question with its answer. One round trip, one more where rounds are
   * longer than eight messages on average, and two where a late answer to an earlier question was stored among them.
   */
  async rounds(count: number): Promise<Round[]> {
    parseOptions("getRounds", roundsSchema(), { count });
    const { readLastRounds } = await pages();
    const { records, from, firstRound, damaged } = await readLastRounds(this.context.store, this.ref, count);
    this.#reportDamage(damaged, "getRounds");
    const entries = decodeEntries(records, this.#decodeOptions(), from);
    const late = firstRound > 1 ? await this.#askedBefore(entries, { from, count }) : new Set();
    const own = late.size === 0 ? entries : entries.filter(({ record }) => !late.has(metaOf(record).turn));
    return roundsInTurnOrder(own, firstRound).slice(-count);
  }

  /** Derives the index and state of the session from its log. */
  async rebuild(options: { readonly owner?: string } = {}): Promise<void> {
    const { owner } = parseOptions("rebuild", rebuildSchema(), options);
    const assigns = this.ref.owner === undefined && owner !== undefined;
    if (owner !== undefined && !assigns && owner !== this.ref.owner) {
      throw otherOwner(this.sessionId);
    }
    const ref = assigns ? { ...this.ref, owner } : this.ref;
    await this.context.store.edits.rebuild(ref, (record) => identifyRecord(record), { assigns });
    const { mendHead } = await import("./mend-head.js");
    await mendHead(this);
  }

  /** Names of turns that have a part in these rounds, but their question, or their beginning, before them. */
  async #askedBefore(entries: readonly StoredEntry[], { from, count }: { from: number; count: number }) {
    const { store } = this.context;
    const lacking = [...turnsWithoutQuestion(entries)];
    if (lacking.length === 0) {
      return new Set<unknown>();
    }
    const { readLastRounds } = await pages();
    const wide = await readLastRounds(store, this.ref, count + furtherRounds);
    const options = { ...this.#decodeOptions(), onEvent: undefined };
    const unfound = turnsWithoutQuestion(decodeEntries(wide.records, options, wide.from));
    const { turns } = await store.copies.readMarks(this.ref, { turns: lacking });
    return new Set<unknown>(
      lacking.filter((name, index) => !unfound.has(name) || (turns[index]?.first ?? from) < from),
    );
  }

  /** How a turn is written; its first write may acquire the hold. */
  #writeFor(turn: TurnSettings | undefined): Write {
    return turn?.opens === true
      ? (make) => this.#taking((take) => this.#write(take === undefined ? make : () => ({ take, ...make() })))
      : (make) => this.#write(make);
  }

  #write(make: () => AppendRequest): Promise<AppendResult> {
    const { store, onDamage } = this.context;
    const append = () => store.append(this.ref, make());
    if (onDamage !== "rebuild") {
      return append();
    }
    return append().catch(async (error: unknown) => {
      if (!StoreError.isInstance(error) || error.code !== "damaged") {
        throw error;
      }
      this.#reportDamage(true, "append");
      await this.rebuild();
      return append();
    });
  }

  /** Runs background work that `drain` and `close` wait for. */
  inBackground(work: Promise<void>): void {
    const { pending } = this.context;
    const tracked = work.finally(() => pending.delete(tracked));
    pending.set(tracked, this.sessionId);
  }

  #decodeOptions() {
    return { strict: this.context.strict, ...this.observer };
  }

  #reportDamage(damaged: boolean, operation: string): void {
    if (damaged) {
      report(this.context.onEvent, { type: "damaged", sessionId: this.sessionId, operation });
    }
  }
}

/** The outcome of an append; all of it for the writer of a turn. */
function outcomeFor(ticket: TurnTicket | undefined, outcome: TurnOutcome): AppendOutcome {
  if (ticket !== undefined) {
    ticket.outcome = outcome;
  }
  const { appended, duplicates, next, repeated } = outcome;
  return { appended, duplicates, next, repeated };
}

/** Resolves when the background work of a session has ended that is under way now. */
export async function drainSession({ pending }: MemoryContext, sessionId: string): Promise<void> {
  await Promise.allSettled([...pending].flatMap(([work, id]) => (id === sessionId ? [work] : [])));
}
