import type { ReadCheckpoint } from "./thread-checkpoints.js";

/** A checkpoint in a few words, without what its channels hold. */
export interface CheckpointSummary {
  readonly ns: string;
  readonly id: string;
  /** Empty for none. */
  readonly parent: string;
  /** The number of the step; -1 is the input of the first one. */
  readonly step: number | undefined;
  readonly source: string | undefined;
  /** Milliseconds since 1970. */
  readonly at: number | undefined;
  /** The nodes that run next. */
  readonly next: readonly string[];
  /** Interrupts of tasks without a result, as nodes raised them. */
  readonly interrupts: readonly unknown[];
  /** The versions of channels; LangGraph's own are left out. */
  readonly versions: Readonly<Record<string, unknown>>;
}

const start = "__start__";
const sends = "__pregel_tasks";
const ownChannel = /^(?:__start__$|__pregel_|branch:to:|join:)/;

/** Summarizes a checkpoint. */
export function summaryOf({ ns, id, parent, tuple }: ReadCheckpoint): CheckpointSummary {
  const { checkpoint, metadata } = tuple;
  const { step, source } = metadata ?? {};
  const at = Date.parse(checkpoint.ts);
  const versions = Object.entries(checkpoint.channel_versions).filter(([name]) => !ownChannel.test(name));
  return {
    ...{ ns, id, parent, source },
    step: Number.isInteger(step) ? step : undefined,
    at: Number.isNaN(at) ? undefined : at,
    next: nextNodes(tuple),
    interrupts: interruptsIn(tuple),
    versions: Object.fromEntries(versions),
  };
}

/** The channels whose versions differ from those of the parent; of all channels where there is none. */
export function changedChannels(
  { versions }: Pick<CheckpointSummary, "versions">,
  parent: Pick<CheckpointSummary, "versions"> | undefined,
): string[] {
  return Object.keys(versions).filter((name) => versions[name] !== parent?.versions[name]);
}

/** The nodes whose channels hold a value that they did not see, and those that tasks were sent to. */
function nextNodes({ checkpoint }: ReadCheckpoint["tuple"]): string[] {
  const { channel_values: values, channel_versions: versions, versions_seen: seen } = checkpoint;
  const nodes = Object.entries(values).flatMap(([channel, value]) => {
    const node = nodeOf(channel, value);
    return node === undefined || seen[node]?.[channel] === versions[channel] ? [] : [node];
  });
  const tasks = values[sends];
  const sent = (Array.isArray(tasks) ? tasks : []) as readonly ({ readonly node?: unknown } | null)[];
  return [...sent.flatMap((task) => (typeof task?.node === "string" ? [task.node] : [])), ...new Set(nodes)];
}

/** The node that a value in a channel starts; undefined for a channel of the state, or while others are awaited. */
function nodeOf(channel: string, value: unknown): string | undefined {
  if (channel === start) {
    return start;
  }
  const [, starts, node] = /^(?:branch:to:|join:(.*):)(.*)$/s.exec(channel) ?? [];
  if (starts === undefined) {
    return node;
  }
  return Array.isArray(value) && value.length === starts.split("+").length ? node : undefined;
}

function interruptsIn({ pendingWrites = [] }: ReadCheckpoint["tuple"]): unknown[] {
  const done = new Set(pendingWrites.filter(([, channel]) => !isBeside(channel)).map(([task]) => task));
  return pendingWrites.flatMap(([task, channel, value]) =>
    channel === "__interrupt__" && !done.has(task) ? (Array.isArray(value) ? (value as unknown[]) : [value]) : [],
  );
}

/** True for a write that is no result of its task. */
function isBeside(channel: string): boolean {
  return ["__interrupt__", "__resume__", "__error__", "__scheduled__"].includes(channel);
}
