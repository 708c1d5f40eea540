import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { changeMessage } from "../../conversation/messages/change-message.js";
import { roleOf } from "../../conversation/messages/message.js";
import { ConflictError, MemoryError } from "../../base/errors.js";
import { report } from "../../base/events.js";
import { mayHold } from "../../memory/session/hold/acquire-hold.js";
import type { HoldPolicy, TurnHolding } from "../../memory/turns/turn-setting.js";
import { checkpointerOf, PartialOutput, stopSignal } from "../../memory/turns/stop.js";
import { showAnswer } from "../../memory/turns/show-answer.js";
import type { AskedState } from "./asked-question.js";
import {
  changedResponse,
  isAnswer,
  messageOf,
  partsOf,
  preparedCall,
  toolsOf,
  asAnswer,
  isStructured,
  structuredAnswer,
} from "./model-call.js";
import type { CallRequest, ResponseFormat } from "./model-call.js";
import { onEndInCheckpoint } from "./observed-checkpointer.js";
import { AgentRun, type RunSetting, currentConfig, isPartOf, turnIdOf } from "./run.js";

/** How a run holds its session, where runs of a session are serialized. */
type Holding = { readonly owner: string } & HoldPolicy;

/** Maximum time without a model call or hook before a run loses its hold, in milliseconds. */
const longestMs = 5 * 60_000;
/** The same where nothing tells that a run ended in its tools: with `holdMs` within the `waitMs` of the next turn. */
const longestUnobservedMs = 45_000;

/** The same between two hooks, where only other middleware works: longer than that takes, unless it calls a model. */
const betweenHooksMs = 1_000;

/** State update of a hook; beside messages, a structured response. */
interface StateUpdate {
  readonly messages: BaseMessage[];
  readonly structuredResponse?: Record<string, unknown>;
}

/**
 * Hooks of the middleware for one run of an agent. Reads the session at the first model call, after all other
 * middleware has changed the messages, so that one round trip stores and reads.
 */
export class AgentHooks {
  readonly #setting: RunSetting;
  readonly #holding: Holding | undefined;
  /** The state as the run begins, where it is not the one that it was given. */
  readonly #input: AskedState | undefined;
  /** Each hook may bring another signal. */
  #signal: AbortSignal | undefined;
  /** Stops observing the run's checkpoint; undefined if it is not observed. */
  #unobserve: (() => void) | undefined;
  /** The run's recursion limit as a step number; undefined for a resumed run. */
  #lastStep: number | undefined;
  #run: Promise<AgentRun> | undefined;
  /** The config of the hook that was called last. */
  #config: ReturnType<typeof currentConfig> = currentConfig();
  #format: ResponseFormat = {};
  /** The state of the model call that was made last; undefined before the first. */
  #state: readonly BaseMessage[] | undefined;
  /** The model's last or current output. */
  #said: () => BaseMessage | undefined = () => undefined;
  #isStopped = false;
  /** True while the session is closed to the run: nothing is to be stored, and the caller is told. */
  #isRefused = false;
  #isCalled = false;
  /** The write of a stopped run. */
  #stopping = Promise.resolve();

  constructor(setting: Omit<RunSetting, "holding">, holding: Holding | undefined, input?: AskedState) {
    this.#setting = { holding: holding && (() => holdingIn(this.#config, holding)), ...setting };
    this.#holding = holding;
    this.#input = input;
  }

