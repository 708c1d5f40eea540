import { ToolMessage, type BaseMessage } from "@langchain/core/messages";
import {
  ChatHistoryTokenReducer,
  ChatHistoryToolResultReducer,
  pipeReducers,
  tiktokenCounter,
  type TokenCounter,
} from "langchain-redis-memory";
import { simulateReducers, type NamedReducer } from "../../../cli/simulation/simulate-reducers.js";
import { billed, billOf, withBudgets, type Bill, type Budgeted } from "../measure/bill.js";
import { bends, kneeOf } from "../measure/knee.js";
import { budgetPicture } from "../report/budget-picture.js";
import { digits, whole } from "../report/format.js";
import type { Headline, Section, Setting, Table, Target } from "../report/section.js";
import { conversation, sentence } from "../setting/messages.js";
import { joined, recordedConversations } from "../setting/recorded-conversations.js";
import { defaultTarget, neverCut, policiesFor, summaryTokens, tokenName, trimmedName } from "../setting/ways-to-cut.js";
import { requestsBilled } from "./requests-billed.js";

/** Prices of a token that the provider has in its prompt cache, against one that it has not; the first one counts. */
const cachedPrices = [0.1, 0.25, 0.5] as const;
const joinedConversations = 10;
const longBudget = 8_000;
/** The curve of fewer conversations has steps and no knee. */
const enough = 20;

/** Conversations with their budgets, and how that is called. */
interface Case {
  readonly name: string;
  readonly conversations: readonly Budgeted[];
}

/** What each policy would have cost in a case. */
interface Measured extends Case {
  readonly bills: ReadonlyMap<string, Bill>;
}

/** Tokens that providers bill for recorded conversations, under several ways to cut, and what the model still saw. */
export async function tokensBilledSuite({ quick }: Setting): Promise<Section> {
  const { conversations, source } = recordedConversations(quick ? 4 : Infinity);
  const counter = tiktokenCounter();
  await counter.ready();
  const targets = quick ? [20, 50, 80, 100] : Array.from({ length: 17 }, (_, index) => 20 + 5 * index);
  const measured: Measured[] = [];
  for (const each of await casesOf(conversations, counter)) {
    const bills = new Map<string, Bill>();
    for (const policy of policiesFor(targets, counter)) {
      bills.set(policy.name, await billOf(each.conversations, { policy, counter }));
    }
    measured.push({ ...each, bills });
  }
  const loop = await toolLoopReductions(counter);
  const plain = section({
    measured,
    targets,
    source,
    messages: conversations.flat().length,
    loop,
    conversations: conversations.length,
  });
  const requests = await requestsBilled(joined(conversations, joinedConversations), counter);
  return {
    ...plain,
    about: `${plain.about} ${requests.about}`,
    tables: [...requests.tables, ...plain.tables],
    targets: [...plain.targets!, ...(conversations.length < enough ? [] : requests.targets)],
    headlines: [...requests.headlines, ...plain.headlines!],
  };
}

/** Reductions of a session of 20 turns, each with a tool call and a long result, by the README's pipeline. */
async function toolLoopReductions(counter: TokenCounter): Promise<number> {
  const messages = conversation(80).map((message) =>
    message instanceof ToolMessage ? new ToolMessage({ ...message, content: sentence(1, 300) }) : message,
  );
  const reducer = pipeReducers(
    new ChatHistoryToolResultReducer({ keepLast: 3 }),
    new ChatHistoryTokenReducer({ maxTokens: longBudget, tokenCounter: counter }),
  );
  // The built package's class, where the simulation names that of the source.
  const candidate = { name: "any", reducer } as unknown as NamedReducer;
  const [result] = await simulateReducers([messages], [candidate], { tokenCounter: counter });
  return result!.reductions;
}

async function casesOf(conversations: readonly (readonly BaseMessage[])[], counter: TokenCounter): Promise<Case[]> {
  const cases: Case[] = [];
  for (const share of [0.25, 0.5, 0.75]) {
    cases.push({
      name: `${share * 100} % of each conversation`,
      conversations: await withBudgets(conversations, { share, counter }),
    });
  }
  const long = joined(conversations, joinedConversations).map((messages) => ({ messages, budget: longBudget }));
  return [...cases, { name: `${whole(longBudget)} tokens, long sessions`, conversations: long }];
}

interface Findings {
  readonly measured: readonly Measured[];
  readonly targets: readonly number[];
  readonly source: string;
  readonly messages: number;
  readonly loop: number;
  readonly conversations: number;
}

