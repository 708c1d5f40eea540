import { ChatAnthropic } from "@langchain/anthropic";
import { tool } from "@langchain/core/tools";
import { ChatOpenAI } from "@langchain/openai";
import { createAgent } from "langchain";
import { z } from "zod";
import { redisMemoryMiddleware } from "../../src/entries/agent.js";
import { contextWindow, InMemorySessionStore, RedisChatMemory, type MemoryEvent } from "../../src/entries/index.js";
import { roleOf } from "../../src/conversation/messages/roles.js";

interface Body extends Record<string, unknown> {
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
}

const search = tool(({ query }: { query: string }) => `${query}: ${"a flight, ".repeat(20)}`, {
  name: "search",
  description: "Finds flights.",
  schema: z.object({ query: z.string() }),
});
const asksForSummary = ({ messages }: Body) => JSON.stringify(messages.at(-1)).includes("Write one summary of all");
const inSession = { configurable: { sessionId: "s" } };

/** What the model does where a summary is due. */
type OnSummary = "summary" | "call" | "cut off";
interface Answer {
  readonly text: string;
  readonly query?: string;
  readonly isCutOff?: boolean;
}

/** The model's answer: a call to each question, words to each result, and a summary, or less, where one is due. */
function answerTo(body: Body, onSummary: OnSummary): Answer {
  if (asksForSummary(body)) {
    const text = "They looked for flights.";
    return { call: { text: "", query: "again" }, summary: { text }, "cut off": { text, isCutOff: true } }[onSummary];
  }
  const last = JSON.stringify(body.messages.at(-1));
  const question = /Question (\d+)/.exec(last)?.[1];
  return question !== undefined && !/tool/.test(last)
    ? { text: "", query: `trip ${question}` }
    : { text: `Here it is. ${"Bring a coat. ".repeat(20)}` };
}

let ids = 0;
const replies = {
  openai: ({ text, query, isCutOff }: Answer, tokens: number) => ({
    id: `r${(ids += 1)}`,
    object: "chat.completion",
    model: "m",
    usage: { prompt_tokens: tokens, completion_tokens: 9, total_tokens: tokens + 9 },
    choices: [
      {
        index: 0,
        finish_reason: isCutOff ? "length" : query === undefined ? "stop" : "tool_calls",
        message: {
          role: "assistant",
          content: text,
          ...(query !== undefined && {
            tool_calls: [
              {
                id: `call_${query}`,
                type: "function",
                function: { name: "search", arguments: JSON.stringify({ query }) },
              },
            ],
          }),
        },
      },
    ],
  }),
  anthropic: ({ text, query, isCutOff }: Answer, tokens: number) => ({
    id: `r${(ids += 1)}`,
    type: "message",
    role: "assistant",
    model: "m",
    stop_reason: isCutOff ? "max_tokens" : query === undefined ? "end_turn" : "tool_use",
    usage: { input_tokens: tokens, output_tokens: 9 },
    content:
      query === undefined
        ? [{ type: "text", text }]
        : [{ type: "tool_use", id: `call_${query.replace(" ", "_")}`, name: "search", input: { query } }],
  }),
};

const models = {
  openai: (fetch: typeof globalThis.fetch) =>
    new ChatOpenAI({ model: "gpt-4o", apiKey: "k", maxRetries: 0, configuration: { fetch } }),
  anthropic: (fetch: typeof globalThis.fetch) =>
    new ChatAnthropic({ model: "claude-sonnet-4-5", apiKey: "k", maxRetries: 0, clientOptions: { fetch } }),
};

/** Runs turns of an agent, and returns the bodies of all requests. */
async function run(adapter: keyof typeof models, { turns, onSummary }: { turns: number; onSummary: OnSummary }) {
  const bodies: Body[] = [];
  const events: MemoryEvent[] = [];
  const fetch = (_: unknown, init?: RequestInit) => {
    const body = JSON.parse(init!.body as string) as Body;
    bodies.push(body);
    const reply = replies[adapter](answerTo(body, onSummary), Math.ceil(JSON.stringify(body).length / 4));
    return Promise.resolve(new Response(JSON.stringify(reply), { headers: { "content-type": "application/json" } }));
  };
  const reducer = contextWindow({
    maxInputTokens: 1_500,
    keepToolResults: 1,
    summary: { model: "live", focus: "coats" },
  });
  const store = new InMemorySessionStore();
  const memory = new RedisChatMemory({ store, reducer, onEvent: (event) => void events.push(event) });
  const middleware = [redisMemoryMiddleware({ memory })];
  const model = models[adapter](fetch);
  const agent = createAgent({ model, tools: [search], systemPrompt: "You find flights.", middleware });
  for (let turn = 0; turn < turns; turn += 1) {
    const { messages } = await agent.invoke({ messages: [{ role: "user", content: `Question ${turn}` }] }, inSession);
    expect(messages.at(-1)!.text).toContain("Here it is.");
  }
  return { bodies, events, history: memory.history("s") };
}

describe.each(["openai", "anthropic"] as const)("a summary by the model that is called, with %s", (adapter) => {
  it("is asked for by the request that was sent last, plus one instruction, and becomes the head", async () => {
    const { bodies, events, history } = await run(adapter, { turns: 10, onSummary: "summary" });
    const places = [...bodies.keys()].filter((place) => asksForSummary(bodies[place]!));
    expect(places.length).toBeGreaterThan(0);
    for (const place of places) {
      const [{ messages: before, ...last }, { messages, ...live }] = [bodies[place - 1]!, bodies[place]!];
      expect(live).toEqual(last);
      expect(live).not.toHaveProperty("tool_choice");
      expect(messages.slice(0, before.length)).toEqual(before);
      // The instruction, and the last answer where a new turn begins.
      expect(messages.length - before.length).toBeLessThanOrEqual(2);
      expect(JSON.stringify(messages.at(-1))).toContain("Say more about this than about the rest: coats");
      expect(JSON.stringify(bodies[place + 1]!.messages)).toContain("They looked for flights.");
    }
    expect(roleOf((await history.getMessages())[0]!)).toBe("summary");
    expect(events.filter(({ type }) => type === "reduction_failed")).toEqual([]);
  });

  it.each([
    ["call", "failed"],
    ["cut off", "cut_off"],
  ] as const)("that is none leads to a cut in the same turn: %s", async (onSummary, code) => {
    const { bodies, events, history } = await run(adapter, { turns: 10, onSummary });
    const places = [...bodies.keys()].filter((place) => asksForSummary(bodies[place]!));
    expect(places.length).toBeGreaterThan(0);
    places.forEach((place) => {
      expect(bodies[place + 1]!.messages.length).toBeLessThan(bodies[place]!.messages.length);
    });
    expect(events).toContainEqual(
      expect.objectContaining({
        type: "reduction_failed",
        error: expect.objectContaining({ code }) as Error,
      }),
    );
    expect((await history.getMessages()).map(roleOf)).not.toContain("summary");
  });
});
