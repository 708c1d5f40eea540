import { AIMessage, trimMessages, type BaseMessage } from "@langchain/core/messages";
import { getEncoding } from "js-tiktoken";
import { ClearToolUsesEdit, contextEditingMiddleware, summarizationMiddleware } from "langchain";
import {
  ChatHistoryTokenReducer,
  ChatHistoryToolResultReducer,
  InMemorySessionStore,
  RedisChatMemory,
  tiktokenCounter,
} from "langchain-redis-memory";
import { interleave, type Runner } from "../measure/interleave.js";
import { summarize, type Measured } from "../measure/statistics.js";
import { atLeast, comparisonTable, whole } from "../report/format.js";
import { timeHeadline } from "../report/headlines.js";
import type { Case, Section, Setting } from "../report/section.js";
import { names } from "../setting/contenders.js";
import { conversation } from "../setting/messages.js";

const maxTokens = 1_000;
const fresh = names.ours;
const stored = `${names.ours}, counts stored`;
const trim = "trimMessages, js-tiktoken";
const trimOnce = "trimMessages, each message counted once";
const trimKnown = "trimMessages, counts known before";
const summarization = "summarizationMiddleware, js-tiktoken";

/** Time of cutting a conversation to a number of tokens. */
export async function tokenCutSuite({ quick }: Setting): Promise<Section> {
  const counter = tiktokenCounter();
  await counter.ready();
  const lengths = quick ? [100, 200] : [100, 1_000, 10_000];
  const cases: Case[] = [];
  for (const length of lengths) {
    cases.push({ name: whole(length), measured: await compareCuts(length, quick) });
  }
  const edits = await compareEdits(quick);
  return section(cases, edits, lengths);
}

async function compareCuts(length: number, quick: boolean): Promise<Measured[]> {
  const reducer = new ChatHistoryTokenReducer({ maxTokens });
  const withCounts = await messagesWithCounts(reducer, length);
  const runners: Runner<never>[] = [
    {
      name: fresh,
      prepare: () => conversation(length) as never,
      run: (messages: BaseMessage[]) => reducer.reduce(messages),
    },
    { name: stored, prepare: withCounts as never, run: (messages: BaseMessage[]) => reducer.reduce(messages) },
  ];
  const summarizer: Runner<never> = {
    name: summarization,
    prepare: () => conversation(length) as never,
    run: summarizationCut(),
  };
  const trimmer: Runner<never> = { name: trim, prepare: () => conversation(length) as never, run: trimCut };
  const patient: Runner<never>[] = [
    { name: trimOnce, prepare: () => conversation(length) as never, run: trimCounting(new Map()) },
    trimmerWithCounts(length),
  ];
  const rounds = quick ? 2 : { 100: 24, 1_000: 16, 10_000: 8 }[length]!;
  // At 1,000 messages trimMessages takes half a minute, and at 10,000 a hundred times as long: once, and not at all.
  const together = [
    ...runners,
    ...(length <= 1_000 ? [summarizer, ...patient] : []),
    ...(length <= 200 ? [trimmer] : []),
  ];
  const measured = await interleave(together, { rounds, warmup: 2 });
  return length === 1_000 ? [...measured, await once(trimmer)] : measured;
}

async function once(runner: Runner<never>): Promise<Measured> {
  const input = (await runner.prepare(0)) as never;
  const begin = performance.now();
  await runner.run(input);
  return summarize(runner.name, [performance.now() - begin]);
}

/**
 * Messages read back from a history that counted them when they were written; new objects each time, as each read makes
 * them.
 */
async function messagesWithCounts(
  reducer: ChatHistoryTokenReducer,
  length: number,
): Promise<() => Promise<BaseMessage[]>> {
  const memory = new RedisChatMemory({ store: new InMemorySessionStore(), reducer, reduceWhen: "never" });
  const history = memory.history("counted");
  await history.addMessages(conversation(length));
  return () => history.getMessages();
}

const encoding = getEncoding("o200k_base");

/** Counts as applications do it: the text of each message with its calls, by js-tiktoken. */
function countAll(messages: BaseMessage[]): number {
  return messages.reduce((total, message) => total + encoding.encode(countedText(message)).length + 3, 3);
}

function countedText(message: BaseMessage): string {
  const calls = AIMessage.isInstance(message) && message.tool_calls?.length ? JSON.stringify(message.tool_calls) : "";
  return (typeof message.content === "string" ? message.content : JSON.stringify(message.content)) + calls;
}

function trimCut(messages: BaseMessage[]): Promise<BaseMessage[]> {
  return trimMessages(messages, { maxTokens, strategy: "last", tokenCounter: countAll, startOn: "human" });
}

