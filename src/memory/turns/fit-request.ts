import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { BudgetError } from "../../base/errors.js";
import { report, type ViewSize } from "../../base/events.js";
import { callsOf } from "../../conversation/messages/content.js";
import { roleOf, isRecord, type Fields } from "../../conversation/messages/message.js";
import type {
  ChatHistoryReducer,
  ReducerRequest,
  ReductionOutcome,
  ViewLimit,
  RefusedRequest,
} from "../../conversation/reducers/chat-history-reducer.js";
import { limitAt } from "../../conversation/reducers/reduce-when.js";
import { usageOf } from "../../conversation/reducers/window/context-window.js";
import type { ContextWindow, MeasuredRequest } from "../../conversation/reducers/window/context-window.js";
import type { ConversationSession } from "../session/conversation-session.js";
import type { WindowSource } from "../session/memory-context.js";
import { refuseSplitSteps } from "../session/reduce-view.js";
import { traceOf, tracedReduction } from "../session/reduction-trace.js";
import { countMessages } from "../../conversation/tokens/counted-messages.js";

// Loaded with the first request of a memory that has a reducer.

/** The messages of a request, and what the request with them is thought to take. */
export interface FittedMessages {
  readonly messages: readonly BaseMessage[];
  /** Size before the reduction; undefined if there was none. */
  readonly before: ViewSize | undefined;
  /** The request as it is sent; undefined where the window is not known. */
  readonly measured: MeasuredRequest | undefined;
}

/** The messages to fit, and the request that they go out with. */
export interface RequestToFit {
  readonly messages: readonly BaseMessage[];
  readonly isOfTurn: (message: BaseMessage) => boolean;
  readonly request: ReducerRequest;
  readonly config: RunnableConfig;
}

/**
 * Reduces the messages of a request where they exceed a limit of the memory's reducer, the turn's question included, or
 * the model's window. The question stays. A failure, or a result that splits a step, is reported and changes nothing.
 *
 * @throws BudgetError of the reducer: the request would be refused.
 */
export async function fitRequest(
  session: ConversationSession,
  source: WindowSource | undefined,
  toFit: RequestToFit,
): Promise<FittedMessages> {
  try {
    return await fitOnce(session, source, toFit);
  } catch (error) {
    const fewer = BudgetError.isInstance(error) ? withoutUnanswered(toFit) : undefined;
    if (fewer === undefined) {
      throw error;
    }
    const { messages, before, measured } = await fitOnce(session, source, { ...toFit, messages: fewer });
    return { messages, before: before ?? { messages: toFit.messages.length }, measured };
  }
}

async function fitOnce(
  session: ConversationSession,
  source: WindowSource | undefined,
  toFit: RequestToFit,
): Promise<FittedMessages> {
  if (source === undefined) {
    return reduceList(session, session.context.reducer!, toFit);
  }
  const fitted = await fitWindow(session, await source.load(), toFit);
  const { sessionId, context } = session;
  if (fitted.measured !== undefined) {
    report(context.onEvent, { type: "context_usage", sessionId, ...usageOf(fitted.measured) });
  }
  return fitted;
}

/** Runs a reducer that does not know windows, where the request exceeds its limit. */
async function reduceList(
  session: ConversationSession,
  reducer: ChatHistoryReducer,
  toFit: RequestToFit,
): Promise<FittedMessages> {
  const { messages } = toFit;
  const { reduceWhen } = session.context;
  const limit = limitAt(reducer, { reduceWhen, last: messages.at(-1), isAwaited: true });
  return reporting(session, toFit, async () =>
    (await exceedsLimit(reducer, messages, limit)) ? keepingTurn(reducer, toFit) : undefined,
  );
}

