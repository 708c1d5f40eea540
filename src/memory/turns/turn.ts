import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { ConflictError } from "../../base/errors.js";
import { report } from "../../base/events.js";
import { messageIdOf, type TurnOutput } from "../../store/codec/encode-message.js";
import { isInterrupted, roleOf } from "../../conversation/messages/message.js";
import { refusedMark } from "../../conversation/messages/change-message.js";
import { writeTurn, type TurnOutcome, type TurnSettings } from "../session/append-input.js";
import { type HeldTurn, holdAgain, holdWithNextCall } from "../session/hold/acquire-hold.js";
import { traceOf } from "../session/reduction-trace.js";
import { answersOfTurn, messagesOfTurn, replacedTail, type StoredMessage } from "../session/turn-messages.js";
import type { SessionView } from "../../store/contract/session-reads.js";
import type { RewindRequest, SideChanges } from "../../store/contract/session-writes.js";
import type { ReducedTurn } from "./commit-reduced.js";
import { openAs, type OpenTurn } from "./open-turn.js";
import type { MessagesToStore, TurnInput, TurnSetting, Unstored } from "./turn-setting.js";
import { TurnRequests } from "./turn-requests.js";

/** One of a turn's writes. */
interface TurnWriting {
  readonly done: boolean;
  readonly output?: TurnOutput | undefined;
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
  #held: HeldTurn | undefined;
  /** The write under way; the next one needs its count. */
  #writing: Promise<void> | undefined;

  private constructor(setting: TurnSetting, opened: OpenTurn, held: HeldTurn | undefined) {
    const { session, turnId, profile = session.context.profile, isInState = () => false } = setting;
    const { state, stored, view } = opened;
    this.#setting = setting;
    this.#opened = opened;
    this.#unstored = opened.newMessages;
    this.#held = held;
    this.#turnId = turnId;
    this.#stored = view.stored.turn?.count ?? 0;
    this.#written = stored.map(({ message }) => ({ id: message.id ?? "", role: roleOf(message) }));
    this.#noteWritten(opened.written, 0);
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
    const hold = holding && holdWithNextCall(session, holding());
    try {
      return new Turn(setting, await openAs(setting, input), hold?.held);
    } catch (error) {
      await hold?.held?.release();
      throw error;
    }
  }

  get opened(): OpenTurn {
    return this.#opened;
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

  /** Prolongs the hold: the run shows activity, and may be silent for so many milliseconds now. */
  signOfLife(silenceMs?: number): void {
    this.#held?.signOfLife(silenceMs);
  }

  /** Prolongs the hold, and acquires it again where the run seemed over, or was silent for too long. */
  async enter(): Promise<void> {
    const { session, holding } = this.#setting;
    if (this.#held?.hasLapsed) {
      await this.end();
    }
    if (this.#held === undefined && holding !== undefined) {
      const how = holding();
      this.#held = await holdAgain(session, how);
      if (how.signal?.aborted) {
        // A run stopped while acquiring has no use for the hold.
        await this.end();
        how.signal.throwIfAborted();
      }
    }
    this.#held?.signOfLife();
  }

  end(): Promise<void> | undefined {
    const held = this.#held;
    this.#held = undefined;
    return held?.release();
  }

  reportReplay(): void {
    report(this.#setting.session.context.onEvent, { type: "turn_repeated", ...this.#names });
  }

  get #names() {
    return { sessionId: this.#setting.session.sessionId, turnId: this.#turnId };
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
    return this.#write(messages, { done: true, ...how });
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
      const failed = { type: "turn_not_stored", ...this.#names, reason: "failed", error } as const;
      report(this.#setting.session.context.onEvent, failed);
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
    const hold = done ? this.#held : undefined;
    const settings = { stored: this.#stored, done, output: how.output, cut, reduce };
    const written = { returnView: isCommitted, release: hold?.ticket, trace, ...settings };
    const { outcome, sent } = await this.#append(messages, { turn: written, ...(side && { side }) });
    if (outcome.gaveBack) {
      hold?.wasGivenBack();
    }
    messages.forEach(({ id }) => this.#settled.add(id));
    this.#note(outcome, sent);
    if (!this.#isClosed && isCommitted && outcome.view !== undefined) {
      this.requests.list.update(messages);
      const work = this.#commit(outcome.view, { hasCut: cut !== undefined, trace });
      await (reduceWhen === "background" ? session.inBackground(work) : work);
    }
  }

  /** Appends; an answer whose id was stored with other content gets one of its own. */
  async #append(messages: readonly BaseMessage[], write: TurnAppend) {
    const { history, session } = this.#setting;
    const named = this.#turnId === undefined ? write : { turnId: this.#turnId, ...write };
    const refusing = { ...named, turn: { refusesKnown: true, ...write.turn } };
    for (let sent = messages; ;) {
      try {
        return { outcome: await writeTurn(history, sent, refusing), sent };
      } catch (error) {
        const id = ConflictError.isInstance(error) && error.code === "content" ? error.messageId : undefined;
        const other = sent.find((message) => message.id !== undefined && message.id === id);
        const isInput = other !== undefined && (roleOf(other) === "human" || roleOf(other) === "system");
        if (other === undefined || (isInput && session.context.onConflict === "error")) {
          throw error;
        }
        if (isInput) {
          return { outcome: await writeTurn(history, sent, named), sent };
        }
        const own = this.requests.renamed(other);
        sent = sent.map((message) => (message === other ? own : message));
      }
    }
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

  /** The stored messages of the answer, without marks. */
  get storedAnswer(): BaseMessage[] {
    return answersOfTurn(this.#replay ?? this.#opened.stored);
  }
}

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
