import { ChatAnthropic } from "@langchain/anthropic";
import { HumanMessage } from "@langchain/core/messages";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { tool } from "@langchain/core/tools";
import { ChatOpenAI } from "@langchain/openai";
import { createAgent } from "langchain";
import { z } from "zod";
import { redisMemoryMiddleware } from "../../src/entries/agent.js";
import { contextWindow, InMemorySessionStore, RedisChatMemory, type MemoryEvent } from "../../src/entries/index.js";

interface Sent {
  readonly body: Record<string, unknown> & { readonly messages: readonly { role: string; content: unknown }[] };
  readonly betas: string | null;
}

const signed = { type: "compaction", content: "They talked.", signature: "c2lnbmVk+/=" };
const inSession = { configurable: { sessionId: "s" } };
const look = tool(() => "rain", { name: "look", description: "Looks.", schema: z.object({}) });

/** Answers of the Messages API: with a block where one is asked for, unless it is to say something else. */
function scripted(
  sent: Sent[],
  { onCompact = () => Promise.resolve([signed] as object[]), stop = "compaction" } = {},
): typeof fetch {
  return async (_, init) => {
    const body = JSON.parse(init!.body as string) as Sent["body"];
    sent.push({ body, betas: new Headers(init!.headers).get("anthropic-beta") });
    const isAsked = body["compaction"] !== undefined;
    const input = Math.ceil(JSON.stringify(body).length / 4);
    const reply = {
      ...{ id: `r${sent.length}`, type: "message", role: "assistant", model: "m" },
      stop_reason: isAsked ? stop : "end_turn",
      usage: isAsked ? { input_tokens: 0, output_tokens: 0 } : { input_tokens: input, output_tokens: 9 },
      content: isAsked ? await onCompact() : [{ type: "text", text: `Bring a coat. ${"It rains. ".repeat(40)}` }],
    };
    return new Response(JSON.stringify(reply), { headers: { "content-type": "application/json" } });
  };
}

const anthropic = (fetch: typeof globalThis.fetch, fields: object = {}) =>
  new ChatAnthropic({ model: "claude-sonnet-4-5", apiKey: "k", maxRetries: 0, clientOptions: { fetch }, ...fields });

function sessionOf(model: BaseChatModel, options: Parameters<typeof contextWindow>[0] = {}) {
  const events: MemoryEvent[] = [];
  const memory = new RedisChatMemory({
    store: new InMemorySessionStore(),
    reducer: contextWindow({
      ...{ maxInputTokens: 2_000, reserveForAnswer: 0, safetyMargin: 0, summary: { model: "native" } },
      ...options,
    }),
    onEvent: (event) => void events.push(event),
  });
  const agent = createAgent({
    ...{ model, tools: [look], systemPrompt: "Be brief." },
    middleware: [redisMemoryMiddleware({ memory })],
  });
  const ask = async (question: string) => {
    await agent.invoke({ messages: [new HumanMessage(question)] }, inSession);
    await memory.drain();
  };
  const failures = () => events.flatMap((event) => (event.type === "reduction_failed" ? [event.error] : []));
  return { memory, history: memory.history("s"), events, ask, failures };
}

const askedToCompact = ({ body }: Sent) => body["compaction"] !== undefined;

