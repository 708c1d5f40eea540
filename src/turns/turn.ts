import { randomUUID } from "node:crypto";
import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { ConflictError } from "../base/errors.js";
import { report } from "../base/events.js";
import { isInterrupted, messageIdOf } from "../codec/message-ids.js";
import type { TurnOutput } from "../codec/encode-message.js";
import { changeMessage } from "../messages/change-message.js";
import { refusedMark } from "../messages/refused.js";
import { roleOf } from "../messages/roles.js";
import type { ContextWindow } from "../reducers/window/context-window.js";
import { writeTurn, type AppendHistory, type TurnOutcome, type TurnSettings } from "../session/append-options.js";
import type { ConversationSession } from "../session/conversation-session.js";
import { type HeldTurn, holdWithNextCall, type TakeTurnOptions } from "../session/hold/take-hold.js";
import { traceOf, type TracePlace } from "../session/reduction-trace.js";
import { answersOfTurn, messagesOfTurn, replacedTail, type StoredMessage } from "../session/turn-messages.js";
import type { SessionView } from "../store/session-reads.js";
import type { RewindRequest } from "../store/session-writes.js";
import type { SideChanges } from "../store/side-fields.js";
import type { ProfileChoice } from "../structure/profiles/check-profile.js";
import type { ReducedTurn } from "./commit-reduced.js";
import { canOpenByWriting, openByWriting, openTurn, type OpenTurn } from "./open-turn.js";
import { TurnRequests, type FormedRequest, type ModelCall } from "./turn-requests.js";

/** When a turn is stored, and what a stopped one leaves. */
export interface TurnPolicy {
  readonly persist: "turn" | "step";
  readonly onAbort: "discard" | "keep";
}

/** The hold in which a turn is written; its last write releases it. */
export interface TurnHold {
  readonly ticket: string | undefined;
  wasGivenBack(): void;
}

/** How a turn holds its session, from its first call on. */
export type TurnHolding = Omit<TakeTurnOptions, "isCaller"> & { readonly isAsked: boolean };

/** A turn to open. */
export interface TurnSetting {
  readonly history: AppendHistory;
  readonly session: ConversationSession;
  readonly turnId: string | undefined;
  readonly policy: TurnPolicy;
  /** @default the memory's profile */
  readonly profile?: ProfileChoice | undefined;
  /** Tells messages of the view that the turn's own list holds again. @default none */
  readonly isInState?: ((message: BaseMessage) => boolean) | undefined;
  /**
   * True if nothing is tried again: the runnable may act before a request is refused, or the application calls the
   * model. @default false
   */
  readonly acts?: boolean;
  /** True where nobody can tell what is stored in the place of a message. @default false */
  readonly isRewritten?: boolean;
  /** The run's config, in whose run a reduction behind a write is traced. */
  readonly config?: Partial<RunnableConfig> | undefined;
  /** @default no hold of the turn's own */
  readonly holding?: TurnHolding | undefined;
}

/** The input of a turn. */
export interface TurnInput {
  /** The new user messages, possibly behind the client's copy of the whole history. */
  readonly messages: readonly BaseMessage[];
  /** The same messages as other middleware has changed them since, told by their ids. @default none */
  readonly changed?: readonly BaseMessage[];
  /** Messages that the opening writes with `persist: "step"`; empty where it only reads. @default `messages` */
  readonly written?: readonly BaseMessage[];
}

/** Messages to store; a function is called when the writes before it have ended. */
export type MessagesToStore = readonly BaseMessage[] | (() => readonly BaseMessage[]);

/** The part of a failed run that is not stored yet, where its question is marked. */
export interface Unstored {
  readonly messages: readonly BaseMessage[];
  readonly side?: SideChanges;
}

/** One of a turn's writes. */
interface TurnWriting {
  readonly done: boolean;
  readonly output?: TurnOutput | undefined;
  readonly hold?: TurnHold | undefined;
  /** @default the run's */
  readonly config?: Partial<RunnableConfig> | undefined;
  /** Side data of the session, which is written with the messages. */
  readonly side?: SideChanges | undefined;
}

/**
 * The life of a turn: opens it, makes its requests, stores its steps and its answer, and ends it when it is finished,
 * stopped, or refused. The only code that does; chains, agents, `HistoryManager` and `withTurn` translate forms.
 */
