import { randomBytes } from "node:crypto";
import type { BaseMessage } from "@langchain/core/messages";
import { AIMessage } from "@langchain/core/messages";
import { contextWindow, RedisChatMemory } from "langchain-redis-memory";
import { readEarlierTool } from "langchain-redis-memory/tool-loop";
import { quantile } from "../measure/statistics.js";
import { digits, time, whole } from "../report/format.js";
import type { Section, Setting, Target } from "../report/section.js";
import { airlineTools } from "../setting/airline-tools.js";
import { isSystem, recordedConversations } from "../setting/recorded-conversations.js";

const searched = 10_000;
const mostOfSearch = 50;
const mostOfStretch = 50;
const viewed = 200;
const mostOfEstimate = 1;

/** Milliseconds of one call. */
interface Spent {
  /** Processor time of this process. */
  readonly cpu: number;
  readonly clock: number;
  /** The longest time for which nothing else of this process could run. */
  readonly stretch: number;
}

/** What a window costs besides: the estimate of each request, and a search of what left the view. */
export async function windowCostsSuite({ server, quick }: Setting): Promise<Section> {
  const searches = await measuredSearches(server.url, quick);
  const estimates = await measuredEstimates(quick ? 20 : 400);
  const row = (name: string, spent: readonly Spent[]) => [
    name,
    ...(["cpu", "clock", "stretch"] as const).map((kind) => time(middle(spent, kind))),
  ];
  const head = ["", "processor time", "by the clock", "longest without a pause"];
  return {
    title: "What a window costs",
    about:
      `A search of \`read_earlier_messages\` through ${whole(searched)} recorded messages, ` +
      `${digits(searches.megabytes)} MB of text, for a word that none or only the oldest holds. An estimate is what ` +
      `the reducer does for a request that fits: ${viewed} messages with their counts known but for the newest two, ` +
      `the system prompt and ${airlineTools.length} tools. Medians; processor time does not depend on other work on ` +
      "the machine. The longest time without a pause is that for which no other work of the process could begin.",
    tables: [
      { title: `Search of ${whole(searched)} messages`, head, rows: searches.rows.map((each) => row(...each)) },
      { title: "Estimate of a request", head: head.slice(0, 3), rows: [row("each", estimates).slice(0, 3)] },
    ],
    targets: [
      within("search of 10,000 messages for a word that none holds", mostOfSearch, middle(searches.rows[0]![1], "cpu")),
      ...searches.rows.map(([name, spent]) =>
        within(`${name}: longest without a pause`, mostOfStretch, middle(spent, "stretch")),
      ),
      within(
        `estimate of a request of ${viewed} messages and ${airlineTools.length} tools`,
        mostOfEstimate,
        middle(estimates, "cpu"),
      ),
    ],
  };
}

const middle = (spent: readonly Spent[], kind: keyof Spent) =>
  quantile(
    spent.map((each) => each[kind]),
    0.5,
  );

function within(what: string, most: number, milliseconds: number): Target {
  return { what, wanted: `≤ ${most} ms`, got: time(milliseconds), holds: milliseconds <= most };
}

async function measuredSearches(url: string, quick: boolean) {
  const count = quick ? 1_000 : searched;
  const messages = recorded(count);
  const encryption = { current: { id: "2026-11", key: randomBytes(32) } };
  const rows: [string, Spent[]][] = [];
  for (const [name, settings] of [["", {}] as const, [", encrypted", { encryption }] as const]) {
    const memory = new RedisChatMemory({
      url,
      reducer: "none",
      redis: { keyPrefix: `search${rows.length}` },
      ...settings,
    });
    const history = memory.history("s");
    for (let from = 0; from < count; from += 500) {
      await history.addMessages(messages.slice(from, from + 500));
    }
    const earlier = readEarlierTool({ history });
    for (const [asked, query] of [["in none", "quetzalcoatlus"] as const, ["in the oldest", "pterodactyl"] as const]) {
      const search = async () => {
        const found = String(await earlier.invoke({ query }));
        if (found.includes("pterodactyl") !== (query === "pterodactyl")) {
          throw new Error(`A search for ${query} found: ${found.slice(0, 100)}`);
        }
      };
      rows.push([`a word that is ${asked}${name}`, await measured(search, quick ? 3 : 60)]);
    }
    await memory.close();
  }
  const characters = messages.reduce((sum, message) => sum + message.text.length, 0);
  return { rows, megabytes: characters / 1e6 };
}

/** Recorded messages over and over; the oldest holds a word that no other does. */
function recorded(count: number): BaseMessage[] {
  const all = recordedConversations().conversations.flat();
  return Array.from({ length: count }, (_, index) => {
    const message = copyOf(all[index % all.length]!, index);
    return index === 0 ? new AIMessage({ id: "m0", content: "A pterodactyl." }) : message;
  });
}

function copyOf(message: BaseMessage, index: number): BaseMessage {
  const Kind = message.constructor as new (fields: object) => BaseMessage;
  return new Kind({ ...message, id: `m${index}` });
}

async function measuredEstimates(rounds: number): Promise<Spent[]> {
  const all = recordedConversations()
    .conversations.flat()
    .filter((message) => !isSystem(message));
  const system = recordedConversations(1).conversations[0]!.find(isSystem)?.text ?? "You help travellers.";
  const reducer = contextWindow({ maxInputTokens: 1_000_000 });
  const view = Array.from({ length: viewed }, (_, index) => copyOf(all[index % all.length]!, index));
  const estimate = async () => {
    // New in each request, as the question and the answer before it are; the tools are the agent's own list.
    const messages = [...view.slice(0, -2), ...view.slice(-2).map(copyOf)];
    const { changed } = await reducer.reduceWithOutcome(messages, undefined, { system, tools: airlineTools });
    if (changed) {
      throw new Error("A request that fits was reduced.");
    }
  };
  return measured(estimate, rounds);
}

async function measured(work: () => Promise<unknown>, rounds: number): Promise<Spent[]> {
  const spent: Spent[] = [];
  for (let round = -3; round < rounds; round += 1) {
    const [before, begin] = [process.cpuUsage(), performance.now()];
    await work();
    const { user, system } = process.cpuUsage(before);
    const clock = performance.now() - begin;
    // Once more, because watching takes processor time itself.
    const watch = watchedPauses();
    await work();
    const stretch = watch.stop();
    if (round >= 0) {
      spent.push({ cpu: (user + system) / 1_000, clock, stretch });
    }
  }
  return spent;
}

/** Notes the longest time between two turns of the event loop. */
function watchedPauses() {
  let [longest, last] = [0, performance.now()];
  const note = () => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
  };
  let next = setImmediate(function tick() {
    note();
    next = setImmediate(tick);
  });
  return {
    stop: () => {
      note();
      clearImmediate(next);
      return longest;
    },
  };
}
