import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { RunnableLambda } from "@langchain/core/runnables";
import {
  ChatHistoryTokenReducer,
  ChatHistoryToolResultReducer,
  contextWindow,
  pipeReducers,
  type ContextWindowOptions,
  type TokenCounter,
} from "langchain-redis-memory";
import { simulateReducers } from "../../../cli/simulation/simulate-reducers.js";
import { billed, billOf, type Bill, type Policy, type RequestParts } from "../measure/bill.js";
import { digits, whole } from "../report/format.js";
import type { Headline, Section, Table, Target } from "../report/section.js";
import { airlineTools } from "../setting/airline-tools.js";
import { isSystem } from "../setting/recorded-conversations.js";
import { neverCut, summaryTokens, trimmedName, trimmer } from "../setting/ways-to-cut.js";

const cachedPrice = 0.1;
const rooms = [8_000, 16_000] as const;
const windowName = "contextWindow (default)";

/** What the default has to reach in a room: at most this price against never cutting, and at least these shares. */
const wanted: Readonly<Record<(typeof rooms)[number], Wanted>> = {
  8_000: { billed: 0.78, questions: 39 },
  16_000: { questions: 83, toolResults: 49 },
};

interface Wanted {
  readonly billed?: number;
  readonly questions: number;
  readonly toolResults?: number;
}

/** What each policy would have cost in a room. */
interface Room {
  readonly room: number;
  readonly bills: ReadonlyMap<string, Bill>;
}

/** The part of the section on requests as agents send them: with a system prompt and tools, which no reducer cuts. */
export async function requestsBilled(
  sessions: readonly (readonly BaseMessage[])[],
  counter: TokenCounter,
): Promise<Required<Pick<Section, "about" | "tables" | "targets" | "headlines">>> {
  // The agent of most conversations has one prompt; the first session is of several agents.
  const systemPrompt = sessions.at(-1)!.find(isSystem)!.text;
  const request = { systemPrompt, tools: airlineTools };
  const fixed = await fixedTokens(request, counter);
  const conversations = sessions.map((messages) => messages.filter((message) => !isSystem(message)));
  const measured: Room[] = [];
  for (const room of rooms) {
    const budgeted = conversations.map((messages) => ({ messages, budget: room }));
    const bills = new Map<string, Bill>();
    for (const policy of policies({ counter, request, fixed })) {
      bills.set(policy.name, await billOf(budgeted, { policy, counter, request }));
    }
    measured.push({ room, bills });
  }
  return {
    about:
      `Requests with a system prompt and ${airlineTools.length} tools, together ${whole(fixed)} tokens, are those of ` +
      `${sessions.length} sessions of ten conversations. A room is what such a request may take; the reducers and ` +
      "trimMessages, which know of neither, are given what the two leave of it.",
    tables: measured.map(tableOf),
    targets: measured.flatMap(targetsOf),
    headlines: measured.map(headlineOf),
  };
}

async function fixedTokens(request: RequestParts, tokenCounter: TokenCounter): Promise<number> {
  const conversation = [new HumanMessage("Hi"), new AIMessage("Hello!")];
  const [plain] = await simulateReducers([conversation], [{ name: neverCut }], { tokenCounter });
  const [whole] = await simulateReducers([conversation], [{ name: neverCut }], { tokenCounter, ...request });
  return whole!.sent - plain!.sent;
}

interface Setting {
  readonly counter: TokenCounter;
  readonly request: RequestParts;
  readonly fixed: number;
}

