import type { AIMessage, BaseMessage, ToolMessage } from "@langchain/core/messages";
import { trimMessages } from "@langchain/core/messages";
import { ChatPromptValue } from "@langchain/core/prompt_values";
import type { Runnable } from "@langchain/core/runnables";
import fc from "fast-check";
import {
  ChatHistoryRoundReducer,
  ChatHistorySummarizationReducer,
  ChatHistoryTokenReducer,
  ChatHistoryToolResultReducer,
  ChatHistoryTruncationReducer,
  ChatMemoryModule,
  contextWindow,
  pipeReducers,
  type ReducerInput,
} from "../../src/entries/index.js";
import { conversationGuard, validateConversation, type BuiltInProfile } from "../../src/entries/structure.js";
import { countMessages } from "../../src/conversation/tokens/counted-messages.js";
import { builtInProfiles } from "../../src/conversation/structure/profiles/built-in-profiles.js";
import { brokenConversation } from "../support/broken-conversations.js";
import { anyConversation, orderlyConversation } from "../support/conversations.js";
import { CountingCounter } from "../support/counting-counter.js";
import { aiCalls, human, tool } from "../support/messages.js";
import { forAllAsync } from "../support/property-runs.js";

const tokenCounter = new CountingCounter();
const model = { invoke: () => Promise.resolve("So far.") };
const summarized = { model, tokenCounter, failOnError: false };
type Trimmer = Pick<Runnable<ReducerInput, BaseMessage[]>, "invoke" | "pipe">;

/** Each trimmer, for few messages and for as many as are drawn. */
const trimmers: Readonly<Record<string, (isLarge: boolean) => Trimmer>> = {
  truncation: (isLarge) => new ChatHistoryTruncationReducer({ targetCount: isLarge ? 1_000 : 3 }),
  rounds: (isLarge) => new ChatHistoryRoundReducer({ targetRounds: isLarge ? 1_000 : 2 }),
  tokens: (isLarge) => new ChatHistoryTokenReducer({ maxTokens: isLarge ? 1e6 : 80, tokenCounter }),
  "tool results": (isLarge) =>
    new ChatHistoryToolResultReducer({ keepLast: isLarge ? 1_000 : 0, maxCharacters: 1, thresholdCount: 0 }),
  "summary by count": (isLarge) =>
    new ChatHistorySummarizationReducer({ ...summarized, targetCount: isLarge ? 1_000 : 2, thresholdCount: 0 }),
  "summary by tokens": (isLarge) =>
    new ChatHistorySummarizationReducer({ ...summarized, summaryRole: "ai", maxTokens: isLarge ? 1e6 : 90 }),
  window: (isLarge) => contextWindow({ maxInputTokens: isLarge ? 1e6 : 90, reserveForAnswer: 0, tokenCounter }),
  pipeline: (isLarge) =>
    pipeReducers(
      new ChatHistoryToolResultReducer({ keepLast: isLarge ? 1_000 : 1, thresholdCount: 0 }),
      new ChatHistoryTokenReducer({ maxTokens: isLarge ? 1e6 : 80, tokenCounter }),
    ),
  "trimMessages of LangChain": (isLarge) =>
    pipeReducers(trimMessages({ maxTokens: isLarge ? 1_000 : 4, tokenCounter: (list) => list.length })),
  module: (isLarge) =>
    new ChatMemoryModule({ nRounds: isLarge ? 1_000 : 2, maxContext: isLarge ? 1e6 : 90, format: "messages" }),
};

/** Roles as the guide names them, read from the messages without the package's help. */
function roleIn(message: BaseMessage): string {
  const type: string = message.getType();
  const role = type === "generic" ? (message as unknown as { role: string }).role : type;
  return { human: "user", ai: "assistant", developer: "system" }[role] ?? role;
}

/**
 * The guide's three sentences. "The first message is either a user message or a system message, followed by a user and
 * then an assistant message." "The last message should be either a user message or a tool message containing the result
 * of a tool call." "A tool message should only follow an assistant message that requested the tool invocation."
 */
function brokenSentences(messages: readonly BaseMessage[]): string[] {
  const roles = messages.map(roleIn);
  const first = roles.find((role) => role !== "system");
  const last = roles.at(-1)!;
  const follows = (message: BaseMessage, index: number) => {
    const caller = messages.findLast((_, at) => at < index && roles[at] !== "tool") as AIMessage | undefined;
    const { tool_call_id: id } = message as ToolMessage;
    return caller !== undefined && roleIn(caller) === "assistant" && caller.tool_calls?.some((call) => call.id === id);
  };
  return [
    ...(first === "user" ? [] : ["first message"]),
    // A function message is the result of OpenAI's calls before there were tools.
    ...(["user", "tool", "function"].includes(last) ? [] : ["last message"]),
    ...(messages.every((message, index) => roles[index] !== "tool" || follows(message, index)) ? [] : ["tool message"]),
  ];
}

