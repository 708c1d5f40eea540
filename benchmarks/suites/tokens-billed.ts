import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { trimMessages, type BaseMessage } from "@langchain/core/messages";
import {
  ChatHistoryTokenReducer,
  ChatHistoryTruncationReducer,
  MessageHistory,
  tiktokenCounter,
  type ChatHistoryReducer,
  type TokenCounter,
} from "langchain-redis-memory";
import { digits, whole } from "../report/format.js";
import { countHeadline } from "../report/headlines.js";
import type { Section, Setting } from "../report/section.js";

/** What a token costs that the provider has in its prompt cache, against one that it has not. */
const cachedPrice = 0.1;

// The two to compare: both keep the user's last message in every request, which trimMessages does not.
const targetMaximum = "token reducer, target = maximum";
const targetDefault = "token reducer, target 75 % (default)";

type Count = (message: BaseMessage) => number;

/** A way to keep a prompt within bounds: from what was sent before and what is new to what is sent. */
interface Policy {
  readonly name: string;
  start(budget: number, count: Count): (message: BaseMessage) => Promise<readonly BaseMessage[]>;
}

interface Bill {
  sent: number;
  cached: number;
  cuts: number;
  /** Requests in which what the user said last is missing. */
  unasked: number;
}

/** Tokens that providers bill for recorded conversations, under several ways to cut. */
export async function tokensBilledSuite({ quick }: Setting): Promise<Section> {
  const conversations = recordedConversations().slice(0, quick ? 2 : undefined);
  const counter = tiktokenCounter();
  await counter.ready();
  const counts = new Counts(counter);
  await counts.add(conversations.flat());
  const bills: Bill[] = [];
  for (const policy of policies) {
    const bill = { sent: 0, cached: 0, cuts: 0, unasked: 0 };
    for (const messages of conversations) {
      await play(messages, { policy, bill, counts });
    }
    bills.push(bill);
  }
  return section(bills, conversations);
}

/** Each AI message is an answer to one request, whose prompt is what the policy left of all before it. */
async function play(
  messages: readonly BaseMessage[],
  { policy, bill, counts }: { policy: Policy; bill: Bill; counts: Counts },
): Promise<void> {
  const count = counts.of;
  const budget = Math.floor(messages.reduce((sum, message) => sum + count(message), 0) / 2);
  const add = policy.start(budget, count);
  let prompt: readonly BaseMessage[] = [];
  let last: readonly BaseMessage[] = [];
  let question: BaseMessage | undefined;
  for (const message of messages) {
    if (message.getType() === "ai") {
      const same = prompt.findIndex((one, index) => textOf(one) !== textOf(last[index]));
      const cached = prompt.slice(0, same < 0 ? prompt.length : same);
      bill.sent += prompt.reduce((sum, one) => sum + count(one), 0);
      bill.cached += cached.reduce((sum, one) => sum + count(one), 0);
      bill.cuts += last.length > 0 && cached.length < last.length ? 1 : 0;
      bill.unasked += question === undefined || prompt.some((one) => textOf(one) === textOf(question)) ? 0 : 1;
      last = prompt;
    }
    question = message.getType() === "human" ? message : question;
    prompt = await add(message);
    await counts.add(prompt);
  }
}

const policies: readonly Policy[] = [
  { name: "all, never cut", start: () => collecting(async (all) => all) },
  {
    name: "trimMessages at each call",
    start: (maxTokens, count) =>
      collecting(async (all) => {
        const trimmed = await trimMessages([...all], {
          maxTokens,
          strategy: "last",
          includeSystem: true,
          startOn: "human",
          tokenCounter: (list: BaseMessage[]) => sum(list, count),
        });
        // A system message beyond the budget comes back as undefined.
        return trimmed.filter((message) => message !== undefined);
      }),
  },
  committed(targetMaximum, (maxTokens) => new ChatHistoryTokenReducer({ maxTokens, targetTokens: maxTokens })),
  committed(targetDefault, (maxTokens) => new ChatHistoryTokenReducer({ maxTokens })),
  committed(
    "token reducer, target 50 %",
    (maxTokens) => new ChatHistoryTokenReducer({ maxTokens, targetTokens: Math.max(1, Math.floor(maxTokens / 2)) }),
  ),
  committed("last 12 messages, no threshold", () => new ChatHistoryTruncationReducer({ targetCount: 12 })),
  committed(
    "last 12 messages, threshold 8",
    () => new ChatHistoryTruncationReducer({ targetCount: 12, thresholdCount: 8 }),
  ),
];

