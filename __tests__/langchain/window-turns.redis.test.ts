import type { BaseMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { ChatOpenAI } from "@langchain/openai";
import { createAgent } from "langchain";
import { z } from "zod";
import { redisMemoryMiddleware } from "../../src/entries/agent.js";
import { RedisChatMemory, type MemoryEvent } from "../../src/entries/index.js";
import { startOpenAIServer, type OpenAIServer } from "../../testing/openai-server.js";
import { closedAfterEach } from "../support/closed-after-each.js";
import { sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";

/** The figure in docs/reducers.md is of WINDOW_TURNS=200. */
const turns = Number(process.env["WINDOW_TURNS"] ?? 40);
const window = 8_192;
const cachedPrice = 0.1;

const systemPrompt = "You are an agent of an airline. Look up what you are asked for before you answer. ".repeat(16);
const questionOf = (turn: number) =>
  `Question ${turn}: ${"where can I go from here, and when? ".repeat(turn % 9 === 8 ? 40 : 2)}`;
const resultOf = (query: string, lines: number) => `${query}: ${"a flight from here to there at noon, ".repeat(lines)}`;
const flights = tool(({ query }: { query: string }) => resultOf(query, query.length % 7 === 3 ? 90 : 24), {
  name: "search_flights",
  description: "Finds flights by what the traveller says. ".repeat(6),
  schema: z.object({ query: z.string().describe("What the traveller said, in full.") }),
});
const rules = tool(({ topic }: { topic: string }) => resultOf(topic, 12), {
  name: "read_rules",
  description: "Reads the rules of the airline on a topic. ".repeat(6),
  schema: z.object({ topic: z.string().describe("The topic, such as luggage.") }),
});

interface WireMessage {
  readonly role: string;
  readonly content: unknown;
}

const messagesIn = (body: Record<string, unknown>) => body["messages"] as readonly WireMessage[];
/** A tokenizer that is finer than the estimate's by a quarter. */
const tokensOf = (part: unknown) => Math.ceil(JSON.stringify(part).length / 3.2);
const totalOf = (parts: readonly unknown[]) => parts.reduce<number>((sum, part) => sum + tokensOf(part), 0);

/** What a provider bills with a prompt cache, and what it would bill if nothing was ever cut. */
class Bill {
  billed = 0;
  neverCut = 0;
  #last: readonly string[] = [];
  readonly #seen = new Set<string>();
  #all = 0;

  add(fixed: number, messages: readonly WireMessage[]): void {
    const parts = messages.map((message) => JSON.stringify(message));
    const broken = parts.findIndex((part, index) => part !== this.#last[index]);
    const common = this.#last.length === 0 ? 0 : broken < 0 ? parts.length : broken;
    const cached = common === 0 ? 0 : fixed + totalOf(messages.slice(0, common));
    this.billed += fixed + totalOf(messages) - (1 - cachedPrice) * cached;
    this.#last = parts;
    const known = parts.findLastIndex((part) => this.#seen.has(part));
    const added = totalOf(messages.slice(known + 1));
    this.neverCut += added + (this.#all === 0 ? fixed : cachedPrice * (fixed + this.#all));
    this.#all += added;
    parts.forEach((part) => this.#seen.add(part));
  }
}

/** A model with a window of 8,192, which refuses what is too long, and calls two tools for each question. */
async function startModel() {
  const [bill, sizes, refused] = [new Bill(), [] as number[], [] as number[]];
  const server = await startOpenAIServer({
    reply: (body, count) => {
      const messages = messagesIn(body);
      const fixed = tokensOf(body["tools"] ?? []);
      const promptTokens = fixed + totalOf(messages);
      sizes.push(promptTokens);
      if (promptTokens > window) {
        refused.push(promptTokens);
        const message =
          `This model's maximum context length is ${window} tokens. ` +
          `However, your messages resulted in ${promptTokens} tokens.`;
        return { failure: { status: 400, message } };
      }
      bill.add(fixed, messages);
      const usage = { promptTokens, completionTokens: 40 };
      const last = messages.at(-1)!;
      const query = String(last.content).slice(0, 40 + (count % 11));
      return last.role === "user"
        ? {
            toolCalls: [
              { name: "search_flights", arguments: { query } },
              { name: "read_rules", arguments: { topic: `luggage ${count}` } },
            ],
            usage,
          }
        : { content: `Answer ${count}: ${"there is a flight at noon. ".repeat(6)}`, usage };
    },
  });
  return { server, bill, sizes, refused };
}

const modelOf = ({ url }: OpenAIServer) =>
  new ChatOpenAI({ model: "gpt-4", apiKey: "none", maxRetries: 0, configuration: { baseURL: url } });

describe("an agent with tools on a model with a window of 8,192", () => {
  const closed = closedAfterEach();

  it(`runs ${turns} turns on three instances: none refused, no question lost, at the price of the table`, async () => {
    const { server, bill, sizes, refused } = await startModel();
    closed(server);
    const model = modelOf(server);
    expect(model.profile.maxInputTokens).toBe(window);
    const [keyPrefix, failures] = [uniquePrefix(), [] as MemoryEvent[]];
    const instances = [1, 2, 3].map(() => {
      const onEvent = (event: MemoryEvent) =>
        void (/fail|overflow|stale|unknown|conflict|not_stored/.test(event.type) && failures.push(event));
      const memory = closed(new RedisChatMemory({ url: sharedRedisUrl(), redis: { keyPrefix }, onEvent }));
      const middleware = [redisMemoryMiddleware({ memory })];
      const agent = createAgent({ model: modelOf(server), tools: [flights, rules], systemPrompt, middleware });
      return { memory, agent };
    });
    for (let turn = 0; turn < turns; turn += 1) {
      const question = { role: "user", content: questionOf(turn) };
      await instances[turn % 3]!.agent.invoke({ messages: [question] }, { configurable: { sessionId: "s" } });
      const asked = server.requests
        .slice(-2)
        .map(({ body }) => messagesIn(body!).some(({ content }) => content === question.content));
      expect(asked).toEqual([true, true]);
    }

    expect({ refused, failures, requests: sizes.length }).toEqual({ refused: [], failures: [], requests: 2 * turns });
    expect(Math.max(...sizes)).toBeGreaterThan(0.75 * window);
    const transcript = await instances[0]!.memory.history("s").getTranscript();
    expect(transcript).toHaveLength(5 * turns);
    const questions = transcript.filter((message: BaseMessage) => message.getType() === "human");
    expect(questions.map(({ text }) => text)).toEqual(Array.from({ length: turns }, (_, turn) => questionOf(turn)));
    // Measured: 0.82 of 40 turns, 0.22 of 200.
    expect(bill.billed / bill.neverCut).toBeLessThan(turns < 200 ? 0.83 : 0.23);
    // Its server would have refused the whole conversation.
    await expect(model.invoke(transcript)).rejects.toThrow("maximum context length");
  });
});
