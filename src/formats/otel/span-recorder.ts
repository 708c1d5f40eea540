import { SpanKind, SpanStatusCode, trace, type Attributes, type Span, type Tracer } from "@opentelemetry/api";
import type { MemoryEvent, MemoryEventHandler } from "../../base/events.js";
import {
  commandAttributes,
  errorType,
  exceptionType,
  outcomeOf,
  prefix,
  type ReductionEvent,
} from "./event-attributes.js";

type EventOf<T extends MemoryEvent["type"]> = Extract<MemoryEvent, { type: T }>;

/** Makes spans, and events on the active span. `sessionIds`: whether spans carry the session's id. */
export function spanRecorder(tracer: Tracer, { sessionIds }: { readonly sessionIds: boolean }): MemoryEventHandler {
  return (event) => {
    const session = sessionIds ? { "gen_ai.conversation.id": event.sessionId } : {};
    switch (event.type) {
      case "command":
        return recordCommand(tracer, event, session);
      case "reduced":
      case "reduction_stale":
      case "reduction_failed":
        return recordReduction(tracer, event, session);
      default:
        trace.getActiveSpan()?.addEvent(`${prefix}.${event.type}`, { ...session, ...eventAttributes(event) });
    }
  };
}

function recordCommand(tracer: Tracer, event: EventOf<"command">, session: Attributes): void {
  const endTime = Date.now();
  const attributes = { ...commandAttributes(event), ...session };
  const startTime = endTime - event.milliseconds;
  const span = tracer.startSpan(event.operation, { kind: SpanKind.CLIENT, attributes, startTime });
  if (event.error !== undefined) {
    recordFailure(span, event.error);
  }
  span.end(endTime);
}

/** The event tells how a reduction ended, not how long it took: its span has no length. */
function recordReduction(tracer: Tracer, event: ReductionEvent, session: Attributes): void {
  const time = Date.now();
  const attributes = { ...session, ...outcomeOf(event), ...eventAttributes(event) };
  const span = tracer.startSpan("reduce_view", { attributes, startTime: time });
  if (event.type === "reduction_failed") {
    span.setAttribute("error.type", errorType(event.error));
    recordFailure(span, event.error);
  }
  span.end(time);
}

/** Only the type: what an error says may hold what users wrote. */
function recordFailure(span: Span, error: unknown): void {
  span.setStatus({ code: SpanStatusCode.ERROR });
  span.addEvent("exception", { "exception.type": exceptionType(error) });
}

function eventAttributes(event: Exclude<MemoryEvent, EventOf<"command">>): Attributes {
  switch (event.type) {
    case "reduced":
      return {
        ...sizeAttributes("before", event.before),
        ...sizeAttributes("after", event.after),
        [`${prefix}.reduction.over_budget_by`]: event.overBudgetBy,
      };
    case "record_skipped":
      return {
        "error.type": errorType(event.error),
        ...(event.position !== undefined && { [`${prefix}.position`]: event.position }),
      };
    case "session_skipped":
      return { "error.type": errorType(event.error), "db.operation.name": event.operation };
    case "connection_stalled":
    case "damaged":
      return { "db.operation.name": event.operation };
    case "repaired":
      return { [`${prefix}.rules`]: [...event.rules] };
    case "thinking_dropped":
      return thoughtAttributes(event);
    case "profile_guessed":
      return { [`${prefix}.model.class`]: event.className };
    case "context_usage":
      return usageAttributes(event);
    case "context_overflow":
      return { [`${prefix}.retried`]: event.retried };
    case "window_unknown":
      return { "gen_ai.request.model": event.model };
    case "compaction_dropped":
      return { [`${prefix}.provider`]: event.provider, [`${prefix}.became`]: event.became };
    case "conflict_kept":
      return { [`${prefix}.message.id`]: event.messageId };
    case "tool_result_hidden":
      return { "gen_ai.tool.call.id": event.toolCallId };
    default:
      return {};
  }
}

function thoughtAttributes({ cause, sent, dropped }: EventOf<"thinking_dropped">): Attributes {
  const name = `${prefix}.thoughts`;
  return { [`${prefix}.cause`]: cause, [`${name}.sent`]: sent, [`${name}.dropped`]: dropped };
}

function usageAttributes({ tokens, window, room }: EventOf<"context_usage">): Attributes {
  const name = `${prefix}.request`;
  return { [`${name}.tokens`]: tokens, [`${name}.window`]: window, [`${name}.room`]: room };
}

function sizeAttributes(when: "before" | "after", size: EventOf<"reduced">["before"]): Attributes {
  return {
    [`${prefix}.reduction.${when}.messages`]: size.messages,
    ...(size.tokens !== undefined && { [`${prefix}.reduction.${when}.tokens`]: size.tokens }),
  };
}
