import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { report } from "../base/events.js";
import type { ReducerRequest } from "../reducers/chat-history-reducer.js";
import type { ViewSize } from "../reducers/reduction-outcome.js";
import type { ContextWindow, MeasuredRequest } from "../reducers/window/context-window.js";
import type { ConversationSession } from "../session/conversation-session.js";
import { noteAsked } from "../session/encode-records.js";
import { refuseSplitSteps } from "../session/plan-commit.js";
import { tracedReduction } from "../session/reduction-trace.js";

/** The messages of a request, and what the request with them is thought to take. */
export interface FittedMessages {
  readonly messages: readonly BaseMessage[];
  /** Sizes before and after the reduction, and its excess; undefined if there was none. */
  readonly reduction:
    { readonly before: ViewSize; readonly after: ViewSize; readonly overBudgetBy: number } | undefined;
  /** The request as it is sent; undefined where the window is not known. */
  readonly measured: MeasuredRequest | undefined;
}

/** The messages to fit, and the request that they go out with. */
export interface WindowRequest {
  readonly window: ContextWindow;
  readonly messages: readonly BaseMessage[];
  readonly request: ReducerRequest;
  readonly trace: RunnableConfig | undefined;
}

/**
 * Reduces the messages of a request if it exceeds its model's window. A failure, or a result that splits a step, is
 * reported and changes nothing.
 */
export async function fitWindow(
  { sessionId, context: { onEvent } }: ConversationSession,
  { window, messages, request, trace }: WindowRequest,
): Promise<FittedMessages> {
  let measured: MeasuredRequest | undefined;
  try {
    measured = await window.measure(messages, request);
    if (measured === undefined || !window.isDue(measured, messages)) {
      return { messages, measured, reduction: undefined };
    }
    const outcome = await tracedReduction(window, messages, trace, request);
    if (outcome.error !== undefined) {
      report(onEvent, { type: "reduction_failed", sessionId, error: outcome.error });
    }
    if (!outcome.changed) {
      return { messages, measured, reduction: undefined };
    }
    refuseSplitSteps(messages, outcome.messages);
    return {
      messages: outcome.messages,
      measured: await window.measure(outcome.messages, request),
      reduction: outcome,
    };
  } catch (error) {
    report(onEvent, { type: "reduction_failed", sessionId, error });
    return { messages, measured, reduction: undefined };
  }
}

/** Keeps with the answer what its request was thought to take. */
export function noteAnswer(answer: BaseMessage, measured: MeasuredRequest | undefined): void {
  if (measured?.askedAs !== undefined) {
    noteAsked(answer, measured.askedAs, measured.size.estimate);
  }
}
