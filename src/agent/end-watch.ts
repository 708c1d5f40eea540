import { getEventListeners } from "node:events";
import { isHeard, tellQuestions } from "../turns/asked-human.js";
import { isStopListener } from "../turns/stop.js";
import {
  callSignal,
  checkpointerOf,
  newestPlace,
  type AgentRuntime,
  type Checkpoint,
  type PutWrites,
} from "./run-place.js";

/** Pauses between reads of the checkpoint after a model call, in milliseconds; the last repeats. */
const readPausesMs = [200, 800, 2_000, 5_000];
/** Pause between checks of the run's signal, in milliseconds; a check costs nothing. */
const signalPausesMs = [50];
/** Consecutive checks without a listener that mean the end: between two steps there is none for a moment. */
const silentLooks = 2;

/** A check whether a run has ended, and its pauses. */
interface Look {
  readonly pausesMs: readonly number[];
  readonly hasEnded: () => boolean | Promise<boolean>;
}

/** A step of a run, as LangGraph describes it to the hook of a model call. */
export type StepConfig = AgentRuntime & { readonly metadata?: Readonly<Record<string, unknown>> };

/**
 * Watchdog for runs that end during their tools, by an interrupt or a failure, for which there is no hook. Polls the
 * run's signal, to which LangGraph listens in each step; with an older LangGraph without such a signal, the checkpoint,
 * which shows interrupts. For runs without `onEndInCheckpoint`. Its timer does not keep the process alive.
 */
export class EndWatch {
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** Calls `onEnd` once the run has ended, unless `disarm` is called first. */
  arm(config: StepConfig, onEnd: () => void): void {
    this.disarm();
    const look = lookAtSignal(config) ?? lookAtCheckpoint(config);
    if (look !== undefined) {
      this.#wait(0, look, onEnd);
    }
  }

  /** The run continues. */
  disarm(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #wait(count: number, look: Look, onEnd: () => void): void {
    const decide = (hasEnded: boolean) => {
      if (this.#timer === timer && hasEnded) {
        this.disarm();
        onEnd();
      } else if (this.#timer === timer) {
        this.#wait(count + 1, look, onEnd);
      }
    };
    // A failing checkpointer counts as no answer.
    const ask = async () => decide(await Promise.resolve(look.hasEnded()).catch(() => false));
    const { pausesMs } = look;
    const timer = setTimeout(() => void ask(), pausesMs[Math.min(count, pausesMs.length - 1)]);
    timer.unref();
    this.#timer = timer;
  }
}

/** Check by LangGraph's signal of the run; undefined for older versions. */
function lookAtSignal(config: StepConfig): Look | undefined {
  const signal = callSignal(config);
  if (signal === undefined) {
    return undefined;
  }
  let silent = 0;
  const hasEnded = () => {
    const isHeard = getEventListeners(signal, "abort").some((listener) => !isStopListener(listener));
    silent = isHeard ? 0 : silent + 1;
    return silent >= silentLooks;
  };
  return { pausesMs: signalPausesMs, hasEnded };
}

/** Check by the checkpoints after a step; undefined for a run without a checkpointer. */
function lookAtCheckpoint(config: StepConfig): Look | undefined {
  const checkpointer = checkpointerOf(config);
  if (typeof checkpointer.getTuple !== "function") {
    return undefined;
  }
  const step = Number(config.metadata?.["langgraph_step"] ?? 0);
  const hasEnded = async () => {
    let at: object | undefined = newestPlace(config);
    while (at !== undefined) {
      const checkpoint: Checkpoint | undefined = await checkpointer.getTuple!(at);
      // An older checkpoint may hold an interrupt that was answered.
      if (checkpoint === undefined || Number(checkpoint.metadata?.step ?? -1) < step) {
        return false;
      }
      if (checkpoint.pendingWrites?.some(([, channel]) => channel === "__interrupt__")) {
        return true;
      }
      // Skips checkpoints of a later run.
      at = checkpoint.parentConfig;
    }
    return false;
  };
  return { pausesMs: readPausesMs, hasEnded };
}

/** Channels whose writes end a run: an interrupt, or a failure. */
const endings = ["__interrupt__", "__error__"];
/** Channel that accompanies an error handled by the graph itself. */
const handled = "__error_source_node__";

type Listener = () => Promise<void>;

/** Listeners by checkpointer and thread. */
const observed = new WeakMap<object, Map<string, Set<Listener>>>();

/**
 * Calls the listener when a run writes an interrupt or a failure into its checkpoint; LangGraph has no middleware hook
 * for it. The run's `invoke` or `stream` waits for the listener. Returns a function that stops observing; undefined if
 * the checkpointer cannot be observed.
 */
export function onEndInCheckpoint(config: AgentRuntime, listener: Listener): (() => void) | undefined {
  const listeners = listenersIn(config);
  if (listeners === undefined) {
    return undefined;
  }
  const key = keyOf(newestPlace(config));
  const set = listeners.get(key) ?? new Set();
  listeners.set(key, set.add(listener));
  return () => {
    set.delete(listener);
    if (set.size === 0 && listeners.get(key) === set) {
      listeners.delete(key);
    }
  };
}

/** Lets who plays the run hear of interrupts, whatever its checkpointer is. */
export function hearQuestions(config: AgentRuntime): void {
  if (isHeard()) {
    listenersIn(config);
  }
}

/** The listeners of the run's checkpointer, which is wrapped for them once; undefined where it cannot be. */
function listenersIn(config: AgentRuntime): Map<string, Set<Listener>> | undefined {
  const checkpointer = checkpointerOf(config);
  const { putWrites } = checkpointer;
  const known = observed.get(checkpointer);
  if (known !== undefined || typeof putWrites !== "function") {
    return known;
  }
  const listeners = new Map<string, Set<Listener>>();
  const value: PutWrites = async (place, writes, ...rest) => {
    tellQuestions(writes);
    try {
      return await putWrites.call(checkpointer, place, writes, ...rest);
    } finally {
      const waiting = isEnd(writes) ? [...(listeners.get(keyOf(place)) ?? [])] : [];
      await Promise.all(waiting.map((listener) => listener()));
    }
  };
  // Wraps the method on this one object; a frozen one is not observed.
  const isOwn = Reflect.defineProperty(checkpointer, "putWrites", { value, writable: true, configurable: true });
  if (isOwn) {
    observed.set(checkpointer, listeners);
  }
  return isOwn ? listeners : undefined;
}

function isEnd(writes: readonly (readonly [string, unknown])[]): boolean {
  const channels = writes.map(([channel]) => channel);
  return channels.some((channel) => endings.includes(channel)) && !channels.includes(handled);
}

function keyOf({ configurable = {} }: AgentRuntime): string {
  return JSON.stringify([configurable["thread_id"], configurable["checkpoint_ns"] ?? ""]);
}
