import type { BaseMessage } from "@langchain/core/messages";
import { ChatHistoryTokenReducer, promptCacheMarks, tiktokenCounter, type TokenCounter } from "langchain-redis-memory";
import { tokensOf, withBudgets, type Budgeted } from "../measure/bill.js";
import { digits, whole } from "../report/format.js";
import type { Section, Setting } from "../report/section.js";
import { isSystem, recordedConversations } from "../setting/recorded-conversations.js";

const wanted = 98;
const profiles = ["anthropic", "bedrock"] as const;

/** Where the marks of a prompt stand: indexes of the messages that end with one. */
type Marks = (prompt: readonly BaseMessage[]) => Promise<readonly number[]>;

/** Prompt tokens that lie before a mark which the request before had too. */
export async function promptCacheSuite({ quick }: Setting): Promise<Section> {
  const { conversations, source } = recordedConversations(quick ? 4 : Infinity);
  const counter = tiktokenCounter();
  await counter.ready();
  const uncut = conversations.map((messages) => ({ messages, budget: Infinity }));
  const half = await withBudgets(conversations, { share: 0.5, counter });
  const rows: string[][] = [];
  const ratios: number[] = [];
  for (const [name, budgeted] of [["never cut", uncut] as const, ["token reducer, half a budget", half] as const]) {
    const prompts = await Promise.all(budgeted.map((each) => promptsOf(each, counter)));
    const reference = await sharedTokens(prompts, { marks: plainMarks, counter });
    for (const profile of profiles) {
      const ours = await sharedTokens(prompts, { marks: marksOf(profile), counter });
      const percent = (tokens: number) => `${digits((100 * tokens) / ours.sent)} %`;
      ratios.push(ours.shared / reference.shared);
      rows.push([`${name}, ${profile}`, whole(ours.sent), percent(ours.shared), percent(reference.shared)]);
    }
  }
  const lowest = 100 * Math.min(...ratios);
  return {
    title: "Marks for prompt caches",
    about:
      `Recorded conversations: ${source}. Every AI message is one request. A prompt token counts where it lies ` +
      "before a mark of `promptCacheMarks` at which the request before had a mark too, with the same messages in " +
      "front of it: that is what a provider which caches only what is marked has in its cache. Beside it the same " +
      "with two marks, at the end of the system messages and at the end of the newest complete round.",
    tables: [{ title: "Share of the prompt tokens", head: ["", "sent", "promptCacheMarks", "two marks"], rows }],
    targets: [
      {
        what: "prompt tokens before a mark that the last request had too, against marks at system and newest round",
        wanted: `≥ ${wanted} %`,
        got: `${digits(lowest)} %`,
        holds: lowest >= wanted,
      },
    ],
  };
}

/** The prompts of a conversation, each made from the one before as a history makes its view. */
async function promptsOf({ messages, budget }: Budgeted, counter: TokenCounter): Promise<BaseMessage[][]> {
  const limit = { maxTokens: budget, tokenCounter: counter };
  const reducer = Number.isFinite(budget) ? new ChatHistoryTokenReducer(limit) : undefined;
  const prompts: BaseMessage[][] = [];
  let view: BaseMessage[] = [];
  for (const message of messages) {
    if (message.getType() === "ai") {
      view = (await reducer?.reduce(view)) ?? view;
      prompts.push(view);
    }
    view = [...view, message];
  }
  return prompts;
}

async function sharedTokens(
  conversations: readonly (readonly BaseMessage[][])[],
  { marks, counter }: { readonly marks: Marks; readonly counter: TokenCounter },
): Promise<{ readonly sent: number; readonly shared: number }> {
  let [sent, shared] = [0, 0];
  for (const prompts of conversations) {
    let before: { prompt: readonly BaseMessage[]; marks: readonly number[] } = { prompt: [], marks: [] };
    for (const prompt of prompts) {
      const now = { prompt, marks: await marks(prompt) };
      const changed = prompt.findIndex((message, index) => message !== before.prompt[index]);
      const same = changed < 0 ? prompt.length : changed;
      const end = Math.max(-1, ...now.marks.filter((index) => index < same && before.marks.includes(index)));
      sent += await tokensOf(prompt, counter);
      shared += await tokensOf(prompt.slice(0, end + 1), counter);
      before = now;
    }
  }
  return { sent, shared };
}

function marksOf(profile: (typeof profiles)[number]): Marks {
  const runnable = promptCacheMarks({ profile });
  // A marked message is a copy.
  return async (prompt) => {
    const marked = await runnable.invoke([...prompt]);
    return marked.flatMap((message, index) => (message === prompt[index] ? [] : [index]));
  };
}

const plainMarks: Marks = async (prompt) => {
  const question = prompt.findLastIndex((message) => message.getType() === "human");
  return [prompt.findLastIndex(isSystem), question - 1].filter((index) => index >= 0);
};
