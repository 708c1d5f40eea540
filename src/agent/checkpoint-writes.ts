import { namespaceOf, type AgentRuntime } from "./run-place.js";

/** Channels whose writes end a run: an interrupt, or a failure. */
const endings = ["__interrupt__", "__error__"];
/** Channel that accompanies an error handled by the graph itself. */
const handled = "__error_source_node__";

type Listener = () => Promise<void>;
type PutWrites = (config: AgentRuntime, writes: readonly (readonly [string, unknown])[], ...rest: unknown[]) => unknown;

interface Checkpointer {
  putWrites: PutWrites;
}

/** Listeners by checkpointer and thread. */
const observed = new WeakMap<object, Map<string, Set<Listener>>>();

/**
 * Calls the listener when a run writes an interrupt or a failure into its checkpoint; LangGraph has no middleware hook
 * for it. The run's `invoke` or `stream` waits for the listener. Returns a function that stops observing; undefined if
 * the checkpointer cannot be observed.
 */
export function onEndInCheckpoint(config: AgentRuntime, listener: Listener): (() => void) | undefined {
  const { configurable = {} } = config;
  const checkpointer = configurable["__pregel_checkpointer"] as Partial<Checkpointer> | undefined;
  const listeners =
    typeof checkpointer?.putWrites === "function" ? listenersOf(checkpointer as Checkpointer) : undefined;
  if (listeners === undefined) {
    return undefined;
  }
  const key = keyOf(configurable["thread_id"], namespaceOf(config));
  const set = listeners.get(key) ?? new Set();
  listeners.set(key, set.add(listener));
  return () => {
    set.delete(listener);
    if (set.size === 0 && listeners.get(key) === set) {
      listeners.delete(key);
    }
  };
}

function listenersOf(checkpointer: Checkpointer): Map<string, Set<Listener>> | undefined {
  const known = observed.get(checkpointer);
  if (known !== undefined) {
    return known;
  }
  const listeners = new Map<string, Set<Listener>>();
  const { putWrites } = checkpointer;
  const value: PutWrites = async (config, writes, ...rest) => {
    try {
      return await putWrites.call(checkpointer, config, writes, ...rest);
    } finally {
      const { thread_id: thread, checkpoint_ns: namespace } = config.configurable ?? {};
      const waiting = isEnd(writes) ? [...(listeners.get(keyOf(thread, namespace)) ?? [])] : [];
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

function keyOf(thread: unknown, namespace: unknown): string {
  return JSON.stringify([thread, namespace ?? ""]);
}