export class Turn {
  readonly #setting: TurnSetting;
  readonly #opened: OpenTurn;
  /** The turn's requests. */
  readonly requests: TurnRequests;
  #turnId: string | undefined;
  /** Number of messages stored under the turn's name. */
  #stored: number;
  /** Ids and roles of the turn's stored messages, oldest first. */
  readonly #written: WrittenMessage[];
  /** Ids of the messages that this run was given to store, and has stored. */
  readonly #settled = new Set<string | undefined>();
  /** Ids under which messages of this run are stored. */
  readonly #ids = new WeakMap<BaseMessage, string>();
  #cut: RewindRequest | undefined;
  #isClosed: boolean;
  #replay: readonly StoredMessage[] | undefined;
  /** Input that is not stored yet. */
  #unstored: readonly BaseMessage[];
  readonly #held: HeldTurn | undefined;
  /** Ids that no answer may get. */
  #knownIds: Set<string | undefined> | undefined;
  /** The write under way; the next one needs its count. */
  #writing: Promise<void> | undefined;

  private constructor(setting: TurnSetting, { opened, written, held }: OpenedTurn) {
    const { session, turnId, profile = session.context.profile, isInState = () => false } = setting;
    const { state, stored, view } = opened;
    this.#setting = setting;
    this.#opened = opened;
    this.#unstored = opened.newMessages;
    this.#held = held;
    this.#turnId = turnId;
    this.#stored = view.stored.turn?.count ?? 0;
    this.#written = stored.map(({ message }) => ({ id: message.id ?? "", role: roleOf(message) }));
    this.#noteWritten(written, 0);
    this.#isClosed = state === "stored";
    this.#replay = this.#isClosed ? stored : undefined;
    const interrupted = { own: stored, read: view.stored, turnId: view.stored.turn && turnId };
    this.#cut = state === "interrupted" ? replacedTail(interrupted) : undefined;
    this.requests = new TurnRequests(session, opened, { profile, isInState });
  }

  /**
   * Reads the session and finds the new messages of a turn. With `persist: "step"` a single question is stored in the
   * same round trip. One round trip; one more for a turn outside the view.
   */
  static async open(setting: TurnSetting, input: TurnInput): Promise<Turn> {
    const { session, holding } = setting;
    const hold = holding && holdWithNextCall(session, holding);
    try {
      const isWritten = canBeWritten(setting, input);
      const opened = await (isWritten
        ? openByWriting(openingOf(setting, input, writtenIn(input)))
        : openTurn(openingOf(setting, input, input.messages)));
      const isNew = isWritten && opened.state === "new" && opened.newMessages.length === 0;
      const written = isNew ? writtenIn(input) : [];
      return new Turn(setting, { opened, written, held: hold?.held });
    } catch (error) {
      await hold?.held?.release();
      throw error;
    }
  }

  /** The turn as it was read. */
  get opened(): OpenTurn {
    return this.#opened;
  }

  get turnId(): string | undefined {
    return this.#turnId;
  }

  /** The turn's messages, where it is stored with its answer: by an earlier run, or meanwhile by another one. */
  get replay(): readonly StoredMessage[] | undefined {
    return this.#replay;
  }

  /** True once nothing more is written: the turn is stored, or can no longer be. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** True for the id of a message that this run has stored. */
  hasStored(id: string | undefined): boolean {
    return id !== undefined && this.#settled.has(id);
  }