/** The same with a counter that keeps what it counted, as an application may write one. */
function trimCounting(counts: Map<string, number>): (messages: BaseMessage[]) => Promise<BaseMessage[]> {
  const count = (message: BaseMessage) => {
    const known = counts.get(message.id!) ?? encoding.encode(countedText(message)).length + 3;
    counts.set(message.id!, known);
    return known;
  };
  const tokenCounter = (messages: BaseMessage[]) => messages.reduce((total, message) => total + count(message), 3);
  return (messages) => trimMessages(messages, { maxTokens, strategy: "last", tokenCounter, startOn: "human" });
}

/** Its best case: no message has to be counted any more. */
function trimmerWithCounts(length: number): Runner<never> {
  const messages = conversation(length);
  const run = trimCounting(new Map(messages.map((message) => [message.id!, countAll([message]) - 3])));
  return { name: trimKnown, prepare: () => messages as never, run };
}

/** The hook alone, without a graph, with a model that summarizes at once. */
function summarizationCut(): (messages: BaseMessage[]) => unknown {
  const model = {
    invoke: async () => new AIMessage("They spoke about trains."),
    getName: () => "model",
    lc_namespace: [],
  };
  const { beforeModel } = summarizationMiddleware({
    model: model as never,
    trigger: { tokens: maxTokens },
    keep: { tokens: maxTokens },
    tokenCounter: countAll,
    trimTokensToSummarize: 1e9,
  });
  const hook = beforeModel as (state: object, runtime: object) => Promise<unknown>;
  return (messages) => hook({ messages }, { context: {} });
}

/** Old tool results shortened or cleared; nothing is counted exactly in either. */
async function compareEdits(quick: boolean): Promise<Case[]> {
  const cases: Case[] = [];
  for (const length of quick ? [100] : [100, 1_000]) {
    const reducer = new ChatHistoryToolResultReducer({ keepLast: 3, maxCharacters: 40 });
    const { wrapModelCall } = contextEditingMiddleware({
      edits: [new ClearToolUsesEdit({ trigger: { tokens: 500 }, keep: { messages: 3 } })],
    });
    const edit = wrapModelCall as unknown as (
      request: object,
      handler: (request: object) => unknown,
    ) => Promise<unknown>;
    const runners: Runner<never>[] = [
      {
        name: "ChatHistoryToolResultReducer",
        prepare: () => conversation(length) as never,
        run: (messages: BaseMessage[]) => reducer.reduce(messages),
      },
      {
        name: "contextEditingMiddleware",
        prepare: () => conversation(length) as never,
        run: (messages: BaseMessage[]) => edit({ messages }, (request) => request),
      },
    ];
    cases.push({ name: whole(length), measured: await interleave(runners, { rounds: quick ? 2 : 40, warmup: 4 }) });
  }
  return cases;
}

function section(cases: readonly Case[], edits: readonly Case[], lengths: readonly number[]): Section {
  const middle = cases[1]!.measured;
  const of = (name: string) => middle.find(({ contender }) => contender === name)?.median ?? NaN;
  const name = whole(lengths[1]!);
  return {
    title: "Cutting by tokens",
    about:
      `To ${whole(maxTokens)} tokens of o200k_base, the encoding loaded. "counts stored": messages as a ` +
      "read of a history gives them that was written with a counter. trimMessages counts the whole rest " +
      "again for each message that it drops: " +
      "at 1,000 messages it ran once, at 10,000 not at all. Beside it with a counter that keeps what it counted, " +
      "which LangChain does not have but an application can write: each message counted once in the run, or before " +
      "it. The summarization middleware's hook is " +
      "measured without its graph, with a model that answers at once, and without its trimming of what it " +
      "summarizes (which is trimMessages again); it counts with js-tiktoken too (its default counts " +
      "characters).",
    tables: [
      comparisonTable("Cut to 1,000 tokens, by number of messages", cases),
      comparisonTable("Old tool results shortened or cleared, by number of messages", edits),
    ],
    targets: [
      atLeast(`token cut at ${name} messages, against trimMessages`, 300, of(trim) / of(fresh)),
      atLeast(`token cut at ${name} messages, against trimMessages at its best`, 1, of(trimOnce) / of(fresh)),
      atLeast(`the same with counts known before`, 1, of(trimKnown) / of(stored)),
    ],
    headlines: [
      timeHeadline({
        what: `cut of ${name} messages to ${whole(maxTokens)} tokens, each counted once`,
        ours: of(fresh),
        others: [of(trimOnce)],
        note: "trimMessages with a counter that remembers",
      }),
      timeHeadline({
        what: "the same with counts that are known before",
        ours: of(stored),
        others: [of(trimKnown)],
        note: "trimMessages with a counter that remembers",
      }),
    ],
  };
}