function section({ measured, targets, source, messages, loop, conversations }: Findings): Section {
  const curves = measured.map(({ name, bills }) => ({
    name,
    points: targets.map((target) => pointOf(target, bills.get(tokenName(target))!, bills.get(neverCut)!)),
  }));
  const knees = cachedPrices.map((price) => kneeTargets(measured, { targets, price }));
  return {
    title: "Tokens billed",
    about: aboutText({ source, messages, knees }),
    tables: measured.map(tableOf),
    pictures: [budgetPicture(curves, defaultTarget)],
    targets: [
      ...(conversations < enough ? [] : [kneeTarget(knees[0]![0])]),
      {
        what: "reductions over 20 tool turns, tool results (keepLast 3) piped into a token reducer",
        wanted: "≤ 6",
        got: String(loop),
        holds: loop <= 6,
      },
    ],
    headlines: [
      headline("prompt tokens billed for recorded conversations, budget half of each", measured[1]!),
      headline(`the same for sessions of ten of them, budget ${whole(longBudget)}`, measured[3]!),
    ],
  };
}

function kneeTarget(found: number): Target {
  return {
    what: "default target of the token reducer is the cheapest at the knee of its curve",
    wanted: `${defaultTarget} %`,
    got: `${found} %`,
    holds: found === defaultTarget,
  };
}

interface Facts {
  readonly source: string;
  readonly messages: number;
  readonly knees: readonly (readonly [number, number])[];
}

function aboutText({ source, messages, knees }: Facts): string {
  const prices = cachedPrices.map((price, index) => `${knees[index]!.join(" to ")} % at ${price * 100} %`);
  return (
    `Recorded conversations with tool calls: ${source}; ${whole(messages)} messages. Played by ` +
    "`simulateReducers`: every AI message is one request, its prompt is what the reducer left of all messages " +
    "before it, and of that what equals the beginning of the request before counts as cached. A budget is the " +
    "system messages and a share of all other tokens; a long session is " +
    `${joinedConversations} of the conversations, one after the other. The targets are shares of the budget. ` +
    '"Billed" counts a cached token as 10 % (25 %, 50 %) of one that is not. A summary has ' +
    `${summaryTokens} tokens, and its call pays for what it replaces. Providers cache only from some length on ` +
    "(1,024 tokens at OpenAI), and for some minutes; both are left out, and so are answers. " +
    "Seen: of what the user had said, and of the whole tool results that there were, the share that a request " +
    "shows, over all requests; what a summary says of them is not counted. " +
    "The knee is where the curve lies farthest below the straight line from the smallest to the largest target " +
    "in a plot of price by what is seen (mean of both shares; both axes from 0 to 1; mean of the four budgets), " +
    `and the targets within 5 % of that distance: ${prices.join(", ")} of the full price for a cached token.`
  );
}

function tableOf({ name, bills }: Measured): Table {
  const never = bills.get(neverCut)!;
  const percent = (share: number) => `${digits(100 * share)} %`;
  const against = (bill: Bill, price: number) => `${digits(billed(bill, price) / billed(never, price))} ×`;
  return {
    title: `Prompt tokens, budget ${name}`,
    head: [
      "",
      ...["sent", "of these cached", "reductions", "user messages seen", "tool results seen", "billed"],
      ...cachedPrices.map((price) => `against never cut, cached at ${price * 100} %`),
    ],
    rows: [...bills].map(([policy, bill]) => [
      policy,
      whole(bill.sent),
      percent(bill.cached / Math.max(1, bill.sent)),
      whole(bill.reductions),
      percent(bill.questionsSeen),
      percent(bill.toolResultsSeen),
      whole(billed(bill, cachedPrices[0])),
      ...cachedPrices.map((price) => against(bill, price)),
    ]),
  };
}

/** The smallest and the largest target at the knee, by the mean of the cases. */
function kneeTargets(
  measured: readonly Measured[],
  { targets, price }: { readonly targets: readonly number[]; readonly price: number },
): readonly [number, number] {
  const sums = targets.map(() => 0);
  for (const { bills } of measured) {
    const points = targets.map((target) => pointOf(target, bills.get(tokenName(target))!, bills.get(neverCut)!, price));
    bends(points.map(({ seen, billed: cost }) => ({ gain: seen, cost }))).forEach((bend, index) => {
      sums[index]! += bend;
    });
  }
  const [first, last] = kneeOf(sums);
  return [targets[first]!, targets[last]!];
}

/** A target, its price against never cut, and what is seen. */
function pointOf(target: number, bill: Bill, never: Bill, price: number = cachedPrices[0]) {
  const seen = (bill.questionsSeen + bill.toolResultsSeen) / 2;
  return { target, billed: billed(bill, price) / billed(never, price), seen };
}

function headline(what: string, { bills }: Measured): Headline {
  const cost = (name: string) => billed(bills.get(name)!, cachedPrices[0]);
  const shown = (name: string) => {
    const { questionsSeen, toolResultsSeen } = bills.get(name)!;
    return `${whole(cost(name))}, sees ${whole(50 * (questionsSeen + toolResultsSeen))} %`;
  };
  const [ours, theirs] = [tokenName(defaultTarget), trimmedName];
  return {
    what,
    ours: shown(ours),
    others: `${shown(theirs)} (trimMessages); ${whole(cost(neverCut))} (never cut)`,
    difference: `${digits(cost(ours) / cost(theirs))} × as many`,
  };
}