describe("a provider that is asked to compact", () => {
  it("gets the conversation as it was sent, behind a turn, and its block is the head of the view", async () => {
    const sent: Sent[] = [];
    const { history, ask, failures, events } = sessionOf(anthropic(scripted(sent)));
    let turns = 0;
    while (!sent.some(askedToCompact) && turns < 40) {
      turns += 1;
      await ask(`Question ${turns}`);
    }
    expect(failures()).toEqual([]);
    const [last, asked] = sent.slice(-2) as [Sent, Sent];
    expect(asked.body["compaction"]).toEqual({ type: "summarize" });
    expect(asked.betas).toContain("compact-2026-09-04");
    expect(last.betas ?? "").not.toContain("compact");
    const { messages: before, ...parts } = last.body;
    const { messages, compaction: _, ...others } = asked.body;
    expect(others).toEqual(parts);
    expect(messages.slice(0, before.length)).toEqual(before);
    expect(messages.slice(before.length).map(({ role }) => role)).toEqual(["assistant"]);
    expect((await history.getMessages()).map(({ content }) => content)).toEqual([[signed]]);
    expect(await history.getTranscript()).toHaveLength(2 * turns);
    expect(events.filter(({ type }) => type === "reduced")).toHaveLength(1);
    await ask("And now?");
    const next = sent.findLast((each) => !askedToCompact(each))!.body.messages;
    expect(next.map(({ role }) => role)).toEqual(["assistant", "user"]);
    expect(next[0]!.content).toEqual([signed]);
  });

  it("leaves what others write meanwhile behind its block", async () => {
    const sent: Sent[] = [];
    const onCompact = async () => {
      await memory.history("s").addMessages([new HumanMessage({ content: "meanwhile", id: "m" })]);
      return [signed];
    };
    const { memory, history, ask } = sessionOf(anthropic(scripted(sent, { onCompact })), { trigger: { messages: 2 } });
    await ask("Question");
    const view = await history.getMessages();
    expect(view.map(({ content }) => content)).toEqual([[signed], "meanwhile"]);
    expect(await history.getTranscript()).toHaveLength(3);
  });

  it("that does not do it changes nothing, and is asked again later", async () => {
    const sent: Sent[] = [];
    const onCompact = () => Promise.resolve([{ type: "text", text: "No." }]);
    const { history, ask, failures } = sessionOf(anthropic(scripted(sent, { onCompact })), {
      trigger: { messages: 2 },
    });
    await ask("One");
    await ask("Two");
    expect(failures()).toEqual([
      expect.objectContaining({ code: "failed" }),
      expect.objectContaining({ code: "failed" }),
    ]);
    expect(await history.getMessages()).toHaveLength(4);
  });

  it("and ends before its text does changes nothing", async () => {
    const sent: Sent[] = [];
    const { history, ask, failures } = sessionOf(anthropic(scripted(sent, { stop: "max_tokens" })), {
      trigger: { messages: 2 },
    });
    await ask("One");
    expect(failures()).toEqual([expect.objectContaining({ code: "cut_off" })]);
    expect(await history.getMessages()).toHaveLength(2);
  });

  it("is not asked where it compacts by itself at a threshold", async () => {
    const sent: Sent[] = [];
    const contextManagement = { edits: [{ type: "compact_20260112" }] };
    const { ask, failures } = sessionOf(anthropic(scripted(sent), { contextManagement }), { trigger: { messages: 1 } });
    await ask("One");
    expect(sent.filter(askedToCompact)).toEqual([]);
    expect(failures()).toEqual([]);
  });
});

describe("a model whose adapter cannot ask its provider", () => {
  it("is said once, and what exceeds the room leaves without a summary", async () => {
    const bodies: { readonly messages: readonly unknown[] }[] = [];
    const fetch: typeof globalThis.fetch = (_, init) => {
      bodies.push(JSON.parse(init!.body as string) as { messages: [] });
      const content = "It rains. ".repeat(60);
      const body = {
        ...{ id: `r${bodies.length}`, object: "chat.completion", model: "m" },
        usage: { prompt_tokens: 9, completion_tokens: 9, total_tokens: 18 },
        choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content } }],
      };
      return Promise.resolve(new Response(JSON.stringify(body), { headers: { "content-type": "application/json" } }));
    };
    const model = new ChatOpenAI({ model: "gpt-4o", apiKey: "k", maxRetries: 0, configuration: { fetch } });
    const { ask, failures, history } = sessionOf(model, { maxInputTokens: 1_000 });
    for (let turn = 0; turn < 12; turn += 1) {
      await ask(`Question ${turn}`);
    }
    expect(failures()).toEqual([expect.objectContaining({ name: "ConfigurationError", option: "summary" })]);
    expect(bodies).toHaveLength(12);
    expect((await history.getMessages()).length).toBeLessThan(24);
    expect(await history.getTranscript()).toHaveLength(24);
  });
});
