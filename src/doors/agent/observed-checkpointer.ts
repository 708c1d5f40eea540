import { checkpointerOf, type PutWrites } from "../../memory/turns/stop.js";
import { newestPlace, type AgentRuntime } from "./run.js";

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

/** The listeners of the run's checkpointer, which is wrapped for them once; undefined where it cannot be. */
function listenersIn(config: AgentRuntime): Map<string, Set<Listener>> | undefined {
  const checkpointer = checkpointerOf(config);
  const putWrites = checkpointer?.putWrites;
  if (checkpointer === undefined || typeof putWrites !== "function" || observed.has(checkpointer)) {
    return checkpointer && observed.get(checkpointer);
  }
  const listeners = new Map<string, Set<Listener>>();
  const value: PutWrites = async (place, writes, ...rest) => {
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
