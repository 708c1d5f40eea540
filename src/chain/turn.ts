import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { report } from "../base/events.js";
import { loadedOnce } from "../base/loaded-once.js";
import { writeTurn, type TurnOutcome, type TurnSettings } from "../session/append-options.js";
import type { ConversationSession } from "../session/conversation-session.js";
import { type HeldTurn, holdWithNextCall, type RunHold } from "../session/hold/take-hold.js";
import { overridesAppend, type RedisChatMessageHistory, sessionOf } from "../memory/redis-chat-message-history.js";
import { replacedTail, messagesOfTurn } from "../session/turn-messages.js";
import { traceOf, type TracePlace } from "../session/reduction-trace.js";
import { readRunNames, sessionIdOf } from "../session/identity.js";
import { roleOf } from "../messages/roles.js";
import { interruptedAnswer } from "../turns/stop.js";
import type { Adapter } from "../structure/adapters/adapter.js";
import { sealedIn } from "../messages/calls.js";
import { modelInput, reportForeign, planOf, type ModelPlan } from "../structure/seam/model-input.js";
import { canOpenByWriting, openByWriting, openTurn, windowFor, type OpenTurn } from "../turns/open-turn.js";
import {
  describeOutput,
  storedOutput,
  type StoredOutput,
  answerOf,
  inputMessages,
  newMessages,
  type ChainInput,
  runnableInput,
} from "./messages.js";
import type { MeasuredRequest } from "../reducers/window/context-window.js";
import { markedInput } from "../reducers/prompt-cache/marks.js";
import type { ChainOptions } from "./options.js";

const sessionHint =
  'pass { configurable: { sessionId: "…" } } as the second argument, or give withRedisMemory the option "sessionId"';

const owner = "withRedisMemory: oneTurnAtATime";
/** Maximum silence of a run, or pause of its stream's reader, before it loses its hold; in milliseconds. */
const longestMs = 15 * 60_000;

/** Constructor arguments of {@link ChainTurn}. */
interface TurnParts extends MadeRequest {
  readonly options: ChainOptions;
  readonly history: RedisChatMessageHistory;
  readonly session: ConversationSession;
  readonly turnId: string | undefined;
  readonly config: Partial<RunnableConfig>;
  readonly opened: OpenTurn;
  /** The caller's input. */
  readonly given: ChainInput;
  readonly held: HeldTurn | undefined;
  /** Parent run of a reduction after a write, for tracers. */
  readonly trace: TracePlace | undefined;
}

/** A turn before it is opened. */
type TurnPlace = Omit<TurnParts, keyof MadeRequest | "opened" | "given" | "held">;

/** The request of a turn. */
interface MadeRequest {
  /** The request, where its model's window is known. */
  readonly measured: MeasuredRequest | undefined;
  /** The conversation in front of the turn. */
  readonly view: readonly BaseMessage[];
  readonly sent: readonly BaseMessage[];
  readonly input: unknown;
  /** The chain's runnable, or a copy of it whose models are wired. */
  readonly runnable: unknown;
  /** True where no model is in sight. */
  readonly isHidden: boolean;
}

/** A turn whose request is to be made; `failed` where an earlier one of it was refused. */
interface RequestParts extends Pick<TurnParts, "opened" | "given"> {
  readonly failed?: { readonly history: readonly BaseMessage[]; readonly error: unknown };
}

const ignore = () => undefined;
/** The code of requests that fit a window, loaded with the first memory that has such a reducer. */
const fitting = loadedOnce(() => import("../turns/fit-window.js"));

/** The code of views that the next model cannot read, loaded with the first one. */
const reading = loadedOnce(() => import("../turns/readable-turn.js"));

/** The code of thoughts of models out of sight, loaded with the first. */
const hiding = loadedOnce(() => import("./hidden-thoughts.js"));

/** The code of chains whose models are wired, loaded with the first that needs it. */
const wiring = loadedOnce(() => import("./wired-models.js"));

