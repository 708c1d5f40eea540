import type { BaseMessage } from "@langchain/core/messages";
import type { Runnable, RunnableConfig } from "@langchain/core/runnables";
import { loadedOnce } from "../../base/bounds.js";
import { overridesAppend, sessionOf } from "../../memory/histories/redis-chat-message-history.js";
import { roleOf } from "../../conversation/messages/message.js";
import type { ConversationSession } from "../../memory/session/conversation-session.js";
import { readRunNames, sessionIdOf } from "../../memory/session/identity.js";
import type { ModelPlan } from "../../conversation/structure/seam/model-input.js";
import { firstOpenStep, interruptedAnswer, PartialOutput } from "../../memory/turns/stop.js";
import { Turn } from "../../memory/turns/turn.js";
import { answerOf, inputMessages, runnableInput, storedOutput } from "./messages.js";
import type { ChainInput, StoredOutput } from "./messages.js";
import type { ChainOptions } from "./options.js";

const sessionHint =
  'pass { configurable: { sessionId: "…" } } as the second argument, or give withRedisMemory the option "sessionId"';

const owner = "withRedisMemory: oneTurnAtATime";
/** Maximum silence of a run, or pause of its stream's reader, before it loses its hold; in milliseconds. */
const longestMs = 15 * 60_000;

/** A run of a chain: its options, its config, and the caller's input. */
interface ChainRun {
  readonly options: ChainOptions & { readonly acts: boolean };
  readonly session: ConversationSession;
  readonly config: Partial<RunnableConfig>;
  readonly input: ChainInput;
}

/** The request of a turn. */
interface MadeRequest {
  readonly sent: readonly BaseMessage[];
  readonly input: unknown;
  readonly runnable: unknown;
}

const ignore = () => undefined;
/** The code of outputs that may repeat the request, loaded with the first list. */
const listing = loadedOnce(() => import("../../memory/turns/answers.js"));

/** The code of chains whose models are wired or out of sight, loaded with the first. */
const wiring = loadedOnce(() => import("./wired-models.js"));

/** One run of a chain: translates its input and output for a {@link Turn}. */
export class ChainTurn {
  readonly #run: ChainRun;
  readonly #turn: Turn;
  #made: MadeRequest;
  #isOver = false;
  /** Messages of finished steps under their ids in the graph's state, as they are stored. */
  readonly #steps = new Map<string | undefined, BaseMessage>();
  /** The write of a stopped run; the hold is released after it. */
  #stopping: Promise<void> | undefined;

  private constructor(run: ChainRun, turn: Turn, made: MadeRequest) {
    this.#run = run;
    this.#turn = turn;
    this.#made = made;
  }

  /**
   * Reads the session and finds the new messages; stores them with `persist: "step"`. `acts` is true for a runnable
   * that may call tools before a request is refused.
   *
   * @throws ConfigurationError if the run names no session, or the input has no messages; BudgetError of the reducer.
   */
  static async begin(
    options: ChainOptions & { readonly acts: boolean },
    input: ChainInput,
    config: Partial<RunnableConfig>,
  ): Promise<ChainTurn> {
    if (options.mistake !== undefined) {
      throw options.mistake;
    }
    const { configurable = {} } = config;
    const names = readRunNames(configurable, "withRedisMemory", { namesSession: options.sessionId !== undefined });
    const named: unknown = options.sessionId ?? configurable["sessionId"] ?? configurable["thread_id"];
    const sessionId = sessionIdOf({ named, run: config, owner: "withRedisMemory", hint: sessionHint });
    const history = options.memory.history(sessionId, { ...names.owner, ...names.label });
    const session = sessionOf("withRedisMemory", history);
    const messages = inputMessages(input, options.inputMessagesKey);
    const { holding, profile, acts } = options;
    const { signal } = config;
    const setting = {
      turnId: names.turnId ?? questionIdOf(messages),
      holding: holding && (() => ({ owner, longestMs, signal, ...holding })),
      ...{ history, session, profile, acts, config, policy: options, isRewritten: overridesAppend(history) },
    };
    const opening = ChainTurn.#open({ options, session, config, input }, Turn.open(setting, { messages }));
    // The caller of a stopped run is gone, so `drain` waits for its write.
    session.inBackground(opening.then(ignore, ignore));
    return opening;
  }