/** A reduction after which the turn's question is still there: a foreign reducer may know no better. */
async function keepingTurn(reducer: ChatHistoryReducer, toFit: RequestToFit): Promise<ReductionOutcome> {
  const { messages, isOfTurn, request } = toFit;
  const trace = traceOf(toFit.config);
  const outcome = await tracedReduction(reducer, messages, trace, request);
  const left = new Set(outcome.messages.flatMap((message) => [message, message.id ?? message]));
  const isLost = (message: BaseMessage) =>
    isOfTurn(message) && roleOf(message) === "human" && !left.has(message) && !left.has(message.id ?? message);
  if (!outcome.changed || !messages.some(isLost)) {
    return outcome;
  }
  const before = messages.filter((message) => !isOfTurn(message));
  const reduced = await tracedReduction(reducer, before, trace, request);
  return { ...reduced, messages: [...reduced.messages, ...messages.filter(isOfTurn)] };
}

/** The result of a reduction; the messages as they are where there is none, and where it failed, which is reported. */
async function reporting(
  { sessionId, context: { onEvent } }: ConversationSession,
  toFit: RequestToFit,
  reduce: () => Promise<ReductionOutcome | undefined>,
): Promise<FittedMessages> {
  const asItIs = { messages: toFit.messages, before: undefined, measured: undefined };
  try {
    const outcome = await reduce();
    if (outcome?.changed === true) {
      refuseSplitSteps(toFit.messages, outcome.messages);
    }
    if (outcome?.error !== undefined) {
      report(onEvent, { type: "reduction_failed", sessionId, error: outcome.error });
    }
    return outcome?.changed === true ? { ...asItIs, messages: outcome.messages, before: outcome.before } : asItIs;
  } catch (error) {
    if (BudgetError.isInstance(error)) {
      throw error;
    }
    report(onEvent, { type: "reduction_failed", sessionId, error });
    return asItIs;
  }
}

/** Reduces a request that exceeds its model's window, or that was refused as too long. */
async function fitWindow(
  session: ConversationSession,
  window: ContextWindow,
  toFit: RequestToFit,
): Promise<FittedMessages> {
  const { messages, request } = toFit;
  let measured: MeasuredRequest | undefined;
  const fitted = await reporting(session, toFit, async () => {
    measured = await window.measure(messages, request);
    const isDue = request.refused !== undefined || (measured !== undefined && window.isDue(measured, messages));
    return isDue ? tracedReduction(window, messages, traceOf(toFit.config), request) : undefined;
  });
  const isReduced = fitted.before !== undefined;
  return { ...fitted, measured: isReduced ? await window.measure([...fitted.messages], request) : measured };
}

/**
 * Fewer messages for a request that the provider refused: smaller ones where it was too long for the first time, with
 * any reducer; else without the unanswered questions in front of the turn, which a process that died may have left
 * without their mark. Undefined where nothing can go.
 */
export async function fitRefused(
  session: ConversationSession,
  toFit: RequestToFit & { readonly wasTooLong: boolean },
  error: unknown,
): Promise<FittedMessages | undefined> {
  const { sessionId, context } = session;
  const refused = tooLongIn(error);
  const fitted = refused === undefined || toFit.wasTooLong ? undefined : await fitOverflow(session, toFit, refused);
  const unanswered = fitted === undefined ? withoutUnanswered(toFit) : undefined;
  if (refused !== undefined) {
    const retried = fitted !== undefined || unanswered !== undefined;
    report(context.onEvent, { type: "context_overflow", sessionId, ...refused, retried });
  }
  return unanswered === undefined
    ? fitted
    : { messages: unanswered, before: { messages: toFit.messages.length }, measured: undefined };
}

/** True for the refusal of a request that exceeds its model's window. */
export function isTooLong(error: unknown): boolean {
  return tooLongIn(error) !== undefined;
}

async function fitOverflow(
  session: ConversationSession,
  toFit: RequestToFit,
  refused: NonNullable<ReducerRequest["refused"]>,
): Promise<FittedMessages | undefined> {
  const { reducer, window: source, reduceWhen } = session.context;
  if (reduceWhen === "never" || (source === undefined && reducer === undefined)) {
    return undefined;
  }
  const window = await (source?.load() ?? defaultWindow());
  const fitted = await fitWindow(session, window, { ...toFit, request: { ...toFit.request, refused } });
  if (source !== undefined) {
    // From now on the window is known.
    source.isTold = true;
  }
  return fitted.before === undefined ? undefined : fitted;
}

