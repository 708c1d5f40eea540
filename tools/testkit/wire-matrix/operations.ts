import { AIMessage, HumanMessage, SystemMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import {
  approximateCounter,
  type ChatHistoryReducer,
  ChatHistorySummarizationReducer,
  ChatHistoryTokenReducer,
  ChatHistoryToolResultReducer,
  ChatHistoryTruncationReducer,
} from "../../../src/entries/index.js";
import {
  answeredId,
  callsOf,
  blocksOf,
  contentOf,
  isTextBlock,
  textBlock,
} from "../../../src/conversation/messages/content.js";
import { mediaKinds } from "../../../src/conversation/messages/media.js";
import { speakerOf } from "../../../src/conversation/messages/message.js";

/** A change of a conversation between the store and the model. */
export interface Operation {
  readonly name: string;
  /** Whether the conversation's call ids are such as no provider gives. */
  readonly oddIds?: boolean;
  apply(messages: BaseMessage[]): Promise<BaseMessage[]> | BaseMessage[];
}

const tokenCounter = approximateCounter();
const words = { type: "text", text: "Mark." };
const marked = (ttl: object) => ({ ...words, cache_control: { type: "ephemeral", ...ttl } });

/** With half of a surrogate pair, as where a client cuts a text in the middle of a character. */
const question = () => new HumanMessage("And now? \ud83d");

/** With more marks of a prompt cache than a request may have, in a bad order, and a block of text without one. */
function hostileQuestion(): HumanMessage {
  const hour = marked({ ttl: "1h" });
  const content = [marked({}), hour, hour, hour, hour, { type: "text" }, { ...words, text: "And now? \ud83d" }];
  return new HumanMessage({ content: content as never });
}

/** Operations of the measured table, and those after it. */
export const operations: readonly Operation[] = [
  { name: "none", apply: (messages) => messages },
  { name: "truncation", apply: reducedBy(new ChatHistoryTruncationReducer({ targetCount: 5 })) },
  {
    name: "tokens",
    apply: reducedBy(new ChatHistoryTokenReducer({ maxTokens: 220, tokenCounter })),
  },
  { name: "summary", apply: summarize },
  {
    name: "clip",
    apply: reducedBy(new ChatHistoryToolResultReducer({ keepLast: 1, maxCharacters: 60 })),
  },
  { name: "repair, filled", apply: withoutOneResult },
  { name: "rename", oddIds: true, apply: renameAndRepeat },
  { name: "merge", apply: withoutQuestionInside },
  { name: "sanitize", apply: (messages) => messages.flatMap(rebuilt) },
  { name: "interrupted", apply: interrupt },
  { name: "recalled", apply: recall },
  { name: "rewind", apply: (messages) => [...messages.slice(0, lastQuestion(messages) - 1), hostileQuestion()] },
];

/** Built anew of texts, media and calls, as by an application that takes nothing else from its clients. */
function rebuilt(message: BaseMessage): BaseMessage[] {
  const speaker = speakerOf(message);
  const taken = blocksOf(message).flatMap((block) =>
    isTextBlock(block) ? [textBlock(String(block["text"] ?? ""))] : mediaKinds.has(block.type) ? [block] : [],
  );
  const content = typeof message.content === "string" ? message.content : contentOf(taken);
  const fields = { content, ...(message.name !== undefined && { name: message.name }) };
  if (speaker === "tool") {
    const { status } = message as ToolMessage;
    const result = { ...fields, ...(status === "error" && { status }), tool_call_id: answeredId(message) };
    return [new ToolMessage(result as never)];
  }
  const calls = callsOf(message).filter(({ readable, id, name }) => readable && id && name);
  const tool_calls = calls.map(({ id, name, args }) => ({ type: "tool_call", id, name, args }));
  return speaker === "user"
    ? [new HumanMessage(fields as never)]
    : speaker === "assistant"
      ? [new AIMessage({ ...fields, tool_calls } as never)]
      : [];
}

/** The number of operations at the front that the first measured table had. */
export const measuredBefore = 10;

function summarize(messages: BaseMessage[]): Promise<BaseMessage[]> {
  const model = new FakeListChatModel({ responses: ["A summary."] });
  return reducedBy(new ChatHistorySummarizationReducer({ model, targetCount: 5, tokenCounter }))(messages);
}

/** Results under other names than their calls, a call with an empty id, and a round that comes again from a cache. */
function renameAndRepeat(messages: BaseMessage[]): BaseMessage[] {
  const [first = -1, second = -1] = messages.flatMap((message, index) =>
    message.getType() === "human" ? [index] : [],
  );
  const last = lastQuestion(messages);
  const renamed = messages.map((message) =>
    message.getType() === "tool"
      ? new ToolMessage({ ...(message as ToolMessage), name: "mcp__lookup" } as never)
      : message,
  );
  const byHand = [
    new HumanMessage("Look."),
    new AIMessage({ content: "", tool_calls: [{ id: "", name: "lookup", args: { q: "by hand" } }] }),
    new ToolMessage({ content: "found", tool_call_id: "", name: "lookup" }),
    new AIMessage("Done."),
  ];
  return [...renamed.slice(0, last), ...byHand, ...renamed.slice(first, second), ...renamed.slice(last)];
}

function withoutOneResult(messages: BaseMessage[]): BaseMessage[] {
  const result = messages.findLastIndex((message) => message.getType() === "tool");
  return messages.filter((_, index) => index !== result);
}

/** Two answers in a row, as where a question was not stored. */
function withoutQuestionInside(messages: BaseMessage[]): BaseMessage[] {
  const questions = messages.flatMap((message, index) => (message.getType() === "human" ? [index] : []));
  return messages.filter((_, index) => index !== questions[1]);
}

/** A turn that ended between its calls and their results, and a question after it. */
function interrupt(messages: BaseMessage[]): BaseMessage[] {
  const call = messages.findLastIndex(
    (message) => ((message as { tool_calls?: unknown[] }).tool_calls ?? []).length > 0,
  );
  return call < 0 ? messages : [...messages.slice(0, call + 1), question()];
}

function recall(messages: BaseMessage[]): BaseMessage[] {
  const last = lastQuestion(messages);
  return [...messages.slice(0, last), new SystemMessage("The user likes tea."), ...messages.slice(last)];
}

function lastQuestion(messages: readonly BaseMessage[]): number {
  return messages.findLastIndex((message) => message.getType() === "human");
}

/** A view as a memory reduces it: without the repair that a trimmer makes for a model that it does not know. */
function reducedBy(reducer: ChatHistoryReducer): (messages: BaseMessage[]) => Promise<BaseMessage[]> {
  return async (messages) => (await reducer.reduce(messages)) ?? messages;
}