function policies({ counter, request, fixed }: Setting): Policy[] {
  const tokens = (room: number) => ({ maxTokens: room - fixed, tokenCounter: counter });
  const window = (name: string, options: ContextWindowOptions = {}): Policy => ({
    name,
    reducerFor: (maxInputTokens) =>
      contextWindow({
        ...{ maxInputTokens, reserveForAnswer: 0, safetyMargin: 0, tokenCounter: counter },
        ...request,
        ...options,
      }),
  });
  const model = RunnableLambda.from(() => "word ".repeat(summaryTokens).trim());
  return [
    { name: neverCut, reducerFor: () => undefined },
    { name: trimmedName, reducerFor: (room) => trimmer(room - fixed, counter) },
    { name: "token reducer (default)", reducerFor: (room) => new ChatHistoryTokenReducer(tokens(room)) },
    {
      name: "tool results (keepLast 3), then token reducer",
      reducerFor: (room) =>
        pipeReducers(new ChatHistoryToolResultReducer({ keepLast: 3 }), new ChatHistoryTokenReducer(tokens(room))),
    },
    window(windowName),
    window("contextWindow, target 60 %", { target: 0.6 }),
    window("contextWindow, summaries", { summary: { model } }),
    window("contextWindow, summaries, target 60 %", { summary: { model }, target: 0.6 }),
  ];
}

const against = (bill: Bill, never: Bill) => billed(bill, cachedPrice) / billed(never, cachedPrice);
const percent = (share: number) => `${digits(100 * share)} %`;

function tableOf({ room, bills }: Room): Table {
  const never = bills.get(neverCut)!;
  const kinds = ["sent", "of these cached", "reductions", "breaks", "user messages seen", "tool results seen"];
  return {
    title: `Prompt tokens of requests with system prompt and tools, room ${whole(room)}`,
    head: ["", ...kinds, "billed", "against never cut", "against never cut, without a cache"],
    rows: [...bills].map(([name, bill]) => [
      name,
      whole(bill.sent),
      percent(bill.cached / Math.max(1, bill.sent)),
      whole(bill.reductions),
      whole(bill.prefixBreaks),
      percent(bill.questionsSeen),
      percent(bill.toolResultsSeen),
      whole(billed(bill, cachedPrice)),
      `${digits(against(bill, never))} ×`,
      `${digits(bill.sent / never.sent)} ×`,
    ]),
  };
}

function targetsOf({ room, bills }: Room): Target[] {
  const ours = bills.get(windowName)!;
  const { billed: most, questions, toolResults } = wanted[room as (typeof rooms)[number]];
  const name = (what: string) => `contextWindow in a room of ${whole(room)}: ${what}`;
  const price = against(ours, bills.get(neverCut)!);
  const atLeast = (what: string, least: number, share: number): Target => {
    return { what: name(what), wanted: `≥ ${least} %`, got: percent(share), holds: 100 * share >= least };
  };
  return [
    ...(most === undefined
      ? []
      : [{ what: name("billed"), wanted: `≤ ${most} ×`, got: `${digits(price)} ×`, holds: price <= most }]),
    atLeast("user messages seen", questions, ours.questionsSeen),
    ...(toolResults === undefined ? [] : [atLeast("tool results seen", toolResults, ours.toolResultsSeen)]),
    {
      what: name("prefix breaks, against reductions"),
      wanted: `≤ ${whole(ours.reductions)}`,
      got: whole(ours.prefixBreaks),
      holds: ours.prefixBreaks <= ours.reductions,
    },
  ];
}

function headlineOf({ room, bills }: Room): Headline {
  const shown = (name: string) => {
    const bill = bills.get(name)!;
    return `${whole(billed(bill, cachedPrice))}, sees ${whole(50 * (bill.questionsSeen + bill.toolResultsSeen))} %`;
  };
  const never = bills.get(neverCut)!;
  return {
    what: `prompt tokens billed, recorded requests with tools, room ${whole(room)}`,
    // One of them: the README is short.
    inReadme: room === Math.min(...rooms),
    ours: shown(windowName),
    others: `${shown(trimmedName)} (trimMessages); ${whole(billed(never, cachedPrice))} (never cut)`,
    difference: `${digits(against(bills.get(windowName)!, bills.get(trimmedName)!))} × as many`,
  };
}