/** What is sent is made anew from all messages at each call. */
function collecting(cut: (all: readonly BaseMessage[]) => Promise<readonly BaseMessage[]>) {
  const all: BaseMessage[] = [];
  return async (message: BaseMessage) => {
    all.push(message);
    return cut(all);
  };
}

/** The result of a reduction stays until the next is due, as in a history. */
function committed(name: string, reducerFor: (budget: number) => ChatHistoryReducer): Policy {
  return {
    name,
    start: (budget) => {
      const reducer = reducerFor(budget);
      let view: readonly BaseMessage[] = [];
      return async (message) => {
        const grown = [...view, message];
        view = (await reducer.reduce(grown)) ?? grown;
        return view;
      };
    },
  };
}

function sum(messages: readonly BaseMessage[], count: Count): number {
  return messages.reduce((total, message) => total + count(message), 3);
}

/** Counts of messages by what they say: trimMessages and clipping make new objects all the time. */
class Counts {
  private readonly known = new Map<string, number>();

  constructor(private readonly counter: TokenCounter) {}

  async add(messages: readonly BaseMessage[]): Promise<void> {
    for (const message of messages) {
      this.known.set(textOf(message)!, await this.counter.countMessage(message));
    }
  }

  of = (message: BaseMessage): number => {
    const tokens = this.known.get(textOf(message)!);
    if (tokens === undefined) {
      throw new Error("A message was sent that is not known.");
    }
    return tokens;
  };
}

function textOf(message: BaseMessage | undefined): string | undefined {
  return (
    message && JSON.stringify([message.getType(), message.content, (message as { tool_calls?: unknown }).tool_calls])
  );
}

function recordedConversations(): BaseMessage[][] {
  const places = [
    "../../../shared/data/airline-trajectories.jsonl",
    "../../examples/data/recorded-conversations.jsonl",
  ];
  const path = places
    .map((place) => fileURLToPath(new URL(place, import.meta.url)))
    .find((place) => existsSync(place))!;
  const lines = readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => line.trim() !== "");
  return lines.map((line) => new MessageHistory((JSON.parse(line) as { messages: never[] }).messages).toMessages());
}

function section(bills: readonly Bill[], conversations: readonly BaseMessage[][]): Section {
  const cost = ({ sent, cached }: Bill) => sent - cached + cachedPrice * cached;
  const rows = policies.map(({ name }, index) => {
    const bill = bills[index]!;
    const share = bill.sent === 0 ? 0 : (100 * bill.cached) / bill.sent;
    return [
      name,
      whole(bill.sent),
      `${digits(share)} %`,
      whole(bill.cuts),
      whole(bill.unasked),
      whole(cost(bill)),
      `${digits(cost(bill) / cost(bills[0]!))} ×`,
    ];
  });
  const costOf = (name: string) => cost(bills[policies.findIndex((policy) => policy.name === name)]!);
  return {
    title: "Tokens billed",
    about:
      `${conversations.length} recorded conversations with tool calls ` +
      `(${whole(conversations.flat().length)} messages), each with a budget of half its tokens; every AI ` +
      "message is one request. A prompt's messages count as cached as long as they equal those of the " +
      "request before; " +
      `a cached token is billed at ${cachedPrice * 100} % of the price of another. Providers cache only ` +
      "from some length on (1,024 tokens at OpenAI), which is left out here; so are answers.",
    tables: [
      {
        title: "Prompt tokens",
        head: [
          "",
          "sent",
          "of these cached",
          "prefixes broken",
          "without the user's last message",
          "billed",
          "against never cut",
        ],
        rows,
      },
    ],
    headlines: [
      countHeadline({
        what: "prompt tokens billed for recorded conversations, target 75 % of the budget",
        ours: costOf(targetDefault),
        others: [costOf(targetMaximum)],
        note: "the same with target = maximum",
      }),
    ],
  };
}
