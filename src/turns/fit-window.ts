import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { report } from "../base/events.js";
import type { ReducerRequest } from "../reducers/chat-history-reducer.js";
import type { ViewSize } from "../reducers/reduction-outcome.js";
import type { ContextWindow, MeasuredRequest } from "../reducers/window/context-window.js";
import type { ConversationSession } from "../session/conversation-session.js";
import type { WindowSource } from "../session/memory-context.js";
import { noteAsked } from "../session/encode-records.js";
import { refuseSplitSteps } from "../session/plan-commit.js";
import { commitOutcome } from "../session/reduce-view.js";
import { traceOf, tracedReduction } from "../session/reduction-trace.js";
import type { OpenTurn } from "./open-turn.js";

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

/** {@link noteAnswer} for the first message of a turn that tells what its request was billed. */
export function noteFirstAnswer(answered: readonly BaseMessage[], measured: MeasuredRequest | undefined): void {
  const first = measured && answered.find((message) => (message as AIMessage).usage_metadata !== undefined);
  if (first !== undefined) {
    noteAnswer(first, measured);
  }
}

/** A turn whose model is about to be called. */
export interface TurnToFit {
  readonly source: WindowSource;
  readonly opened: OpenTurn;
  readonly model: unknown;
  readonly config: RunnableConfig;
}

/**
 * The history that fits into the model's window together with the turn. A reduction is committed, which takes one more
 * round trip; a failed commit is reported, and the turn goes on.
 */
export async function fitHistory(
  session: ConversationSession,
  { source, opened, model, config }: TurnToFit,
): Promise<{ readonly history: readonly BaseMessage[]; readonly measured: MeasuredRequest | undefined }> {
  const { reduceWhen } = session.context;
  const { state, history, turn } = opened;
  if (state === "stored") {
    return { history, measured: undefined };
  }
  const request = { model, config, besides: turn };
  const trace = traceOf(config);
  const fitting = { window: await source.load(), messages: history, request, trace };
  const { messages, measured, reduction } = await fitWindow(session, fitting);
  if (reduction !== undefined) {
    const work = commitHistory(session, opened, { ...reduction, messages: [...messages] });
    await (reduceWhen === "background" ? session.inBackground(work) : work);
  }
  return { history: messages, measured };
}

async function commitHistory(
  session: ConversationSession,
  { view, history }: OpenTurn,
  reduced: Parameters<typeof commitOutcome>[2],
): Promise<void> {
  const { sessionId, context } = session;
  const given = new Set(history);
  const inView = view.entries.map(({ message }) => message);
  const behind = inView.filter((message) => !given.has(message));
  if (inView.length - behind.length < given.size) {
    // The turn left the view before: its history is not what the next turn reads.
    return;
  }
  try {
    const messages = [...reduced.messages, ...behind];
    if ((await commitOutcome(session, view, { ...reduced, messages })) === "stale") {
      report(context.onEvent, { type: "reduction_stale", sessionId });
    }
  } catch (error) {
    report(context.onEvent, { type: "reduction_failed", sessionId, error });
  }
}
