import type { RunnableConfig } from "@langchain/core/runnables";
import { StopListener, stopSignal } from "../turns/stop.js";
import { onEndInCheckpoint } from "./observed-checkpointer.js";
import { hasCheckpointer } from "./run-place.js";

/** Listener for the end of a run that no hook sees. */
interface RunEndListener {
  /** The run was stopped. */
  stopped(): void;
  /** The run waits for a human, or has failed. */
  ended(): Promise<void>;
}

/** Tells of ends of a run that no hook sees: a stop, an interrupt or a failure in its tools, its recursion limit. */
export class RunEnd {
  readonly #listener: RunEndListener;
  readonly #stop: StopListener;
  /** Stops observing the checkpoint; undefined if it is not observed. */
  #unobserve: (() => void) | undefined;
  /** The run's recursion limit as a step number; undefined for a resumed run. */
  #lastStep: number | undefined;

  constructor(listener: RunEndListener) {
    this.#listener = listener;
    this.#stop = new StopListener(() => listener.stopped());
  }

  /** The run begins: its steps are counted from that of this hook. */
  begins(config: RunnableConfig): void {
    const [first, limit] = [stepOf(config), config.recursionLimit];
    this.#lastStep = first === undefined || limit === undefined ? undefined : first - 1 + limit;
  }

  /** Listens for a stop; each hook may pass another signal. */
  listen(config: RunnableConfig): void {
    this.#stop.listen(stopSignal(config));
  }

  /** Observes the run's checkpoint until the listening ends. */
  observe(config: RunnableConfig): void {
    if (hasCheckpointer(config)) {
      this.#unobserve ??= onEndInCheckpoint(config, () => this.#listener.ended());
    }
  }

  /** True where the recursion limit leaves no step behind the tools: the run can neither store nor ask again. */
  isBehindTools(config: RunnableConfig): boolean {
    const step = stepOf(config);
    return step !== undefined && this.#lastStep !== undefined && step + 2 > this.#lastStep;
  }

  /** Ends the listening. */
  close(): void {
    this.#unobserve?.();
    this.#unobserve = undefined;
    this.#stop.listen(undefined);
  }
}

/** LangGraph's step number of a hook. */
function stepOf({ metadata }: RunnableConfig): number | undefined {
  const step: unknown = metadata?.["langgraph_step"];
  return typeof step === "number" ? step : undefined;
}
