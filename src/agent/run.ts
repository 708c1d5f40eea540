import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { report, type MemoryEventHandler } from "../base/events.js";
import { loadedOnce } from "../base/loaded-once.js";
import { writeTurn, type TurnOutcome } from "../session/append-options.js";
import type { ConversationSession } from "../session/conversation-session.js";
import { overridesAppend, type RedisChatMessageHistory } from "../memory/redis-chat-message-history.js";
import { traceOf } from "../session/reduction-trace.js";
import { replacedTail, answerStart, messagesOfTurn } from "../session/turn-messages.js";
import { roleOf } from "../messages/roles.js";
import type { ContextWindow } from "../reducers/window/context-window.js";
import type { ReducerRequest } from "../reducers/chat-history-reducer.js";
import type { RewindRequest } from "../store/session-writes.js";
import type { Adapter } from "../structure/adapters/adapter.js";
import { sealedIn } from "../messages/calls.js";
import type { ProfileChoice } from "../structure/profiles/check-profile.js";
import type { StructureProfile } from "../structure/profiles/profile.js";
import type { RepairPlan } from "../structure/options.js";
import {
  modelInput,
  type ModelPlan,
  type PlannedRequest,
  planOf,
  reportCompaction,
  reportForeign,
} from "../structure/seam/model-input.js";
import { canOpenByWriting, idsOf, openByWriting, openTurn, windowFor, type OpenTurn } from "../turns/open-turn.js";
import { interruptedMessage } from "../turns/stop.js";
import { copiesIn, missingIn, turnIdOf, withoutSummaries, type StateParts, correctedState } from "./state.js";
import { commitLoop } from "./commit-loop.js";
import { LoopView, type SentView } from "./loop-view.js";
import { currentConfig, type RunPlace } from "./run-place.js";

/** The code of views that the next model cannot read, loaded with the first one. */
const reading = loadedOnce(() => import("../turns/readable-turn.js"));

/** Constructor arguments of {@link AgentRun}. */
export interface RunSetting {
  readonly history: RedisChatMessageHistory;
  readonly session: ConversationSession;
  readonly place: RunPlace;
  readonly profile: ProfileChoice | undefined;
  /** The parts of the run's initial state. */
  readonly parts: StateParts;
}

/** A model call, and the repair of its request. */
interface RequestSetting extends ModelPlan {
  readonly config: RunnableConfig;
  readonly call: Pick<ReducerRequest, "model" | "system" | "tools">;
  /** Calls the model, or another one, as the request does, with other messages. */
  readonly ask: (messages: BaseMessage[], config?: RunnableConfig, model?: unknown) => Promise<BaseMessage>;
}

/** A request that was made; its `ask` can call another model in place of its own. */
interface MadeRequest extends ReducerRequest {
  readonly ask: (messages: BaseMessage[], config?: RunnableConfig, model?: object) => Promise<BaseMessage>;
}

/** The hold that a run's last write releases. */
interface Held {
  readonly ticket: string | undefined;
  wasGivenBack(): void;
}

/** One run of an agent: stores its turn, and builds its model requests. */
export class AgentRun {
  /** Profile for which requests are repaired. */
  readonly #profile: ProfileChoice;
  readonly #history: RedisChatMessageHistory;
  readonly #session: ConversationSession;
  #opened: OpenTurn;
  readonly #parts: StateParts;
  readonly #turnId: string | undefined;
  /** Ids of the state's messages that are stored already, or never will be. */
  readonly #settled: Set<string>;
  /** Ids of the state's messages that are in the view, or not for the model. */
  readonly #hidden: ReadonlySet<string>;
  readonly #loop: LoopView;
  /** The request made last. */
  #request: MadeRequest | undefined;
  /** The adapter for which the view was read from the transcript. */
  #readFor: Adapter | undefined;
  readonly #reported = new Set<string>();
  /** Number of messages stored under the turn's name. */
  #stored: number;
  #cut: RewindRequest | undefined;
  /** True if the turn was stored with its answer before this run. */
  readonly #isDone: boolean;
  /** Set once another run has stored this turn, or it can no longer be stored. */
  #isClosed = false;
  #answer: readonly BaseMessage[] | undefined;
  /** The write under way; the next one needs its count. */
  #writing: Promise<void> = Promise.resolve();