  /**
   * Before the agent.
   *
   * @throws ConflictError `nested_turn` within a turn of the session, where the user asked for a hold.
   */
  begin(): StateUpdate | undefined {
    if (this.#holding !== undefined) {
      mayHold(this.#setting.session, this.#holding);
    }
    // Its steps are counted from that of this hook.
    const [first, limit] = [stepOf(this.#config), this.#config.recursionLimit];
    this.#lastStep = first === undefined || limit === undefined ? undefined : first - 1 + limit;
    const update = this.#input?.update;
    return update && { messages: update };
  }

  /**
   * Before a model call, which another middleware may still skip: stores the steps that are finished. A question is
   * stored with its first model call, as other middleware has changed it.
   */
  async beforeCall(state: readonly BaseMessage[]): Promise<undefined> {
    if (this.#run !== undefined || this.#setting.parts.after.length > 0) {
      await this.#enter();
      const run = await this.#open(state);
      await run.step(state);
      run.turn.signOfLife(betweenHooksMs);
    }
  }

  /**
   * Around a model call: stores finished steps, adds the history, and keeps partial output if the run is stopped.
   * Returns the stored answer, without a model call, if the turn has one.
   */
  async call<Request extends CallRequest, Response>(
    request: Request,
    handler: (request: Request) => Response | Promise<Response>,
  ): Promise<Response> {
    const config = currentConfig();
    try {
      await this.#enter();
      const response = await this.#call(request, handler);
      // The hook after the agent stores an answer; behind tools there may be none.
      const run = await this.#run!;
      if (isAnswer(response)) {
        run.turn.signOfLife(betweenHooksMs);
      } else {
        run.turn.signOfLife();
        // The recursion limit may leave no step behind the tools: the run then neither stores nor asks again.
        await ((stepOf(config) ?? 0) + 2 > (this.#lastStep ?? Infinity) ? this.#release() : undefined);
      }
      return response;
    } catch (error) {
      await this.#release();
      throw error;
    }
  }

  async #call<Request extends CallRequest, Response>(
    request: Request,
    handler: (request: Request) => Response | Promise<Response>,
  ): Promise<Response> {
    const config = currentConfig();
    const { messages: state } = request.state;
    this.#format = request;
    this.#state = state;
    const run = await this.#open(state, { writes: this.#setting.policy.persist === "step" });
    run.turn.signOfLife(Infinity);
    const replay = this.#isCalled ? undefined : run.replay();
    this.#isCalled = true;
    if (replay !== undefined) {
      await this.#release();
      return (await this.#replay(run, { replay, request, config })) as Response;
    }
    await run.step(state);
    try {
      return await run.turn.asking(() => this.#ask(run, { request, config }, handler));
    } catch (error) {
      // LangGraph aborts the signal of a stream whose run has failed: nobody stopped it.
      this.#stopListening();
      await run.fail(error, state);
      throw error;
    }
  }

  /** Calls the model with the history in front of the turn. */
  async #ask<Request extends CallRequest, Response>(
    run: AgentRun,
    { request, config }: { readonly request: Request; readonly config: RunnableConfig },
    handler: (request: Request) => Response | Promise<Response>,
  ): Promise<Response> {
    const { messages: state } = request.state;
    const planned = await run.turn.requests.planOf({ model: request.model, tools: toolsOf(request), config });
    const messages = await run.request(state, request.messages, { planned, config, ...partsOf(request) });
    const { sent, bound } = await preparedCall({ ...request, messages }, planned, this.#setting.session.observer);
    // The run may have been stopped meanwhile: saves the model call.
    stopSignal(config)?.throwIfAborted();
    const answer = async () => handler(sent);
    const reply = await (this.#setting.policy.onAbort === "keep" ? this.#listening(config, answer) : answer());
    const stamp = bound?.stamp ?? ((message) => message);
    const response = changedResponse(reply, (message) => run.answered(stamp(message), state));
    const message = messageOf(response);
    return message === undefined && isStructured(response) ? (asAnswer(response) as Response) : response;
  }

  /** Returns the stored answer as the model's, and streams it. */
  async #replay(
    run: AgentRun,
    { replay, request, config }: { replay: BaseMessage[]; request: CallRequest; config: RunnableConfig },
  ): Promise<BaseMessage> {
    const { storedAnswer = [] } = run;
    const structuredResponse = structuredAnswer(storedAnswer, request);
    // With a checkpointer the state may hold the answer already; its last message then replaces itself.
    const shown = replay.length > 0 ? replay : storedAnswer.slice(-1);
    await showAnswer({ messages: shown, isStructured: structuredResponse !== undefined }, config);
    const [only, ...more] = shown;
    if (only !== undefined && more.length === 0 && roleOf(only) === "ai" && structuredResponse === undefined) {
      return changeMessage(only, {});
    }
    // As a structured response: the only form that takes several messages. Langchain shows the whole state with it.
    return asAnswer({ messages: replay, structuredResponse });
  }

  /**
   * After the agent: stores the rest. Returns the messages missing in the state if another run stored this turn first.
   */
  async end(state: readonly BaseMessage[]): Promise<StateUpdate | undefined> {
    this.#stopListening();
    this.#config = currentConfig();
    try {
      const run = await this.#open(state);
      await (run.turn.isClosed ? undefined : run.turn.enter());
      const storing = run.finish(state);
      // The caller of a stopped run is gone, so `drain` waits for its write.
      this.#setting.session.inBackground(storing.catch(() => undefined));
      await storing;
      const messages = run.correction(state);
      if (messages === undefined) {
        return undefined;
      }
      const structuredResponse = structuredAnswer(run.storedAnswer ?? [], this.#format);
      return { messages, ...(structuredResponse !== undefined && { structuredResponse }) };
    } finally {
      await this.#release();
    }
  }

  /** Goes on in the hold, and listens for the run's end. */
  async #enter(): Promise<void> {
    this.#config = currentConfig();
    this.#listen(stopSignal(this.#config));
    await (await this.#run)?.turn.enter();
  }

  #stopListening(): void {
    this.#unobserve?.();
    this.#unobserve = undefined;
    this.#listen(undefined);
  }

  #listen(signal: AbortSignal | undefined): void {
    this.#signal?.removeEventListener("abort", this.#stopped);
    this.#signal = signal;
    signal?.addEventListener("abort", this.#stopped, { once: true });
  }

  /** Releases the hold, behind the write of a stopped run. Never rejects. */
  async #release(): Promise<void> {
    this.#stopListening();
    const run = this.#run;
    const work = this.#stopping.then(async () => (await run)?.turn.end()).catch(() => undefined);
    this.#setting.session.inBackground(work);
    await work;
  }

  /** Opens the run once, retrying after a failure; with `writes` the read also stores the question. */
  #open(state: readonly BaseMessage[], { writes = false }: { readonly writes?: boolean } = {}): Promise<AgentRun> {
    if (this.#run === undefined) {
      const run = AgentRun.open(this.#setting, { state, writes });
      this.#run = run;
      if (checkpointerOf(this.#config) !== undefined) {
        // No hook sees an interrupt, or a failure in the tools.
        this.#unobserve ??= onEndInCheckpoint(this.#config, () => this.#release());
      }
      run.catch((error: unknown) => {
        this.#run = undefined;
        this.#isRefused = ConflictError.isInstance(error) || (MemoryError.isInstance(error) && !error.retryable);
      });
    }
    return this.#run;
  }

  #listening<Response>(config: ReturnType<typeof currentConfig>, answer: () => Promise<Response>): Promise<Response> {
    return PartialOutput.during(config, async (said) => {
      this.#said = () => said.last;
      const response = await answer();
      this.#said = () => messageOf(response);
      return response;
    });
  }

  /** Keeps what was said, and releases the hold. */
  readonly #stopped = (): void => {
    const state = this.#setting.policy.onAbort === "keep" ? this.#state : undefined;
    if (state !== undefined && !this.#isStopped && !this.#isRefused) {
      this.#isStopped = true;
      const said = this.#said();
      this.#stopping = this.#reporting(state, (run) => run.stop(state, said));
    }
    void this.#release();
  };

  /** Runs background work and reports its failure. */
  async #reporting(state: readonly BaseMessage[], work: (run: AgentRun) => Promise<void> | void): Promise<void> {
    try {
      await work(await this.#open(state));
    } catch (error) {
      const { session, place, parts } = this.#setting;
      const { sessionId, context } = session;
      const turnId = turnIdOf(place, parts);
      report(context.onEvent, { type: "turn_not_stored", sessionId, turnId, reason: "failed", error });
    }
  }
}

/** LangGraph's step number of a hook. */
function stepOf({ metadata }: RunnableConfig): number | undefined {
  const step: unknown = metadata?.["langgraph_step"];
  return typeof step === "number" ? step : undefined;
}

/** How a run holds its session, as its hook that was called last says. */
function holdingIn(config: ReturnType<typeof currentConfig>, holding: Holding): TurnHolding {
  const isCaller = () => isPartOf(currentConfig(), config);
  const longest = checkpointerOf(config) === undefined ? longestUnobservedMs : longestMs;
  return { longestMs: longest, signal: stopSignal(config), isCaller, ...holding };
}
