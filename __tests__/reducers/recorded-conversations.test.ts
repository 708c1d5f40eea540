import type { BaseMessage } from "@langchain/core/messages";
import { roleOf } from "../../src/conversation/messages/roles.js";
import { validateConversation } from "../../src/conversation/structure/validate.js";
import { ChatHistoryTokenReducer } from "../../src/conversation/reducers/token-reducer.js";
import { countEach } from "../../src/conversation/tokens/counted-messages.js";
import { tiktokenCounter } from "../../src/conversation/tokens/counters/tiktoken-counter.js";
import { recordedConversations } from "../support/real-conversations.js";

const counter = tiktokenCounter();

const conversations = recordedConversations();

function withoutSystem(messages: readonly BaseMessage[]): BaseMessage[] {
  return messages.filter((message) => roleOf(message) !== "system");
}

async function tokensOf(messages: readonly BaseMessage[]): Promise<number> {
  return (await countEach(counter, messages)).reduce((total, tokens) => total + tokens, counter.perRequest);
}

type Fit = (messages: BaseMessage[]) => Promise<BaseMessage[]>;

function tokenReducer(maxTokens: number): Fit {
  const reducer = new ChatHistoryTokenReducer({ maxTokens, tokenCounter: counter });
  return (messages) => reducer.invoke(messages);
}

/** A plain sliding window: as many of the newest messages as fit. */
function slidingWindow(maxTokens: number): Fit {
  return async (messages) => {
    let first = 0;
    while (first < messages.length - 1 && (await tokensOf(messages.slice(first))) > maxTokens) {
      first += 1;
    }
    return messages.slice(first);
  };
}

/**
 * The prompts of a conversation, one for each message of the model; what `fit` made of one is what the next goes on
 * from.
 */
async function promptsOf(
  messages: readonly BaseMessage[],
  fit: Fit,
): Promise<{ prompt: BaseMessage[]; soFar: BaseMessage[] }[]> {
  const prompts: { prompt: BaseMessage[]; soFar: BaseMessage[] }[] = [];
  let view: BaseMessage[] = [];
  for (const [index, message] of messages.entries()) {
    if (roleOf(message) === "ai" && view.some((earlier) => roleOf(earlier) === "human")) {
      view = await fit(view);
      prompts.push({ prompt: view, soFar: messages.slice(0, index) });
    }
    view = [...view, message];
  }
  return prompts;
}

/** Tokens of the messages with which a prompt begins like the one before, byte for byte. */
async function repeatedTokens(prompt: readonly BaseMessage[], before: readonly BaseMessage[]): Promise<number> {
  const isSame = (message: BaseMessage, index: number): boolean =>
    message === before[index] || JSON.stringify(message) === JSON.stringify(before[index]);
  const differs = prompt.findIndex((message, index) => !isSame(message, index));
  return (await tokensOf(differs < 0 ? prompt : prompt.slice(0, differs))) - counter.perRequest;
}

/**
 * The share of prompt tokens that repeat the previous prompt's beginning: of all prompts, and of those for which the
 * conversation is too long already.
 */
async function prefixShares(fitTo: (maxTokens: number) => Fit): Promise<{ all: number; tooLong: number }> {
  const [all, tooLong] = [
    { tokens: 0, repeated: 0 },
    { tokens: 0, repeated: 0 },
  ];
  for (const messages of conversations.map(withoutSystem)) {
    const maxTokens = Math.floor((await tokensOf(messages)) / 2);
    const prompts = await promptsOf(messages, fitTo(maxTokens));
    for (const [index, { prompt, soFar }] of prompts.entries()) {
      const repeated = await repeatedTokens(prompt, prompts[index - 1]?.prompt ?? []);
      for (const total of (await tokensOf(soFar)) > maxTokens ? [all, tooLong] : [all]) {
        total.tokens += await tokensOf(prompt);
        total.repeated += repeated;
      }
    }
  }
  return { all: all.repeated / all.tokens, tooLong: tooLong.repeated / tooLong.tokens };
}

describe("recorded conversations at half of their tokens", () => {
  it("produce prompts that all fit and are all valid", async () => {
    for (const messages of conversations) {
      const [systems, rest] = [messages.filter((message) => roleOf(message) === "system"), withoutSystem(messages)];
      const maxTokens = (await tokensOf(systems)) + Math.floor((await tokensOf(rest)) / 2);
      for (const { prompt } of await promptsOf(messages, tokenReducer(maxTokens))) {
        expect(await tokensOf(prompt)).toBeLessThanOrEqual(maxTokens);
        expect(
          validateConversation(prompt, { purpose: "model-input" }).filter(({ severity }) => severity === "error"),
        ).toEqual([]);
      }
    }
  });

  it("repeat 1.9 times as much of the previous prompt's beginning as a sliding window does", async () => {
    const [ours, window] = [await prefixShares(tokenReducer), await prefixShares(slidingWindow)];
    const percent = (share: number, width: number): string => `${(100 * share).toFixed(1).padStart(width)} %`;
    const row = (name: string, shares: typeof ours): string =>
      `${name.padEnd(24)}${percent(shares.all, 10)}${percent(shares.tooLong, 26)}`;
    const title =
      `Prompt tokens that repeat the previous prompt's beginning (${conversations.length} conversations, ` +
      "budget half of their tokens)";
    const head = `${"".padEnd(24)}${"all prompts".padStart(12)}${"conversation over budget".padStart(28)}`;
    process.stdout.write(
      `${[title, head, row("ChatHistoryTokenReducer", ours), row("sliding window", window)].join("\n")}\n`,
    );
    expect(ours.tooLong / window.tooLong).toBeGreaterThanOrEqual(1.9);
    expect(ours.all).toBeGreaterThan(window.all);
  });
});