  private constructor({ history, session, place, profile, parts }: RunSetting, opened: OpenTurn) {
    this.#history = history;
    this.#session = session;
    this.#profile = profile ?? session.context.profile;
    this.#parts = parts;
    this.#opened = opened;
    const ofTurn = new Set(idsOf(opened.turn));
    const ofInput = new Set(idsOf(opened.newMessages));
    const own = opened.stored.map(({ message }) => message);
    const copies = copiesIn(parts, own);
    const inStore = idsOf(parts.input).filter((id) => !ofInput.has(id));
    this.#settled = new Set([...copies, ...inStore, ...idsOf(own)]);
    this.#hidden = new Set([...copies, ...inStore.filter((id) => !ofTurn.has(id))]);
    // New messages behind a complete turn: the caller continues it, but its name is taken.
    const goesOn = opened.state === "stored" && idsOf(parts.after).some((id) => !this.#settled.has(id));
    this.#turnId = goesOn ? undefined : turnIdOf(place, parts);
    this.#isDone = opened.state === "stored" && this.#turnId !== undefined;
    this.#isClosed = this.#isDone;
    const mark = opened.view.stored.turn;
    this.#stored = goesOn ? 0 : (mark?.count ?? 0);
    const interrupted = { own: opened.stored, read: opened.view.stored, turnId: mark && this.#turnId };
    this.#cut = opened.state === "interrupted" ? replacedTail(interrupted) : undefined;
    this.#loop = new LoopView(this.#session, this.#before);
  }

  /** The view in front of the turn, without what the state holds behind its question. */
  get #before(): BaseMessage[] {
    const after = new Set(idsOf(this.#parts.after));
    return this.#opened.history.filter(({ id }) => id === undefined || !after.has(id));
  }

  /**
   * Reads the session and finds the new messages of the state. With `writes`, the question is stored in the same round
   * trip as it stands in the state, where that can tell whether it is new.
   */
  static async open(
    setting: RunSetting,
    { state, writes }: { readonly state: readonly BaseMessage[]; readonly writes: boolean },
  ): Promise<AgentRun> {
    const { history, session, place, parts } = setting;
    const { input } = parts;
    const how = { changed: state, isRewritten: overridesAppend(history) };
    const request = { session, turnId: turnIdOf(place, parts), input, ...how };
    const current = withoutSummaries(writes ? state : []);
    const isQuestion = current[0]?.id !== undefined && current[0].id === input[0]?.id;
    const canWrite = isQuestion && canOpenByWriting(current) && canOpenByWriting(input);
    return new AgentRun(
      setting,
      await (canWrite ? openByWriting({ ...request, input: current, history }) : openTurn(request)),
    );
  }

  /** The stored messages missing in the state, if the turn is stored with its answer; else undefined. */
  replay(): BaseMessage[] | undefined {
    if (!this.#isDone) {
      return undefined;
    }
    const { sessionId, context } = this.#session;
    report(context.onEvent, { type: "turn_repeated", sessionId, turnId: this.#turnId });
    return missingIn(this.#parts, this.#storedAnswer());
  }

  /** The stored answer, if another run stored it. */
  get storedAnswer(): readonly BaseMessage[] | undefined {
    return this.#isDone ? this.#storedAnswer() : this.#answer;
  }

  /** True once the run writes nothing more. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** The repair of a request for the profile. */
  planOf(request: PlannedRequest): Promise<ModelPlan> {
    const { sessionId, context } = this.#session;
    return planOf(this.#profile, request, { sessionId, onEvent: context.onEvent });
  }

  /** The messages of a request: the reduced view and the turn, repaired. */
  async request(
    state: readonly BaseMessage[],
    sent: readonly BaseMessage[],
    { plan, profile, config, call, ask }: RequestSetting,
  ): Promise<BaseMessage[]> {
    this.#loop.update(this.#turnIn(state));
    await this.#makeReadable(state, plan.criteria.profile);
    const besides = sent === state ? [] : this.#loop.asSent(state, sent).extra;
    const source = windowFor(this.#session, profile);
    const askWith = (list: BaseMessage[], inner?: RunnableConfig, model?: object) => {
      const { messages } = this.#loop.asSent(state, sent, list);
      return ask(this.#formed({ messages, extra: [] }, plan), inner, model);
    };
    const request = { ...call, config, besides, isWhole: true, ask: askWith };
    this.#request = request;
    await this.#loop.reduce(config, source && { source, request });
    return this.#formed(this.#loop.asSent(state, sent), plan);
  }

  /** Begins again behind the transcript where the list's head is a compaction that the model cannot read. */
  async #makeReadable(state: readonly BaseMessage[], profile: StructureProfile): Promise<void> {
    const { adapter } = profile;
    const { sessionId, context } = this.#session;
    const observer = { sessionId, onEvent: context.onEvent };
    const sealed = sealedIn(this.#loop.messages, adapter);
    if (sealed === undefined) {
      reportForeign(this.#loop.messages, profile, observer);
      return;
    }
    const { readableTurn, openedMessage } = await reading();
    reportCompaction(sealed, "transcript", observer);
    this.#opened = await readableTurn(this.#session, this.#opened, adapter);
    this.#readFor = adapter;
    this.#loop.restart(this.#before, (message) => openedMessage(message, adapter));
    this.#loop.update(this.#turnIn(state));
  }

  /** The messages in the form that the model takes. */
  #formed({ messages, extra }: SentView, plan: RepairPlan): BaseMessage[] {
    const first = messages.findIndex(({ isOfTurn }) => isOfTurn);
    const all = messages.map(({ message }) => message);
    const split = first < 0 ? all.length : first;
    const { sessionId } = this.#session;
    const { history, turn } = modelInput({
      history: all.slice(0, split),
      turn: [...all.slice(split), ...extra],
      plan,
      sessionId,
      onEvent: this.#onceEach,
    });
    return [...history, ...turn];
  }

  /** Makes the view smaller if the request made last was refused as too long; false if it is not to be tried again. */
  async cutFor(error: unknown, config: RunnableConfig): Promise<boolean> {
    const { window: source } = this.#session.context;
    const request = this.#request;
    return source !== undefined && request !== undefined && this.#loop.cutFor(error, { source, request }, config);
  }

  /** Notes the model's answer to the request made last. */
  answered(answer: BaseMessage): Promise<void> {
    return this.#loop.answered(answer);
  }

  /** Stores the turn's unstored messages in the state; `done` ends the turn and releases its hold in the same step. */
  store(
    state: readonly BaseMessage[],
    { done, held }: { readonly done: boolean; readonly held?: Held },
  ): Promise<void> {
    return this.#afterOthers(() => this.#store(state, { done, held }, this.#unsettled(state)));
  }

  /** Stores a stopped run: the turn so far, and the model's partial output. */
  storeStopped(state: readonly BaseMessage[], partial: BaseMessage | undefined): Promise<void> {
    const said = interruptedMessage(partial);
    return this.#afterOthers(() => {
      return this.#store(state, { done: false }, [...this.#unsettled(state), ...(said === undefined ? [] : [said])]);
    });
  }

  /**
   * Handles a run that another middleware ended past all later hooks. Stores finished steps, unless `steps` is false,
   * but not the user messages, which that middleware may have wanted to redact; reports the omission.
   */
  skipped(state: readonly BaseMessage[], { steps }: { readonly steps: boolean }): Promise<void> {
    return this.#afterOthers(async () => {
      const messages = this.#unsettled(state);
      const isStep = steps && messages.every((message) => roleOf(message) !== "human");
      if (isStep) {
        await this.#store(state, { done: false }, messages);
      } else if (!this.#isClosed) {
        const { sessionId, context } = this.#session;
        report(context.onEvent, { type: "turn_not_stored", sessionId, turnId: this.#turnId, reason: "skipped" });
      }
    });
  }

  #afterOthers(work: () => Promise<void>): Promise<void> {
    const writing = this.#writing.then(work);
    this.#writing = writing.catch(() => undefined);
    return writing;
  }

  #unsettled(state: readonly BaseMessage[]): BaseMessage[] {
    return withoutSummaries(state).filter(({ id }) => id === undefined || !this.#settled.has(id));
  }

  async #store(
    state: readonly BaseMessage[],
    { done, held }: { readonly done: boolean; readonly held?: Held | undefined },
    messages: readonly BaseMessage[],
  ): Promise<void> {
    const endsOpen = done && this.#turnId !== undefined && this.#stored > 0;
    if (this.#isClosed || (messages.length === 0 && !endsOpen)) {
      return;
    }
    const { reducer, reduceWhen, window } = this.#session.context;
    const mayReduce = window === undefined ? reducer !== undefined : this.#loop.reducedFrom !== undefined;
    const commits = done && mayReduce && reduceWhen !== "never";
    const cut = messages.length > 0 ? this.#cut : undefined;
    const how = { done, keepStored: true, reduce: false, returnView: commits };
    const giveBack = held?.ticket;
    const outcome = await writeTurn(this.#history, messages, {
      ...(this.#turnId !== undefined && { turnId: this.#turnId }),
      turn: { stored: this.#stored, ...how, ...(cut && { cut }), ...(giveBack !== undefined && { giveBack }) },
    });
    if (outcome.gaveBack) {
      held?.wasGivenBack();
    }
    this.#note(outcome, messages);
    if (commits && outcome.view !== undefined && !this.#isClosed) {
      this.#loop.update(this.#turnIn(state));
      const request = { session: this.#session, opened: this.#opened, loop: this.#loop, view: outcome.view };
      const work = commitLoop({ ...request, hasCut: cut !== undefined, readFor: this.#readFor });
      await (reduceWhen === "background" ? this.#session.inBackground(work) : work);
    }
    if (done && (reducer as Partial<ContextWindow> | undefined)?.isNative && !this.#isClosed) {
      this.#session.inBackground(this.#compact(state));
    }
  }

  /** Asks the provider to compact what was sent, if it nears the window. */
  async #compact(state: readonly BaseMessage[]): Promise<void> {
    const { window: source } = this.#session.context;
    const request = this.#request;
    if (source === undefined || request === undefined) {
      return;
    }
    this.#loop.update(this.#turnIn(state));
    const messages = [...this.#loop.messages];
    const ask = (list: BaseMessage[], model: object, inner?: RunnableConfig) => request.ask(list, inner, model);
    const config = traceOf(currentConfig());
    const { compactNatively } = await import("../turns/native-compaction.js");
    await compactNatively(this.#session, { source, messages, request, config, ask });
  }

  /** State update that makes the state equal to the stored turn; undefined if it is. */
  correction(state: readonly BaseMessage[]): BaseMessage[] | undefined {
    const missing = this.#opened.state === "open" ? missingIn(this.#parts, this.#storedAnswer()) : [];
    return correctedState({ parts: this.#parts, state, answer: this.#answer, missing });
  }

  #storedAnswer(): BaseMessage[] {
    const { stored } = this.#opened;
    return stored.slice(answerStart(stored)).map(({ message }) => message);
  }

  #note(outcome: TurnOutcome, messages: readonly BaseMessage[]): void {
    if (outcome.repeated) {
      const stored = outcome.storedTurn === undefined ? [] : messagesOfTurn(outcome.storedTurn, this.#turnId!);
      const answer = stored.slice(answerStart(stored)).map(({ message }) => message);
      this.#answer = answer.length === 0 ? undefined : answer;
    }
    this.#isClosed = outcome.repeated || outcome.refused !== undefined;
    this.#stored = outcome.turnCount ?? this.#stored + outcome.appended;
    this.#cut = messages.length > 0 ? undefined : this.#cut;
    idsOf(messages).forEach((id) => this.#settled.add(id));
  }

  /** The turn's messages, in the state's version if it holds them. */
  #turnIn(state: readonly BaseMessage[]): BaseMessage[] {
    const { turn } = this.#opened;
    const ids = new Set(idsOf(turn));
    const current = new Map(state.map((message) => [message.id, message]));
    const later = withoutSummaries(state).filter(
      ({ id }) => id === undefined || (!this.#hidden.has(id) && !ids.has(id)),
    );
    return [...turn.map((message) => current.get(message.id) ?? message), ...later];
  }

  /** Event handler that reports each repair once per run, not per model call. */
  get #onceEach(): MemoryEventHandler {
    return (event) => {
      const key = JSON.stringify(event);
      if (!this.#reported.has(key)) {
        this.#reported.add(key);
        report(this.#session.context.onEvent, event);
      }
    };
  }
}
