import type { RunnableConfig } from "@langchain/core/runnables";
import type { ConversationSession } from "../session/conversation-session.js";
import { type HeldTurn, takeDoorTurn } from "../session/hold/take-hold.js";
import type { HoldPolicy } from "../turns/turn-defaults.js";
import { onEndInCheckpoint, EndWatch, type StepConfig } from "./end-watch.js";
import { currentConfig, hasCheckpointer, isPartOf } from "./run-place.js";
import { StopListener, stopSignal } from "../turns/stop.js";

/** Maximum time without a model call or hook before a run loses its hold, in milliseconds. */
const longestMs = 5 * 60_000;

/**
 * The hold of an agent's run on its session: from its first hook to its end, tools included. Released when the run
 * ends, fails, is stopped or interrupted; acquired again when it resumes.
 */
export class RunTurn {
  readonly #session: ConversationSession;
  readonly #options: { readonly owner: string } & HoldPolicy;
  /** Made where tools run whose end nothing else tells of. */
  #endWatch: EndWatch | undefined;
  readonly #stop = new StopListener(() => void this.release());
  #held: HeldTurn | undefined;
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

  /** Begins the run: its steps are counted from that of the first hook. */
  begins(config: RunnableConfig): void {
    const [first, limit] = [stepOf(config), config.recursionLimit];
    this.#lastStep = first === undefined || limit === undefined ? undefined : first - 1 + limit;
  }

  /** Prolongs the hold for the duration of a model call. */
  async callsModel(config: RunnableConfig): Promise<void> {
    await this.enter(config);
    this.#held?.signOfLife({ isWorking: true });
  }

  /** Acquires the hold, unless the run has it: a run that seemed over may have lost it. */
  async enter(config: RunnableConfig): Promise<void> {
    this.#endWatch?.disarm();
    const signal = stopSignal(config);
    if (this.#held === undefined) {
      const isCaller = () => isPartOf(currentConfig(), config);
      this.#held = await takeDoorTurn(this.#session, { ...this.#options, longestMs, signal, isCaller });
      if (signal?.aborted) {
        // A run stopped while acquiring has no use for the hold.
        await this.release();
        signal.throwIfAborted();
      }
      const isObserved = this.#held !== undefined && hasCheckpointer(config);
      this.#unobserve = isObserved ? onEndInCheckpoint(config, () => this.release()) : undefined;
    }
    this.#held?.signOfLife();
    this.#stop.listen(signal);
  }

  /** Sets the write that `release` waits for. */
  endsBehind(lastWrite: () => Promise<void>): void {
    this.#lastWrite = lastWrite;
  }

  /** The model has answered: the hook after the agent should follow. */
  answered(): void {
    this.#held?.signOfLife();
  }

  /**
   * A model call requested tools: from here on no hook reports an interrupt or a failure. If the recursion limit leaves
   * no step behind the tools, the run can neither store nor call the model again, and releases the hold.
   */
  async toolsBegin(config: StepConfig): Promise<void> {
    const step = stepOf(config);
    if (step !== undefined && this.#lastStep !== undefined && step + 2 > this.#lastStep) {
      return this.release();
    }
    this.#held?.signOfLife();
    if (this.#unobserve === undefined) {
      this.#endWatch ??= new EndWatch();
      this.#endWatch.arm(config, () => void this.release());
    }
  }

  /** Releases the hold. Never rejects. */
  async release(): Promise<void> {
    this.#endWatch?.disarm();
    this.#unobserve?.();
    this.#unobserve = undefined;
    this.#stop.listen(undefined);
    const held = this.#held;
    this.#held = undefined;
    if (held !== undefined) {
      // Deferred: another listener of the same signal starts the write of the partial output.
      const work = Promise.resolve()
        .then(() => this.#lastWrite())
        .then(() => held.release());
      this.#session.inBackground(work);
      await work;
    }
  }
}

/** LangGraph's step number of a hook. */
function stepOf({ metadata }: Pick<StepConfig, "metadata">): number | undefined {
  const step: unknown = metadata?.["langgraph_step"];
  return typeof step === "number" ? step : undefined;
}
