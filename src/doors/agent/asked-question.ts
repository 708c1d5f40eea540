import { type BaseMessage, RemoveMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { mayCall } from "../../conversation/messages/content.js";
import { roleOf } from "../../conversation/messages/message.js";
import type { ConversationSession } from "../../memory/session/conversation-session.js";
import { firstOfBlock } from "../../memory/turns/new-input.js";
import { idsOf, storedIds } from "../../memory/turns/open-turn.js";
import { firstOpenStep } from "../../memory/turns/stop.js";
import { withoutSummaries } from "./run.js";

/** A thread's state as its run answers it: the question, and the messages behind it from which the run goes on. */
export interface AskedState {
  readonly messages: readonly BaseMessage[];
  /** State update that makes the state so; undefined if it is. */
  readonly update?: BaseMessage[];
}

/**
 * The state that a run with a checkpointer begins with. It answers the last question. Messages of earlier runs leave
 * the state, because the memory holds them: so a thread holds one run, and a question that is asked again is its last
 * one. An answer behind the question leaves too, unless the session holds it. One round trip where there is one.
 */
export async function askedState(
  state: readonly BaseMessage[],
  config: RunnableConfig,
  session: ConversationSession,
): Promise<AskedState> {
  const own = withoutSummaries(state);
  const question = own.findLastIndex((message) => roleOf(message) === "human");
  if (question < 0) {
    return { messages: state };
  }
  const isFirst = isFirstRun(config);
  const first = firstAsked(own, question, isFirst);
  const behind = own.slice(question + 1);
  const old = isFirst || behind.length === 0 ? new Set() : await outdated(own[question]!, behind, session);
  const messages = own.slice(first).filter(({ id }) => id === undefined || !old.has(id));
  const ids = new Set(idsOf(messages));
  const gone = idsOf(state).filter((id) => !ids.has(id));
  return { messages, ...(gone.length > 0 && { update: gone.map((id) => new RemoveMessage({ id })) }) };
}

/** Steps of LangGraph in which no run has ended: input, start, and a hook, each of this run. */
const fewestSteps = 5;

/** True if no run of the thread has called a model before. */
function isFirstRun({ metadata }: RunnableConfig): boolean {
  return Number(metadata?.["langgraph_step"]) < fewestSteps;
}

/** Index of the run's first message: its input may be several user and system messages. */
function firstAsked(own: readonly BaseMessage[], question: number, isFirst: boolean): number {
  const first = firstOfBlock(own, question);
  if (first > 0 || isFirst) {
    return first;
  }
  // A state begins with the question of a run that failed.
  const before = own.slice(0, question).findLastIndex((message) => roleOf(message) !== "system");
  return before + 1;
}

/** Ids of what an earlier run left behind the question: what the session does not hold, and else what is not whole. */
async function outdated(
  question: BaseMessage,
  behind: readonly BaseMessage[],
  session: ConversationSession,
): Promise<ReadonlySet<string>> {
  const stored = await storedIds(session, idsOf([question, ...behind]));
  if (question.id !== undefined && stored.has(question.id)) {
    return new Set(idsOf(behind).filter((id) => !stored.has(id)));
  }
  const isAnswered = !mayCall(behind.at(-1)!) && roleOf(behind.at(-1)!) === "ai";
  return new Set(idsOf(isAnswered ? behind : behind.slice(firstOpenStep(behind))));
}