  static async #open(run: ChainRun, opening: Promise<Turn>): Promise<ChainTurn> {
    const turn = await opening;
    try {
      const storing = turn.storeInput();
      if (storing !== undefined) {
        await storing;
      }
      const chain = new ChainTurn(run, turn, await madeRequest(run, turn));
      if (turn.opened.state === "stored") {
        turn.reportReplay();
      }
      if (run.config.signal?.aborted) {
        await chain.stop(ignore);
      }
      return chain;
    } catch (error) {
      await turn.fail(error);
      await turn.end();
      throw error;
    }
  }

  /** Output of an already stored turn, returned without a model call; undefined if it cannot be rebuilt. */
  get replay(): StoredOutput | undefined {
    const { replay } = this.#turn;
    return replay && storedOutput(replay, this.#made.sent);
  }

  /** Makes the request again if it was refused and is smaller now; false if it is not to be tried again. */
  async again(error: unknown): Promise<boolean> {
    const isAgain = !this.#isOver && (await this.#turn.again(error));
    if (isAgain) {
      this.#made = await madeRequest(this.#run, this.#turn);
    }
    return isAgain;
  }

  /** Calls the runnable until it answers, or its request is not to be made again. */
  asking<Output>(ask: () => Promise<Output>): Promise<Output> {
    return this.#turn.asking(ask, (error) => this.again(error));
  }

  /** Ends a failed run: marks the question, or the results of a graph so far, if the provider would refuse it again. */
  async fail(error: unknown, soFar: unknown): Promise<void> {
    if (!this.#isOver) {
      const { acts } = this.#run.options;
      await this.#turn.fail(error, async () => ({ messages: acts ? await this.#messagesOf(soFar) : [] }));
    }
  }

  /** Calls the chain, or its copy with wired models, in the hold's async context: nested turns are detected. */
  calling<Result>(call: (runnable: Runnable, input: unknown) => Promise<Result>): Promise<Result> {
    const { runnable, input } = this.#made;
    return this.#turn.within(() => call(runnable as Runnable, input));
  }

  /** Listens to the models of the run. */
  listener(): PartialOutput {
    return new PartialOutput(this.#run.options.acts ? (messages) => this.#step(messages) : undefined);
  }

  /** Stores the finished steps of a graph, which its next request to a model holds behind the turn. */
  async #step(messages: readonly BaseMessage[]): Promise<void> {
    const last = this.#made.sent.at(-1);
    const at = messages.findLastIndex((message) => message === last || (message.id ?? "") === last?.id);
    const steps = at < 0 ? [] : messages.slice(at + 1);
    if (!this.#isOver && firstOpenStep(steps) === steps.length && steps.every(({ id }) => id !== undefined)) {
      const added = steps.filter(({ id }) => !this.#steps.has(id));
      added.forEach((message) => this.#steps.set(message.id, this.#turn.requests.answered(message)));
      // The next write makes up for one that fails, and rejects if it fails too.
      await this.#turn.step(this.#unstored(steps)).catch(ignore);
    }
  }

  /** The messages under the ids by which they are stored, without those that are. */
  #unstored(messages: readonly BaseMessage[]): BaseMessage[] {
    const named = messages.map((message) => this.#steps.get(message.id) ?? message);
    return named.filter(({ id }) => !this.#turn.hasStored(id));
  }

  /** Stores the answer. Returns the output, or that of another run that stored the same turn first. */
  async finish<Output>(output: Output): Promise<Output> {
    const { options, config, input } = this.#run;
    // The caller of an aborted run got its rejection already; storing now would contradict it.
    config.signal?.throwIfAborted();
    this.#isOver = true;
    if (this.#turn.isClosed) {
      return output;
    }
    const { messages, as, key } = answerOf(output, options, input);
    const said = isOneAnswer(messages) ? messages : (await listing()).newAnswers(this.#made.sent, messages);
    const answered = said.map((message) => this.#steps.get(message.id) ?? this.#turn.requests.answered(message));
    const kind = as === "messages" && answered.length < messages.length ? ("conversation" as const) : as;
    const count = answered.length;
    const described = kind && count > 0 ? { as: kind, count, ...(key !== undefined && { key }) } : undefined;
    await this.#turn.finish([...this.#turn.unstored, ...this.#unstored(answered)], { output: described });
    const stored = this.replay;
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
    this.#stopping = this.#storeStopped(partial);
    const work = this.end();
    this.#run.session.inBackground(work);
    return work;
  }

  /** Prolongs the hold: a chunk was produced and read. */
  signOfLife(): void {
    this.#turn.signOfLife();
  }

  end(): Promise<void> {
    return this.#stopping === undefined ? (this.#turn.end() ?? Promise.resolve()) : this.#endStopped(this.#stopping);
  }

  async #endStopped(stopping: Promise<void>): Promise<void> {
    await stopping;
    await this.#turn.end();
  }

  async #storeStopped(partial: () => unknown): Promise<void> {
    if (!this.#turn.isClosed) {
      await this.#turn.stop([...this.#turn.unstored, ...(await this.#messagesOf(await partial()))]);
    }
  }

  /** The messages of an incomplete output; empty if it holds none. */
  async #messagesOf(output: unknown): Promise<BaseMessage[]> {
    const { options, input } = this.#run;
    if (output === undefined) {
      return [];
    }
    try {
      const { newAnswers } = await listing();
      const said = newAnswers(this.#made.sent, answerOf(output, options, input).messages);
      return this.#unstored(interruptedAnswer(said));
    } catch {
      return [];
    }
  }
}

function isOneAnswer(messages: readonly BaseMessage[]): boolean {
  return messages.length === 1 && roleOf(messages[0]!) === "ai";
}

/** The request of a turn in the form of the chain's input. */
async function madeRequest({ options, session, config, input }: ChainRun, turn: Turn): Promise<MadeRequest> {
  const { runnable: model, profile = session.context.profile } = options;
  const { observer } = session;
  const { planned, ...made } = await turn.requests.make({ model, config });
  const whole = isHidden(planned) ? (await wiring()).withoutThoughts(made, observer) : made;
  const { runnable, input: forModel } = needsWires(planned)
    ? (await wiring()).wiredTurn(whole, { ...planned, ...observer, named: profile, runnable: model })
    : { runnable: model, input: whole };
  const sent = [...forModel.history, ...forModel.turn];
  return { sent, input: runnableInput(input, forModel, options), runnable };
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
