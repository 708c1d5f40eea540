import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { ConfigurationError, SummaryError } from "../base/errors.js";
import { report } from "../base/events.js";
import { maxTries } from "../base/tries.js";
import { compactionIn } from "../messages/calls.js";
import { cutOffBy } from "../messages/written-text.js";
import { roleOf } from "../messages/roles.js";
import { fieldsOf, isRecord } from "../messages/values.js";
import type { ReducerRequest } from "../reducers/chat-history-reducer.js";
import { FailurePause } from "../reducers/summary/failure-pause.js";
import { summaryCutOff } from "../reducers/summary/summarizer.js";
import { viewSize } from "../reducers/reduction-outcome.js";
import type { ConversationSession } from "../session/conversation-session.js";
import type { WindowSource } from "../session/memory-context.js";
import { commitOutcome, underLease } from "../session/reduce-view.js";
import type { TracePlace } from "../session/reduction-trace.js";
import type { TurnRequests } from "./turn-requests.js";
import { reportNotNative } from "../structure/seam/model-input.js";

// Loaded with the first run of a memory that asks providers to compact.

/** A conversation that was sent, with its answer, and the way to send it again. */
export interface SentConversation {
  readonly source: WindowSource;
  readonly messages: readonly BaseMessage[];
  /** The request made last. */
  readonly request: ReducerRequest;
  readonly config: RunnableConfig | undefined;
  /** Sends messages to another model as that request was sent. */
  readonly ask: (messages: BaseMessage[], model: object, config?: RunnableConfig) => Promise<BaseMessage>;
}

/** Asks the provider to compact what a turn has sent, where its door can ask again. Never throws. */
export async function compactTurn(
  session: ConversationSession,
  { last: request, list }: TurnRequests,
  config: TracePlace | undefined,
): Promise<void> {
  const { window: source } = session.context;
  const { ask } = request ?? {};
  if (source !== undefined && request !== undefined && ask !== undefined) {
    const send: SentConversation["ask"] = (messages, model, inner) => ask(messages, inner, model);
    await compactNatively(session, { source, messages: [...list.messages], request, config, ask: send });
  }
}

const failures = new FailurePause();

/** The beta in which Anthropic's Messages API compacts on demand. */
const beta = "compact-2026-09-04";

/**
 * Asks the provider to compact a conversation that nears its window, and stores the result as the head of the view:
 * only for messages that were sent, so that those which arrive meanwhile stay behind it. Never throws.
 */
export async function compactNatively(session: ConversationSession, sent: SentConversation): Promise<void> {
  const { sessionId, context } = session;
  const { source, messages, request } = sent;
  try {
    const window = await source.load();
    const measured = await window.measure(messages, request);
    if (measured === undefined || !window.isForProvider(measured, messages)) {
      return;
    }
    const model = await modelOf(request);
    const compacting = compactingModel(model);
    if (compacting !== undefined) {
      await underLease(session, () => compact(session, sent, compacting));
    } else if (!compactsItself(model)) {
      reportNotNative(measured.model ?? "", notNative(), { sessionId, onEvent: context.onEvent });
    }
  } catch (error) {
    report(context.onEvent, { type: "reduction_failed", sessionId, error });
  }
}

/** The chat model of a request, also one that `initChatModel` makes by the config. */
async function modelOf({ model, config }: ReducerRequest): Promise<unknown> {
  const { _getModelInstance: instance } = fieldsOf(model);
  return typeof instance === "function" ? (instance.call(model, config) as Promise<unknown>) : model;
}

/** True for a model with which its provider compacts without being asked each time. */
function compactsItself(model: unknown): boolean {
  const { contextManagement, modelKwargs } = fieldsOf(model);
  const { edits } = fieldsOf(contextManagement);
  const isEdit = (edit: unknown) => String(fieldsOf(edit)["type"]).startsWith("compact");
  return (Array.isArray(edits) && edits.some(isEdit)) || fieldsOf(modelKwargs)["context_management"] !== undefined;
}

