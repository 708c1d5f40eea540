import { namespaceOf, type AgentRuntime } from "./run-place.js";

/** Channels of writes behind which a run ends: it waits for a human, or has failed. */
const endings = ["__interrupt__", "__error__"];
/** Beside an error that the graph itself handles. */
const handled = "__error_source_node__";

type Listener = () => Promise<void>;
type PutWrites = (config: AgentRuntime, writes: readonly (readonly [string, unknown])[], ...rest: unknown[]) => unknown;

interface Checkpointer {
  putWrites: PutWrites;
}

/** For each checkpointer who waits for the end of which run. */
const observed = new WeakMap<object, Map<string, Set<Listener>>>();

/**
 * Calls the listener when a run writes into its checkpoint that it is interrupted or has failed, which LangGraph tells
 * no middleware. The run's `invoke` or `stream` returns when the listener has ended. Returns a function that ends this;
 * undefined where it cannot be observed.
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
  // A property of this one object, which LangGraph calls; one that takes none is not observed.
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
