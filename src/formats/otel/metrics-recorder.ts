import type { Attributes, Counter, Meter } from "@opentelemetry/api";
import type { MemoryEvent, MemoryEventHandler } from "../../base/events.js";
import { commandAttributes, prefix } from "./span-recorder.js";

/** Boundaries of the buckets, in seconds, as the semantic conventions ask for. */
const durationBuckets = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10];

/** Each counter's unit and description. No attribute names a session. */
const counters = {
  reductions: ["reduction", "Automatic reductions of views, by outcome."],
  repairs: ["repair", "Repairs of messages on their way to a model, by rule."],
  "thoughts.dropped": ["thought", "Thoughts left out behind a changed prefix, by cause."],
  "profiles.guessed": ["model", "Classes of models whose adapter was not known."],
  "requests.too_long": ["request", "Requests that a provider refused as too long."],
  "compactions.dropped": ["request", "Requests without what another provider compacted."],
  "windows.unknown": ["model", "Models whose window is not known."],
  "records.skipped": ["record", "Stored records that could not be read."],
  "sessions.skipped": ["session", "Sessions that a batch operation skipped."],
  conflicts: ["message", "Messages whose id was written again with other content."],
  damaged: ["read", "Calls that found a part of their session missing in Redis."],
  "connections.stalled": ["connection", "Connections with three timeouts in a row."],
  "tool_results.hidden": ["message", "Tool results without a call in the view."],
  titles: ["title", "Titles that a model was asked for, by outcome."],
  turns: ["turn", "Turns that were not written, by reason."],
  "turns.waiting": ["turn", "Turns that had to wait for another one of their session."],
} as const;

type CounterName = keyof typeof counters;

/** Records the duration of commands and the size of requests, and counts the other events. */
export function metricsRecorder(meter: Meter): MemoryEventHandler {
  const duration = meter.createHistogram("db.client.operation.duration", {
    description: "Duration of database client operations.",
    unit: "s",
    advice: { explicitBucketBoundaries: durationBuckets },
  });
  const tokens = meter.createHistogram(`${prefix}.requests.tokens`, {
    unit: "{token}",
    description: "Tokens of requests to models whose window is known.",
  });
  const count = countWith(meter);
  const recorders: { readonly [T in MemoryEvent["type"]]: (event: Extract<MemoryEvent, { type: T }>) => void } = {
    command: (event) => duration.record(event.milliseconds / 1000, commandAttributes(event)),
    reduced: () => count("reductions", by("reduction.outcome", "reduced")),
    reduction_stale: () => count("reductions", by("reduction.outcome", "stale")),
    reduction_failed: () => count("reductions", by("reduction.outcome", "failed")),
    repaired: ({ rules }) => rules.forEach((rule) => count("repairs", by("rule", rule))),
    thinking_dropped: ({ cause, dropped }) => count("thoughts.dropped", by("cause", cause), dropped),
    profile_guessed: () => count("profiles.guessed"),
    context_usage: (event) => tokens.record(event.tokens),
    context_overflow: ({ retried }) => count("requests.too_long", by("retried", retried)),
    window_unknown: () => count("windows.unknown"),
    compaction_dropped: ({ became }) => count("compactions.dropped", by("became", became)),
    record_skipped: () => count("records.skipped"),
    session_skipped: ({ operation }) => count("sessions.skipped", { "db.operation.name": operation }),
    conflict_kept: () => count("conflicts"),
    answer_renamed: () => count("conflicts"),
    connection_stalled: () => count("connections.stalled"),
    damaged: ({ operation }) => count("damaged", { "db.operation.name": operation }),
    tool_result_hidden: () => count("tool_results.hidden"),
    titled: () => count("titles", by("outcome", "titled")),
    title_failed: () => count("titles", by("outcome", "failed")),
    turn_waits: () => count("turns.waiting"),
    turn_repeated: () => count("turns", by("reason", "repeated")),
    turn_not_stored: ({ reason }) => count("turns", by("reason", reason)),
  };
  // An event of a newer build of this package is left out.
  return (event) => (recorders[event.type] as ((event: MemoryEvent) => void) | undefined)?.(event);
}

function countWith(meter: Meter): (name: CounterName, attributes?: Attributes, times?: number) => void {
  const made = new Map<CounterName, Counter>();
  for (const name of Object.keys(counters) as CounterName[]) {
    const [unit, description] = counters[name];
    made.set(name, meter.createCounter(`${prefix}.${name}`, { unit: `{${unit}}`, description }));
  }
  return (name, attributes = {}, times = 1) => made.get(name)!.add(times, attributes);
}

function by(name: string, value: string | boolean): Attributes {
  return { [`${prefix}.${name}`]: value };
}