/** One run of a chain: its input, and the messages to store. */
export class ChainTurn {
  #parts: TurnParts;
  /** Output of an already stored turn, returned without a model call. */
  repeated: StoredOutput | undefined;
  /** True once the turn is stored with its answer: nothing more is written. */
  #isStored: boolean;
  #newInput: readonly BaseMessage[];
  /** Number of the turn's records known to be stored. */
  #stored: number;
  #isOver = false;
  /** The write of a stopped run; the hold is released after it. */
  #stopping: Promise<void> | undefined;

  private constructor(parts: TurnParts) {
    this.#parts = parts;
    const { opened, sent, session, turnId } = parts;
    this.#newInput = opened.newMessages;
    this.#stored = opened.view.stored.turn?.count ?? 0;
    this.#isStored = opened.state === "stored";
    if (this.#isStored) {
      const { sessionId, context } = session;
      report(context.onEvent, { type: "turn_repeated", sessionId, turnId });
      this.repeated = storedOutput(opened.stored, sent);
    }
  }

  /**
   * Reads the session and finds the new messages; stores them with `persist: "step"`.
   *
   * @throws ConfigurationError if the run names no session, or the input has no messages.
   */
  static async begin(options: ChainOptions, input: ChainInput, config: Partial<RunnableConfig>): Promise<ChainTurn> {
    const { configurable = {} } = config;
    const names = readRunNames(configurable, "withRedisMemory", { namesSession: options.sessionId !== undefined });
    const named: unknown = options.sessionId ?? configurable["sessionId"] ?? configurable["thread_id"];
    const sessionId = sessionIdOf({ named, run: config, owner: "withRedisMemory", hint: sessionHint });
    const history = options.memory.history(sessionId, { ...names.owner, ...names.label });
    const session = sessionOf("withRedisMemory", history);
    const trace = session.context.reducer && traceOf(config);
    const messages = inputMessages(input, options.inputMessagesKey);
    const turnId = names.turnId ?? questionIdOf(messages);
    const opening = ChainTurn.#hold({ options, history, session, turnId, config, trace }, input, messages);
    // The caller of a stopped run is gone, so `drain` waits for its write.
    session.inBackground(opening.then(ignore, ignore));
    return opening;
  }