/** True for an answer, or the message of a role that the guide does not name. */
function mayComeBefore(message: BaseMessage): boolean {
  return !["user", "tool", "function"].includes(roleIn(message));
}

/** What the package's own validator refuses of a request; a conversation that begins with the model too. */
function problems(messages: readonly BaseMessage[], profile: BuiltInProfile = "langchain"): string[] {
  return validateConversation(messages, { profile, purpose: "model-input" })
    .filter(({ severity, rule }) => severity === "error" || rule === "S02")
    .map(({ rule }) => rule);
}

const drawnList = fc
  .oneof(
    brokenConversation({ maxLength: 12 }),
    anyConversation({ maxLength: 16 }),
    orderlyConversation({ maxRounds: 3 }),
  )
  .filter((messages) => messages.length > 0);

describe.each(Object.entries(trimmers))("what a trimmer by %s makes for a model", (name, make) => {
  const small = make(false);
  // LangChain's own knows no instruction to remove a message.
  const anyList = name.startsWith("trimMessages")
    ? drawnList
        .map((messages) => messages.filter((message) => (message.getType() as string) !== "remove"))
        .filter((messages) => messages.length > 0)
    : drawnList;

  it("keeps the rules of LangChain's guide, whatever a prompt holds", () =>
    forAllAsync(60, anyList, async (messages) => {
      const sent = await small.invoke(new ChatPromptValue([...messages]));
      expect([brokenSentences(sent), problems(sent)]).toEqual([[], []]);
    }));

  it("keeps them for every list of messages; behind an answer at its end comes the question", () =>
    forAllAsync(40, anyList, async (messages) => {
      const sent = await small.invoke(messages);
      // Nothing is left of results without calls, and a list may have had nothing but system messages.
      const isOpen = sent.every((message) => roleIn(message) === "system") || mayComeBefore(sent.at(-1)!);
      const asked = isOpen ? [...sent, human("question")] : sent;
      expect([brokenSentences(asked), problems(asked)]).toEqual([[], []]);
    }));

  it("is valid for each provider behind a guard", async () => {
    const profiles = fc.constantFrom(...(Object.keys(builtInProfiles) as BuiltInProfile[]));
    await forAllAsync(60, fc.tuple(anyList, profiles), async ([messages, profile]) => {
      const chain = small.pipe(conversationGuard({ profile }));
      const sent = await chain.invoke(new ChatPromptValue([...messages]));
      expect([brokenSentences(sent), problems(sent, profile)]).toEqual([[], []]);
    });
  });

  it("is the input itself where that is valid and needs no cut", async () => {
    const large = make(true);
    let unchanged = 0;
    await forAllAsync(40, anyList, async (messages) => {
      const asked = [...messages, human("question")];
      if (problems(asked).length + brokenSentences(asked).length === 0) {
        const sent = await large.invoke(new ChatPromptValue([...asked]));
        expect(sent).toHaveLength(asked.length);
        sent.forEach((message, index) => expect(message).toBe(asked[index]));
        unchanged += 1;
      }
    });
    expect(unchanged).toBeGreaterThan(0);
  });
});

describe("a repair by a trimmer", () => {
  const reducer = new ChatHistoryRoundReducer({ targetRounds: 5 });
  const orphan = brokenOf("orphan");

  function brokenOf(id: string): BaseMessage[] {
    return [human("q"), tool(id), human("r")];
  }

  it("is a custom event of the run, in the form of the memory's event", async () => {
    const events: unknown[] = [];
    const callbacks = [{ handleCustomEvent: (name: string, data: unknown) => void events.push([name, data]) }];
    expect(await reducer.invoke(orphan, { callbacks, configurable: { sessionId: "s" } })).toHaveLength(2);
    expect(events).toEqual([["repaired", { type: "repaired", sessionId: "s", rules: ["S07"] }]]);
    await reducer.invoke([human("q")], { callbacks });
    expect(events).toHaveLength(1);
  });

  it("is none where the result is stored, and for messages that reduce takes", async () => {
    expect(await pipeReducers(reducer.pipe(reducer)).reduce(orphan)).toBeNull();
    expect(await reducer.reduce(orphan)).toBeNull();
    expect(await reducer.invoke([])).toEqual([]);
  });

  it("counts for the budget", async () => {
    const open = [human("q".repeat(40)), aiCalls("a"), human("r".repeat(40))];
    const maxTokens = await countMessages(tokenCounter, open);
    const sent = await new ChatHistoryTokenReducer({ maxTokens, tokenCounter }).invoke(open);
    expect(await countMessages(tokenCounter, sent)).toBeLessThanOrEqual(maxTokens);
    expect(sent).toEqual(open.slice(2));
  });
});
