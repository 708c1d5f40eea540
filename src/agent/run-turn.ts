import type { RunnableConfig } from "@langchain/core/runnables";
import type { ConversationSession } from "../session/conversation-session.js";
import { type HeldTurn, holdAgain, holdWithNextCall, mayHold } from "../session/hold/take-hold.js";
import type { HoldPolicy } from "../turns/defaults.js";
import { onEndInCheckpoint } from "./observed-checkpointer.js";
import { currentConfig, hasCheckpointer, isPartOf } from "./run-place.js";
import { StopListener, stopSignal } from "../turns/stop.js";

/** Maximum time without a model call or hook before a run loses its hold, in milliseconds. */
const longestMs = 5 * 60_000;
/** The same where nothing tells that a run ended in its tools: with `holdMs` within the `waitMs` of the next turn. */
const longestUnobservedMs = 45_000;

/**
 * The hold of an agent's run on its session, from its first model call to its end, tools included. Released if the run
 * ends, fails, is stopped or interrupted; acquired again when it resumes.
 */
export class RunTurn {
  readonly #session: ConversationSession;
  readonly #options: { readonly owner: string } & HoldPolicy;
  readonly #stop = new StopListener(() => void this.release());
  #held: HeldTurn | undefined;
  /** The hold that the opening of the run is acquiring. Never rejects. */
  #taking: Promise<HeldTurn | undefined> | undefined;
  /** Stops observing the checkpoint; undefined if it is not observed. */
  #unobserve: (() => void) | undefined;
  /** The run's recursion limit as a step number; undefined for a resumed run. */
  #lastStep: number | undefined;
  /** The write to wait for before the release. */
  #lastWrite: () => Promise<void> = () => Promise.resolve();

  constructor(session: ConversationSession, options: { readonly owner: string } & HoldPolicy) {
    this.#session = session;
    this.#options = options;
  }

  /**
   * Begins the run: its steps are counted from that of the first hook.
   *
   * @throws ConflictError `nested_turn` within a turn of the session, where the user asked for a hold.
   */
  begins(config: RunnableConfig): void {
    mayHold(this.#session, this.#options);
    const [first, limit] = [stepOf(config), config.recursionLimit];
    this.#lastStep = first === undefined || limit === undefined ? undefined : first - 1 + limit;
  }

  /** Opens the run, whose first call on the session takes the hold. */
  async opens<Run>(config: RunnableConfig, open: () => Promise<Run>): Promise<Run> {
    const hold = holdWithNextCall(this.#session, this.#request(config));
    const opening = open();
    const held = () => hold?.held;
    const taking = opening.then(held, held);
    this.#taking = taking;
    this.#stop.listen(stopSignal(config));
    try {
      return await opening;
    } finally {
      // Else the run was stopped or skipped meanwhile, and has given it back.
      if (this.#taking === taking) {
        this.#taking = undefined;
        this.#holds(hold?.held, config);
      }
    }
  }

  /** Acquires the hold, unless the run has it: a run that seemed over, or was in its tools for long, has lost it. */
  async enter(config: RunnableConfig): Promise<void> {
    if (this.#held?.hasLapsed) {
      await this.release();
    }
    const signal = stopSignal(config);
    if (this.#held === undefined) {
      this.#holds(await holdAgain(this.#session, this.#request(config)), config);
      if (signal?.aborted) {
        // A run stopped while acquiring has no use for the hold.
        await this.release();
        signal.throwIfAborted();
      }
    }
    this.#held?.signOfLife();
    this.#stop.listen(signal);
  }

  /** The run lives: its model has answered, or with `isWorking` is called, which may take long. */
  signOfLife(how?: { readonly isWorking: boolean }): void {
    this.#held?.signOfLife(how);
  }

  /** The ticket, for the write with which the turn is given back; undefined where the run does not hold it. */
  get ticket(): string | undefined {
    return this.#held?.ticket;
  }

  /** The turn was given back by the run's last write. */
  wasGivenBack(): void {
    this.#held?.wasGivenBack();
  }

  #request(config: RunnableConfig) {
    const isCaller = () => isPartOf(currentConfig(), config);
    const longest = hasCheckpointer(config) ? longestMs : longestUnobservedMs;
    return { ...this.#options, longestMs: longest, signal: stopSignal(config), isCaller };
  }

  #holds(held: HeldTurn | undefined, config: RunnableConfig): void {
    this.#held = held;
    const isObserved = held !== undefined && hasCheckpointer(config);
    this.#unobserve = isObserved ? onEndInCheckpoint(config, () => this.release()) : undefined;
  }

  /** Sets the write that `release` waits for. */
  endsBehind(lastWrite: () => Promise<void>): void {
    this.#lastWrite = lastWrite;
  }

  /**
   * A model call requested tools: from here on no hook reports an interrupt or a failure. If the recursion limit leaves
   * no step behind the tools, the run can neither store nor call the model again, and releases the hold.
   */
  async toolsBegin(config: RunnableConfig): Promise<void> {
    const step = stepOf(config);
    if (step !== undefined && this.#lastStep !== undefined && step + 2 > this.#lastStep) {
      return this.release();
    }
    this.#held?.signOfLife();
  }

  /** Releases the hold. Never rejects. */
  async release(): Promise<void> {
    this.#unobserve?.();
    this.#unobserve = undefined;
    this.#stop.listen(undefined);
    const [held, taking] = [this.#held, this.#taking];
    [this.#held, this.#taking] = [undefined, undefined];
    if (held !== undefined || taking !== undefined) {
      // Deferred: another listener of the same signal starts the write of the partial output.
      const work = Promise.resolve()
        .then(() => this.#lastWrite())
        .then(async () => (held ?? (await taking))?.release());
      this.#session.inBackground(work);
      await work;
    }
  }
}

/** LangGraph's step number of a hook. */
function stepOf({ metadata }: RunnableConfig): number | undefined {
  const step: unknown = metadata?.["langgraph_step"];
  return typeof step === "number" ? step : undefined;
}