  /** Opens the turn; its first call acquires the hold. */
  static async #hold(place: TurnPlace, input: ChainInput, messages: readonly BaseMessage[]): Promise<ChainTurn> {
    const { options, session, config } = place;
    const { holding } = options;
    const { signal } = config;
    const hold = holding && holdWithNextCall(session, { owner, ...holding, longestMs, signal });
    try {
      return await ChainTurn.#open(place, hold, { input, messages });
    } catch (error) {
      await hold?.held?.release();
      throw error;
    }
  }

  static async #open(
    place: TurnPlace,
    hold: RunHold | undefined,
    { input, messages }: { readonly input: ChainInput; readonly messages: readonly BaseMessage[] },
  ): Promise<ChainTurn> {
    const { options, history, session, turnId, config } = place;
    const isWritten = options.persist === "step" && canOpenByWriting(messages);
    const request = { session, turnId, input: messages, isRewritten: overridesAppend(history) };
    const opened = await (isWritten ? openByWriting({ ...request, history }) : openTurn(request));
    const made = await ChainTurn.#request(place, { opened, given: input });
    const turn = new ChainTurn({ ...place, ...made!, held: hold?.held, opened, given: input });
    await turn.#storeInput();
    if (config.signal?.aborted) {
      await turn.stop(ignore);
    }
    return turn;
  }

  /** The request of a turn, in the form of the profile; undefined where a failed one is not to be tried again. */
  static async #request(
    { options, session, config }: Pick<TurnParts, "options" | "session" | "config">,
    { opened: asRead, given, failed }: RequestParts,
  ): Promise<MadeRequest | undefined> {
    const { profile = session.context.profile } = options;
    const { onEvent } = session.context;
    const { sessionId } = session;
    const observer = { sessionId, onEvent };
    const planned = await planOf(profile, { model: options.runnable, config }, observer);
    const { plan } = planned;
    const opened = await readableFor(asRead, session, { adapter: plan.criteria.profile.adapter, config });
    const source = failed === undefined ? windowFor(session, planned.profile) : session.context.window;
    const toFit = { opened, model: options.runnable, config, failed };
    const fitted = source && (await (await fitting()).fitHistory(session, { ...toFit, source }));
    if (failed !== undefined && fitted === undefined) {
      return undefined;
    }
    const { history: view = opened.history, measured } = fitted ?? {};
    reportForeign([...view, ...opened.turn], plan.criteria.profile, observer);
    const made = modelInput({ history: view, turn: opened.turn, plan, sessionId, onEvent });
    const whole = isHidden(planned) ? (await hiding()).withFittingThoughts(made, observer) : made;
    const { runnable, input: forModel } = needsWires(planned)
      ? (await wiring()).wiredTurn(whole, { ...planned, ...observer, named: profile, runnable: options.runnable })
      : { runnable: options.runnable, input: whole };
    const sent = [...forModel.history, ...forModel.turn];
    const marked = options.promptCacheMarks ? markedInput(forModel, plan.criteria.profile) : forModel;
    const input = runnableInput(given, marked, options);
    return { measured, view, sent, input, runnable, isHidden: isHidden(planned) };
  }

  /** Makes the view smaller if the request was refused as too long; false if it is not to be tried again. */
  async cutFor(error: unknown): Promise<boolean> {
    const { opened, given, view, session } = this.#parts;
    if (session.context.window === undefined || this.#isOver) {
      return false;
    }
    const made = await ChainTurn.#request(this.#parts, { opened, given, failed: { history: view, error } });
    if (made !== undefined) {
      this.#parts = { ...this.#parts, ...made };
    }
    return made !== undefined;
  }

  /** Runs a function in the hold's async context, so that nested turns are detected. */
  async within<Result>(run: () => Promise<Result>): Promise<Result> {
    return this.#parts.held === undefined ? run() : this.#parts.held.within(run);
  }

  /** The chain, or its copy with wired models. */
  get runnable(): unknown {
    return this.#parts.runnable;
  }

  /** The runnable's input. */
  get input(): unknown {
    return this.#parts.input;
  }

  /** Stores the answer. Returns the output, or that of another run that stored the same turn first. */
  async finish<Output>(output: Output): Promise<Output> {
    const { options, config, sent, turnId, held, measured, isHidden } = this.#parts;
    // The caller of an aborted run got its rejection already; storing now would contradict it.
    config.signal?.throwIfAborted();
    this.#isOver = true;
    if (this.#isStored) {
      return output;
    }
    const { messages, as, key } = answerOf(output, options.outputMessagesKey);
    const said = newMessages(sent, messages);
    const answered = isHidden ? (await hiding()).stampedAnswers(said, sent) : said;
    if (measured !== undefined) {
      (await fitting()).noteFirstAnswer(answered, measured);
    }
    const kind = as === "messages" && answered.length < messages.length ? "conversation" : as;
    const described = kind && describeOutput(kind, answered.length, key);
    const settings = { ...this.#place(answered), output: described, giveBack: held?.ticket };
    const outcome = await this.#append([...this.#newInput, ...answered], settings);
    if (outcome.gaveBack) {
      held?.wasGivenBack();
    }
    const stored = outcome.storedTurn && storedOutput(messagesOfTurn(outcome.storedTurn, turnId!), sent);
    return stored === undefined ? output : (stored.value as Output);
  }

  /**
   * Ends a stopped run: `onAbort: "keep"` stores the user messages and the partial answer. `drain` and `close` of the
   * memory wait for this write.
   */
  stop(partial: () => unknown): Promise<void> {
    if (this.#isOver) {
      return Promise.resolve();
    }
    this.#isOver = true;
    const { options, session, turnId } = this.#parts;
    const isKept = options.onAbort === "keep" && !this.#isStored;
    this.#stopping = (isKept ? this.#storeStopped(partial) : Promise.resolve()).catch((error: unknown) => {
      const { sessionId, context } = session;
      report(context.onEvent, { type: "turn_not_stored", sessionId, turnId, reason: "failed", error });
    });
    const work = this.end();
    session.inBackground(work);
    return work;
  }

  /** Prolongs the hold: a chunk was produced and read. */
  signOfLife(): void {
    this.#parts.held?.signOfLife();
  }

  /** Releases the hold. */
  async end(): Promise<void> {
    await this.#stopping;
    await this.#parts.held?.release();
  }

  async #storeInput(): Promise<void> {
    const { options, sent, turnId } = this.#parts;
    if (options.persist !== "step" || this.#isStored || this.#newInput.length === 0) {
      return;
    }
    const { appended, duplicates, storedTurn } = await this.#append(this.#newInput, {
      stored: this.#stored,
      done: false,
    });
    if (storedTurn !== undefined) {
      this.#isStored = true;
      this.repeated = storedOutput(messagesOfTurn(storedTurn, turnId!), sent);
    }
    // If nothing was appended, another run of the same turn has stored the same input.
    this.#stored += appended + duplicates === 0 ? this.#newInput.length : appended;
    this.#newInput = [];
  }

  async #storeStopped(partial: () => unknown): Promise<void> {
    const said = this.#messagesOf(await partial());
    const messages = [...this.#newInput, ...said];
    if (messages.length > 0) {
      await this.#append(messages, { ...this.#place(said), done: false });
    }
  }

  /** The messages of an incomplete output; empty if it holds none. */
  #messagesOf(output: unknown): BaseMessage[] {
    const { options, sent } = this.#parts;
    if (output === undefined) {
      return [];
    }
    try {
      return interruptedAnswer(newMessages(sent, answerOf(output, options.outputMessagesKey).messages));
    } catch {
      return [];
    }
  }

  #place(answered: readonly BaseMessage[]): TurnSettings {
    const { opened, turnId } = this.#parts;
    const isReplacing = opened.state === "interrupted" && answered.length > 0;
    const { stored, view } = opened;
    const cut = isReplacing ? replacedTail({ own: stored, read: view.stored, turnId }) : undefined;
    return { stored: this.#stored, cut };
  }

  #append(messages: readonly BaseMessage[], turn: TurnSettings): Promise<TurnOutcome> {
    const { history, turnId, trace } = this.#parts;
    // A reducer that knows windows has fitted the request, and will fit the next one.
    const { window } = this.#parts.session.context;
    const fitted = window === undefined ? turn : { ...turn, reduce: false };
    const traced = trace === undefined ? fitted : { ...fitted, trace };
    return writeTurn(history, messages, turnId === undefined ? { turn: traced } : { turnId, turn: traced });
  }
}

/** A turn as the model can read it. */
function readableFor(
  opened: OpenTurn,
  session: ConversationSession,
  { adapter, config }: { readonly adapter: Adapter | undefined; readonly config: Partial<RunnableConfig> },
): OpenTurn | Promise<OpenTurn> {
  const reduced = async () => (await reading()).reducedTurn(session, opened, { adapter, trace: traceOf(config) });
  return sealedIn(opened.history, adapter) === undefined ? opened : reduced();
}

/** True where no model is in sight whose name or class is known. */
function isHidden({ plan: { criteria } }: ModelPlan): boolean {
  return criteria.profile.adapter === "neutral" && criteria.model === undefined;
}

/** True for models to which what a prompt puts in front of the history matters: it binds, or there may be one text. */
function needsWires({ plan, profile }: ModelPlan): boolean {
  return profile.bindsThoughts || plan.criteria.profile.rules.S04 === "error";
}

/** The id of the input's last message, if it is a user message: the turn's id unless one is given. */
function questionIdOf(input: readonly BaseMessage[]): string | undefined {
  const question = input.at(-1);
  const id = question !== undefined && roleOf(question) === "human" ? question.id : undefined;
  return id === "" ? undefined : id;
}
