import { AIMessage, type BaseMessage, HumanMessage, SystemMessage } from "@langchain/core/messages";
import { summaryKey, type SummaryMark, summaryMarkOf } from "./message.js";

/**
 * The role of a summary message.
 * @example
 * import { ChatOpenAI } from "@langchain/openai";
 * import { ChatHistorySummarizationReducer } from "langchain-redis-memory";
 *
 * const model = new ChatOpenAI({ model: "gpt-4o-mini" });
 * const reducer = new ChatHistorySummarizationReducer({ model, targetCount: 20, summaryRole: "system" });
 */
export type SummaryRole = "human" | "system" | "ai";

/** Precedes the text of a summary, so that the model does not read it as a request. */
const frame = "Summary of the earlier conversation (background, not a request):\n";

const messageTypes = { human: HumanMessage, system: SystemMessage, ai: AIMessage };

/** The messages that a summary covers, oldest first. */
export interface SummarySource {
  readonly replaced: readonly BaseMessage[];
  readonly covered: readonly BaseMessage[];
}

/** Creates a message with a summary, marked with what it covers. */
export function summaryMessage(
  text: string,
  { id, role, source }: { readonly id: string | undefined; readonly role: SummaryRole; readonly source: SummarySource },
): BaseMessage {
  return new messageTypes[role]({
    ...(id !== undefined && { id }),
    content: frame + text,
    additional_kwargs: { [summaryKey]: markOf(source) },
  });
}

/** Returns the text of a summary, without its prefix. */
export function summaryText(summary: BaseMessage): string {
  return summary.text.startsWith(frame) ? summary.text.slice(frame.length) : summary.text;
}

function markOf({ replaced, covered }: SummarySource): SummaryMark {
  const marks = replaced.flatMap((summary) => summaryMarkOf(summary) ?? []);
  const parts = [...marks, ...covered.map(({ id }) => ({ firstId: id, lastId: id, count: 1 }))];
  return {
    firstId: parts[0]?.firstId,
    lastId: parts[parts.length - 1]?.lastId,
    count: parts.reduce((total, { count }) => total + (Number.isFinite(count) ? count : 0), 0),
  };
}
