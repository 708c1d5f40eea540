import type { Histogram, Meter } from "@opentelemetry/api";
import type { MemoryEvent, MemoryEventHandler } from "../base/events.js";
import { commandAttributes, outcomeOf, prefix, type ReductionEvent } from "./event-attributes.js";

/** Boundaries of the buckets, in seconds, as the semantic conventions ask for. */
const durationBuckets = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10];

/** Records the duration of commands, and counts the other events. No attribute names a session. */
export function metricsRecorder(meter: Meter): MemoryEventHandler {
  const duration = durationsOf(meter);
  const counter = (name: string, unit: string, description: string) =>
    meter.createCounter(`${prefix}.${name}`, { unit, description });
  const reductions = counter("reductions", "{reduction}", "Automatic reductions of views, by outcome.");
  const repairs = counter("repairs", "{repair}", "Repairs of messages on their way to a model, by rule.");
  const thoughts = counter("thoughts.dropped", "{thought}", "Thoughts left out behind a changed prefix, by cause.");
  const guesses = counter("profiles.guessed", "{model}", "Classes of models whose adapter was not known.");
  const skipped = counter("records.skipped", "{record}", "Stored records that could not be read.");
  const leftOut = counter("sessions.skipped", "{session}", "Sessions that a batch operation skipped.");
  const conflicts = counter("conflicts", "{message}", "Messages whose id was written again with other content.");
  const damaged = counter("damaged", "{read}", "Calls that found a part of their session missing in Redis.");
  const stalled = counter("connections.stalled", "{connection}", "Connections with three timeouts in a row.");
  const hidden = counter("tool_results.hidden", "{message}", "Tool results without a call in the view.");
  const turns = counter("turns", "{turn}", "Turns that were not written, by reason.");
  const waits = counter("turns.waiting", "{turn}", "Turns that had to wait for another one of their session.");
  const countReduction = (event: ReductionEvent) => reductions.add(1, outcomeOf(event));
  const recorders: { readonly [T in MemoryEvent["type"]]: (event: Extract<MemoryEvent, { type: T }>) => void } = {
    command: (event) => duration.record(event.milliseconds / 1000, commandAttributes(event)),
    reduced: countReduction,
    reduction_stale: countReduction,
    reduction_failed: countReduction,
    repaired: ({ rules }) => rules.forEach((rule) => repairs.add(1, { [`${prefix}.rule`]: rule })),
    thinking_dropped: ({ cause, dropped }) => thoughts.add(dropped, { [`${prefix}.cause`]: cause }),
    profile_guessed: () => guesses.add(1),
    ...windowRecorders(meter),
    record_skipped: () => skipped.add(1),
    session_skipped: ({ operation }) => leftOut.add(1, { "db.operation.name": operation }),
    conflict_kept: () => conflicts.add(1),
    connection_stalled: () => stalled.add(1),
    damaged: ({ operation }) => damaged.add(1, { "db.operation.name": operation }),
    tool_result_hidden: () => hidden.add(1),
    ...titleRecorders(meter),
    turn_waits: () => waits.add(1),
    turn_repeated: () => turns.add(1, { [`${prefix}.reason`]: "repeated" }),
    turn_not_stored: ({ reason }) => turns.add(1, { [`${prefix}.reason`]: reason }),
  };
  // An event of a newer build of this package is left out.
  return (event) => (recorders[event.type] as ((event: MemoryEvent) => void) | undefined)?.(event);
}

/** Recorders of what became of titles that a model was asked for. */
function titleRecorders(meter: Meter) {
  const description = "Titles that a model was asked for, by outcome.";
  const titles = meter.createCounter(`${prefix}.titles`, { unit: "{title}", description });
  return {
    titled: () => titles.add(1, { [`${prefix}.outcome`]: "titled" }),
    title_failed: () => titles.add(1, { [`${prefix}.outcome`]: "failed" }),
  };
}

/** Recorders of what requests take of their models' windows. */
function windowRecorders(meter: Meter) {
  const tokens = meter.createHistogram(`${prefix}.requests.tokens`, {
    unit: "{token}",
    description: "Tokens of requests to models whose window is known.",
  });
  const counter = (name: string, unit: string, description: string) =>
    meter.createCounter(`${prefix}.${name}`, { unit, description });
  const overflows = counter("requests.too_long", "{request}", "Requests that a provider refused as too long.");
  const compactions = counter("compactions.dropped", "{request}", "Requests without what another provider compacted.");
  const windows = counter("windows.unknown", "{model}", "Models whose window is not known.");
  return {
    context_usage: (event: { readonly tokens: number }) => tokens.record(event.tokens),
    context_overflow: ({ retried }: { readonly retried: boolean }) =>
      overflows.add(1, { [`${prefix}.retried`]: retried }),
    window_unknown: () => windows.add(1),
    compaction_dropped: ({ became }: { readonly became: string }) =>
      compactions.add(1, { [`${prefix}.became`]: became }),
  };
}

function durationsOf(meter: Meter): Histogram {
  return meter.createHistogram("db.client.operation.duration", {
    description: "Duration of database client operations.",
    unit: "s",
    advice: { explicitBucketBoundaries: durationBuckets },
  });
}