async function defaultWindow(): Promise<ContextWindow> {
  const window = await import("../../conversation/reducers/window/default-window.js");
  return window.defaultWindow();
}

/**
 * The messages without the rounds in front of the turn that nothing answers, their steps included; undefined where
 * there is none. The last one of several questions in a row may have an answer.
 */
export function withoutUnanswered({
  messages,
  isOfTurn,
}: Pick<RequestToFit, "messages" | "isOfTurn">): BaseMessage[] | undefined {
  const left: BaseMessage[] = [];
  let isAnswered = false;
  for (const message of messages.toReversed()) {
    const role = roleOf(message);
    const isOwn = isOfTurn(message);
    isAnswered ||= role === "ai" && callsOf(message).length === 0;
    if (isOwn || isAnswered || (role !== "human" && role !== "ai" && role !== "tool")) {
      left.push(message);
    }
    isAnswered &&= !isOwn && role !== "human";
  }
  return left.length === messages.length ? undefined : left.reverse();
}

/** True if the list exceeds the limit; an empty limit is never exceeded. */
export async function exceedsLimit(
  { viewLimit, tokenCounter }: ChatHistoryReducer,
  messages: readonly BaseMessage[],
  limit: ViewLimit = viewLimit,
): Promise<boolean> {
  const { messages: inAll = Infinity, fromStart = Infinity, tokens } = limit;
  if (Object.keys(limit).length === 0) {
    return false;
  }
  // A request's list has no start: count all of it as new since the last reduction.
  if (messages.length > Math.min(inAll, fromStart)) {
    return true;
  }
  if (tokens === undefined || tokenCounter === undefined) {
    return inAll === Infinity && fromStart === Infinity;
  }
  return (await countMessages(tokenCounter, messages)) > tokens;
}

/** Words of providers that refuse a request as too long; some adapters of LangChain throw them as they are. */
const refusals = [
  /context_length_exceeded/i,
  /maximum context length/i,
  /exceeds? (?:the|its|this model's) (?:maximum )?context (?:window|length|limit)/i,
  /input tokens exceed the configured limit/i,
  /prompt is too long/i,
  /input length and `max_tokens` exceed context limit/i,
  /input token count[ ()\d]* exceeds the maximum/i,
  /input is too long for requested model/i,
];

/** Places of the window and of the request's size in these words. */
const windows = [
  /maximum context length (?:is|of) (\d+)/i,
  /configured limit of (\d+)/i,
  /tokens > (\d+) maximum/i,
  /maximum number of tokens allowed \((\d+)\)/i,
  /context limit: [\d +]+> (\d+)/i,
];
const sizes = [
  /\((\d+) in the messages/i,
  /resulted in (\d+) tokens/i,
  /prompt is too long: (\d+) tokens/i,
  /input token count \((\d+)\)/i,
  /context limit: (\d+)/i,
  /you requested (\d+) tokens/i,
];

/** An error and its cause, and their words. */
export function partsOf(error: unknown): { readonly parts: readonly Fields[]; readonly text: string } {
  const parts = [error, isRecord(error) ? error["cause"] : undefined].filter(isRecord);
  return { parts, text: parts.map(({ message }) => (typeof message === "string" ? message : "")).join("\n") };
}

/** The refusal of a request as too long in an error of a model; undefined for any other error. */
export function tooLongIn(error: unknown): RefusedRequest | undefined {
  const { parts, text } = partsOf(error);
  const named = parts.some(
    ({ name, code, lc_error_code: langchainCode }) =>
      name === "ContextOverflowError" || code === "context_length_exceeded" || langchainCode === "CONTEXT_OVERFLOW",
  );
  if (!named && !refusals.some((words) => words.test(text))) {
    return undefined;
  }
  const [window, tokens] = [firstNumber(windows, text), firstNumber(sizes, text)];
  return { ...(window !== undefined && { window }), ...(tokens !== undefined && { tokens }) };
}

function firstNumber(patterns: readonly RegExp[], text: string): number | undefined {
  const amount = patterns.map((pattern) => Number(pattern.exec(text)?.[1])).find((value) => value > 0);
  return amount !== undefined && Number.isSafeInteger(amount) ? amount : undefined;
}