  /** Goes on behind the stored turn, whose name is taken. */
  continueUnnamed(): void {
    [this.#turnId, this.#stored, this.#isClosed, this.#replay] = [undefined, 0, false, undefined];
  }

  /** The input that is not stored yet. */
  get unstored(): readonly BaseMessage[] {
    return this.#unstored;
  }

  /** Stores the input with `persist: "step"`, as far as the opening has not; undefined where there is nothing to do. */
  storeInput(): Promise<void> | undefined {
    if (this.#setting.policy.persist === "turn" || this.#isClosed || this.#unstored.length === 0) {
      return undefined;
    }
    const input = this.#unstored;
    this.#unstored = [];
    return this.#write(input, { done: false });
  }

  /** Runs a function in the hold's async context, so that nested turns are detected. */
  within<Result>(run: () => Promise<Result>): Promise<Result> {
    return this.#held === undefined ? run() : this.#held.within(run);
  }

  /** Prolongs the hold: the run shows activity. */
  signOfLife(): void {
    this.#held?.signOfLife();
  }

  /** Releases the hold. Never rejects. */
  end(): Promise<void> | undefined {
    return this.#held?.release();
  }

  /** Reports that a stored turn was sent again. */
  reportReplay(): void {
    const { sessionId, context } = this.#setting.session;
    report(context.onEvent, { type: "turn_repeated", sessionId, turnId: this.#turnId });
  }

  /** Reports that another middleware ended the run before all was stored. */
  reportSkipped(): void {
    const { sessionId, context } = this.#setting.session;
    report(context.onEvent, { type: "turn_not_stored", sessionId, turnId: this.#turnId, reason: "skipped" });
  }

  /** The next request: the view and the turn, within every limit, in the form of the model. */
  request(call: ModelCall): Promise<FormedRequest> {
    return this.requests.make(call);
  }

  /** Makes requests until the model answers, or refuses one that is not to be made again. */
  asking<Answer>(ask: () => Promise<Answer>, again = (error: unknown) => this.again(error)): Promise<Answer> {
    return ask().catch(async (error: unknown) => {
      if (!(await again(error))) {
        throw error;
      }
      return this.asking(ask, again);
    });
  }

  /**
   * True if the request made last is to be made again, because it is smaller now; never where something may have been
   * done meanwhile.
   */
  async again(error: unknown): Promise<boolean> {
    if (this.#setting.acts === true || this.#isClosed) {
      return false;
    }
    const { refusedForGood } = await import("./refused-for-good.js");
    return refusedForGood(error) !== undefined && this.requests.again(error);
  }

  /**
   * An answer of the model to the request made last, under an id that no other message has; notes what the request was
   * thought to take.
   */
  answered<M extends BaseMessage>(answer: M, isInState: (id: string) => boolean = () => false): M {
    const { view, stored } = this.#opened;
    const known = (this.#knownIds ??= new Set([...view.all, ...stored].map(({ message }) => message.id)));
    const { id } = answer;
    const isKnown = id !== undefined && (known.has(id) || this.requests.list.hasSeen(id) || isInState(id));
    const own = isKnown || taken.has(answer) ? this.#renamed(answer) : answer;
    taken.add(answer).add(own);
    known.add(own.id);
    this.requests.note(own);
    return own;
  }

  /** Stores messages of the turn with `persist: "step"`, and leaves it open. */
  async step(messages: MessagesToStore): Promise<void> {
    if (this.#setting.policy.persist === "step") {
      await this.#write(messages, { done: false });
    }
  }

  /**
   * Stores the rest of the turn with its answer, and releases its hold in the same step. A reduction that the model
   * accepted is stored behind it. An interrupted answer leaves the turn open: that of a retry takes its place.
   */
  finish(messages: MessagesToStore, how: Omit<TurnWriting, "done"> = {}): Promise<void> {
    return this.#write(messages, { ...how, done: true });
  }

  /** Stores what a stopped run leaves, with `onAbort: "keep"`. Never rejects: a failure is reported. */
  async stop(messages: MessagesToStore): Promise<void> {
    if (this.#setting.policy.onAbort === "keep") {
      await this.#reporting(() => this.#write(messages, { done: false }));
    }
  }

  /**
   * Marks the question as refused, if the error says that its request would be refused again: it leaves the views of
   * other turns, and stays in the transcript. Any other error leaves the question open. Never rejects.
   */
  async fail(error: unknown, unstored: () => Unstored | Promise<Unstored> = () => ({ messages: [] })): Promise<void> {
    if (this.#setting.policy.persist === "turn" || this.#isClosed) {
      return;
    }
    const { refusedForGood } = await import("./refused-for-good.js");
    const refusal = refusedForGood(error);
    if (refusal === undefined) {
      return;
    }
    await this.#reporting(async () => {
      await this.#writing?.catch(() => undefined);
      const { messages, side } = await unstored();
      // A retry of a refused question finds its mark there.
      const all = [...this.#written, ...this.#identified(messages, this.#stored)];
      const own = all.slice(all.findLastIndex(({ role }) => role === "ai") + 1).map(({ id }) => id);
      // Elsewhere the request was made again without them.
      const before = this.#setting.acts === true && own.length > 0 ? await this.requests.unanswered() : [];
      const told = { ...refusal, ids: own, ...(before.length > 0 && { before }) };
      const mark = own.length > 0 ? [refusedMark(told)] : [];
      await this.#write([...messages, ...mark], { done: false, side });
    });
  }

  async #reporting(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      const { sessionId, context } = this.#setting.session;
      report(context.onEvent, { type: "turn_not_stored", sessionId, turnId: this.#turnId, reason: "failed", error });
    }
  }

  #write(messages: MessagesToStore, how: TurnWriting): Promise<void> {
    const now = () => this.#writeNow(typeof messages === "function" ? messages() : messages, how);
    this.#writing = this.#writing === undefined ? now() : this.#writing.then(now, now);
    return this.#writing;
  }

  async #writeNow(messages: readonly BaseMessage[], { side, ...how }: TurnWriting): Promise<void> {
    const { session } = this.#setting;
    const last = messages.at(-1);
    const done = how.done && (last === undefined || !isInterrupted(last));
    const endsOpen = done && this.#turnId !== undefined && this.#stored > 0;
    if (this.#isClosed || (messages.length === 0 && !endsOpen && side === undefined)) {
      return;
    }
    const { reducer, reduceWhen, window } = session.context;
    const isCommitted = done && this.requests.reducedFrom !== undefined && reduceWhen !== "never";
    // A paid reduction is made for the request that needs it, or in the background: nobody waits behind an answer.
    const isCheap = window === undefined && (reducer?.requiresLease !== true || reduceWhen === "background");
    const reduce = done && !isCommitted && (isCheap || this.requests.last === undefined);
    const trace = done && reducer !== undefined ? traceOf(how.config ?? this.#setting.config) : undefined;
    const cut = messages.length > 0 ? this.#cut : undefined;
    const hold = done ? (how.hold ?? this.#held) : undefined;
    const settings = { stored: this.#stored, done, output: how.output, cut, reduce };
    const written = { ...settings, returnView: isCommitted, giveBack: hold?.ticket, trace };
    const { outcome, sent } = await this.#append(messages, { ...(side && { side }), turn: written });
    if (outcome.gaveBack) {
      hold?.wasGivenBack();
    }
    messages.forEach(({ id }) => this.#settled.add(id));
    this.#note(outcome, sent);
    const isNative = done && (reducer as Partial<ContextWindow> | undefined)?.isNative === true;
    if (this.#isClosed || (!isCommitted && !isNative)) {
      return;
    }
    this.requests.list.update(messages);
    if (isCommitted && outcome.view !== undefined) {
      const work = this.#commit(outcome.view, { hasCut: cut !== undefined, trace });
      await (reduceWhen === "background" ? session.inBackground(work) : work);
    }
    if (isNative) {
      session.inBackground(this.#compact(trace));
    }
  }

  /** Appends; an answer whose id was stored with other content gets one of its own. */
  async #append(messages: readonly BaseMessage[], write: TurnAppend): Promise<Appended> {
    const { history, session } = this.#setting;
    const named = this.#turnId === undefined ? write : { ...write, turnId: this.#turnId };
    try {
      const outcome = await writeTurn(history, messages, { ...named, turn: { ...write.turn, refusesKnown: true } });
      return { outcome, sent: messages };
    } catch (error) {
      const id = ConflictError.isInstance(error) && error.code === "content" ? error.messageId : undefined;
      const other = messages.find((message) => message.id !== undefined && message.id === id);
      if (other === undefined) {
        throw error;
      }
      if (roleOf(other) === "human" || roleOf(other) === "system") {
        if (session.context.onConflict === "error") {
          throw error;
        }
        return { outcome: await writeTurn(history, messages, named), sent: messages };
      }
      const own = this.#renamed(other);
      return this.#append(
        messages.map((message) => (message === other ? own : message)),
        write,
      );
    }
  }

  /** An answer under an id that no other message has. */
  #renamed<M extends BaseMessage>(answer: M): M {
    const own = changeMessage(answer, { id: randomUUID() });
    const { sessionId, context } = this.#setting.session;
    report(context.onEvent, { type: "answer_renamed", sessionId, messageId: answer.id ?? "", storedAs: own.id! });
    return own;
  }

  #note(outcome: TurnOutcome, messages: readonly BaseMessage[]): void {
    if (outcome.repeated && outcome.storedTurn !== undefined) {
      this.#replay = messagesOfTurn(outcome.storedTurn, this.#turnId!);
    }
    this.#isClosed = outcome.repeated || outcome.refused !== undefined;
    this.#noteWritten(messages, this.#stored);
    // If nothing was added, another run of the same turn has stored the same messages.
    const added = outcome.appended + outcome.duplicates === 0 ? messages.length : outcome.appended;
    this.#stored = outcome.turnCount ?? this.#stored + added;
    this.#cut = messages.length > 0 ? undefined : this.#cut;
  }

  #noteWritten(messages: readonly BaseMessage[], offset: number): void {
    const identified = this.#identified(messages, offset);
    identified.forEach(({ id }, index) => this.#ids.set(messages[index]!, id));
    this.#written.push(...identified);
  }

  /** The ids under which messages of the turn are stored, from some place in it on. */
  #identified(messages: readonly BaseMessage[], offset: number): WrittenMessage[] {
    return messages.map((message, index) => {
      const place = this.#turnId === undefined ? undefined : { turnId: this.#turnId, index: offset + index };
      return { id: messageIdOf(message, place), role: roleOf(message) };
    });
  }

  async #commit(view: SessionView, how: Pick<ReducedTurn, "hasCut" | "trace">): Promise<void> {
    const { commitReduced } = await import("./commit-reduced.js");
    const { session } = this.#setting;
    const storedIdOf = (message: BaseMessage) => this.#ids.get(message) ?? messageIdOf(message);
    const isWritten = (id: string) => this.#written.some((message) => message.id === id);
    return commitReduced({ session, requests: this.requests, view, storedIdOf, isWritten, ...how });
  }

  /** Asks the provider to compact what was sent, if it nears the window. */
  async #compact(config: TracePlace | undefined): Promise<void> {
    const { session } = this.#setting;
    const { window: source } = session.context;
    const { last: request, list } = this.requests;
    const { ask } = request ?? {};
    if (source !== undefined && request !== undefined && ask !== undefined) {
      const { compactNatively } = await import("./native-compaction.js");
      const send = (messages: BaseMessage[], model: object, inner?: Parameters<typeof ask>[1]) =>
        ask(messages, inner, model);
      await compactNatively(session, { source, messages: [...list.messages], request, config, ask: send });
    }
  }

  /** The stored messages of the answer, without marks. */
  get storedAnswer(): BaseMessage[] {
    return answersOfTurn(this.#replay ?? this.#opened.stored);
  }
}

/** Answers that this process has stored: a cache may return the same object for another question. */
const taken = new WeakSet<BaseMessage>();

/** Parameters of a write besides its messages and the name of the turn. */
interface TurnAppend {
  readonly side?: SideChanges;
  readonly turn: TurnSettings;
}

/** A stored message of the turn. */
interface WrittenMessage {
  readonly id: string;
  readonly role: string;
}

/** The outcome of a write, and the messages as they were sent. */
interface Appended {
  readonly outcome: TurnOutcome;
  readonly sent: readonly BaseMessage[];
}

/** A turn as it was read, with the messages that its opening has written. */
interface OpenedTurn {
  readonly opened: OpenTurn;
  readonly written: readonly BaseMessage[];
  readonly held: HeldTurn | undefined;
}

/** The messages that the opening of a turn writes. */
function writtenIn({ messages, written = messages }: TurnInput): readonly BaseMessage[] {
  return written;
}

/** True where the write of the question tells whether it is new, in the round trip of the read. */
function canBeWritten({ policy }: TurnSetting, input: TurnInput): boolean {
  return policy.persist === "step" && canOpenByWriting(writtenIn(input)) && canOpenByWriting(input.messages);
}

function openingOf(
  { history, session, turnId, isRewritten = false }: TurnSetting,
  { changed = [] }: TurnInput,
  input: readonly BaseMessage[],
): Parameters<typeof openByWriting>[0] {
  return { history, session, turnId, input, changed, isRewritten };
}