/**
 * The model with the fields by which ChatAnthropic asks to compact; undefined where the adapter has no such fields.
 * The field exists in its constructor only, so what is asked stands in front of the model's own fields.
 */
function compactingModel(model: unknown): object | undefined {
  const { invocationKwargs, betas, _llmType: kind } = fieldsOf(model);
  const isAnthropic = typeof kind === "function" && kind.call(model) === "anthropic";
  if (!isRecord(model) || !isAnthropic || !isRecord(invocationKwargs) || compactsItself(model)) {
    return undefined;
  }
  const own = {
    invocationKwargs: { ...invocationKwargs, compaction: { type: "summarize" } },
    betas: [...new Set([...(Array.isArray(betas) ? (betas as unknown[]) : []), beta])],
    // The API takes neither beside a compaction on demand.
    ...{ contextManagement: undefined, stopSequences: undefined },
    streaming: false,
  };
  return Object.assign(Object.create(model) as object, own);
}

function notNative(): ConfigurationError {
  return new ConfigurationError(
    "summary",
    'contextWindow: summary "native" can ask ChatAnthropic only; for ChatOpenAI give the model "modelKwargs" with ' +
      '"context_management", else name a model for the summaries. Messages leave without a summary.',
  );
}

async function compact(session: ConversationSession, sent: SentConversation, model: object): Promise<void> {
  const { sessionId, context } = session;
  const { messages } = sent;
  if (failures.remaining(sessionId) > 0 || headBehind(await viewOf(session), messages) === undefined) {
    return;
  }
  const answer = await askFor(sessionId, sent, model);
  const { tokenCounter } = context;
  for (let attempt = 1; attempt <= maxTries.edit; attempt += 1) {
    const view = await viewOf(session);
    const rest = headBehind(view, messages);
    if (rest === undefined) {
      return;
    }
    const compacted = [...rest.systems, answer, ...rest.later];
    const all = view.entries.map(({ message }) => message);
    const [before, after] = await Promise.all([all, compacted].map((list) => viewSize(list, tokenCounter)));
    const outcome = { messages: compacted, before: before!, after: after!, overBudgetBy: 0 };
    if ((await commitOutcome(session, view, outcome)) !== "stale") {
      return;
    }
  }
  report(context.onEvent, { type: "reduction_stale", sessionId });
}

/** @throws SummaryError `failed` for an answer without a compaction, `cut_off` for one that ended early. */
async function askFor(sessionId: string, { messages, config, ask }: SentConversation, model: object) {
  try {
    const answer = await ask([...messages], model, config);
    const reason = cutOffBy(answer);
    if (reason !== undefined) {
      throw summaryCutOff(reason);
    }
    if (compactionIn(answer) === undefined) {
      throw new SummaryError("The provider was asked to compact and did not; no message was removed.", {
        code: "failed",
      });
    }
    failures.succeeded(sessionId);
    return answer;
  } catch (error) {
    failures.failed(sessionId);
    throw error;
  }
}

async function viewOf(session: ConversationSession) {
  return session.decode(await session.context.store.readView(session.ref));
}

/** The messages of a view that stay beside a compaction of those sent; undefined if the last of these left the view. */
function headBehind(
  { entries }: ReturnType<ConversationSession["decode"]>,
  sent: readonly BaseMessage[],
): Readonly<Record<"systems" | "later", readonly BaseMessage[]>> | undefined {
  const ids = new Set(sent.map(({ id }) => id));
  const inView = entries.map(({ message }) => message);
  const isSystem = (message: BaseMessage) => roleOf(message) === "system";
  return inView.some(({ id }) => id !== undefined && id === sent.at(-1)?.id)
    ? {
        systems: inView.filter(isSystem),
        later: inView.filter((message) => !isSystem(message) && !ids.has(message.id)),
      }
    : undefined;
}
