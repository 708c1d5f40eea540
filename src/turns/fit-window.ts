import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { BudgetError } from "../base/errors.js";
import { report, type ViewSize } from "../base/events.js";
import { roleOf } from "../messages/roles.js";
import type { ReducerRequest } from "../reducers/chat-history-reducer.js";
import type { ReductionOutcome } from "../reducers/reduction-outcome.js";
import { countMessages } from "../tokens/counted-messages.js";
import { usageOf, type ContextWindow, type MeasuredRequest } from "../reducers/window/context-window.js";
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

/** {@link fitWindow} that reports what the request takes. */
export async function fitRequest(session: ConversationSession, request: WindowRequest): Promise<FittedMessages> {
  const fitted = await fitWindow(session, request);
  reportUsage(session, fitted);
  return fitted;
}

function reportUsage({ sessionId, context }: ConversationSession, { measured }: FittedMessages): void {
  if (measured !== undefined) {
    report(context.onEvent, { type: "context_usage", sessionId, ...usageOf(measured) });
  }
}

/** A request that a model refused, and the reducer that makes it smaller. */
export interface FailedRequest extends Omit<WindowRequest, "window"> {
  readonly source: WindowSource;
  readonly error: unknown;
}

/** Smaller messages for a request that was refused as too long; undefined for another error, or if nothing can go. */
export async function fitRefused(
  session: ConversationSession,
  { source, error, ...failed }: FailedRequest,
): Promise<FittedMessages | undefined> {
  const { refusalIn } = await import("./context-overflow.js");
  const refused = refusalIn(error);
  if (refused === undefined) {
    return undefined;
  }
  const request = { ...failed.request, refused };
  const fitted = await fitWindow(session, { ...failed, request, window: await source.load() });
  // From now on the window is known.
  source.isTold = true;
  const { sessionId, context } = session;
  const retried = fitted.reduction !== undefined;
  report(context.onEvent, { type: "context_overflow", sessionId, ...refused, retried });
  return retried ? fitted : undefined;
}

/**
 * Reduces the messages of a request if it exceeds its model's window. A failure, or a result that splits a step, is
 * reported and changes nothing.
 *
 * @throws BudgetError for a question that is too large.
 */
async function fitWindow(
  { sessionId, context: { onEvent } }: ConversationSession,
  { window, messages, request, trace }: WindowRequest,
): Promise<FittedMessages> {
  let measured: MeasuredRequest | undefined;
  try {
    measured = await window.measure(messages, request);
    if (request.refused === undefined && (measured === undefined || !window.isDue(measured, messages))) {
      return { messages, measured, reduction: undefined };
    }
    const outcome = await reduceRequest({ window, messages, request, trace });
    if (outcome.error !== undefined) {
      report(onEvent, { type: "reduction_failed", sessionId, error: outcome.error });
    }
    if (!outcome.changed) {
      return { messages, measured, reduction: undefined };
    }
    refuseSplitSteps(messages, outcome.messages);
    return {
      messages: outcome.messages,
      measured: await window.measure([...outcome.messages], request),
      reduction: outcome,
    };
  } catch (error) {
    if (BudgetError.isInstance(error)) {
      // The request would be refused as too long.
      throw error;
    }
    report(onEvent, { type: "reduction_failed", sessionId, error });
    return { messages, measured, reduction: undefined };
  }
}

/**
 * Reduces messages as what they are in the request: where a question stands behind them, their last round is not the
 * newest one, which a reducer keeps.
 */
async function reduceRequest({ window, messages, request, trace }: WindowRequest): Promise<ReductionOutcome> {
  const { besides = [], ...others } = request;
  if (!besides.some((message) => roleOf(message) === "human")) {
    return tracedReduction(window, messages, trace, request);
  }
  const outcome = await tracedReduction(window, [...messages, ...besides], trace, others);
  const { length } = besides;
  if (!outcome.messages.slice(-length).every((message, index) => message === besides[index])) {
    return tracedReduction(window, messages, trace, request);
  }
  const tokens = await countMessages(window.tokenCounter, besides);
  const without = (size: ViewSize): ViewSize => ({
    messages: size.messages - length,
    ...(size.tokens !== undefined && { tokens: size.tokens - tokens }),
  });
  const { before, after } = outcome;
  return { ...outcome, messages: outcome.messages.slice(0, -length), before: without(before), after: without(after) };
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
  /** The history of the request that failed, and why; undefined for the first request. */
  readonly failed?: { readonly history: readonly BaseMessage[]; readonly error: unknown } | undefined;
}

/** The history of a request, and what the request is thought to take, where its window is known. */
export interface FittedHistory {
  readonly history: readonly BaseMessage[];
  readonly measured: MeasuredRequest | undefined;
}

/**
 * The history that fits into the model's window together with the turn. A reduction is committed, which takes one more
 * round trip; a failed commit is reported, and the turn goes on. Undefined where a failed request is not to be tried
 * again.
 */
export async function fitHistory(
  session: ConversationSession,
  { source, opened, model, config, failed }: TurnToFit,
): Promise<FittedHistory | undefined> {
  const { reduceWhen } = session.context;
  const { state, history, turn } = opened;
  if (state === "stored") {
    return { history, measured: undefined };
  }
  const request = { model, config, besides: turn };
  const trace = traceOf(config);
  const fitted = await (failed === undefined
    ? fitRequest(session, { window: await source.load(), messages: history, request, trace })
    : fitRefused(session, { source, messages: failed.history, request, trace, error: failed.error }));
  if (fitted === undefined) {
    return undefined;
  }
  const { messages, measured, reduction } = fitted;
  if (failed !== undefined) {
    reportUsage(session, fitted);
  }
  if (reduction !== undefined) {
    const work = commitHistory(session, opened, { ...reduction, messages: [...messages] });
    await (reduceWhen === "background" ? session.inBackground(work) : work);
  }
  return { history: messages, measured };
}

/** Stores the reduced history of a turn as its view. Never throws: a failure is reported. */
export async function commitHistory(
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
