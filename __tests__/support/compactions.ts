import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, HumanMessage, SystemMessage } from "@langchain/core/messages";
import { ChatAnthropic } from "@langchain/anthropic";
import { ChatOpenAI } from "@langchain/openai";
import { InMemorySessionStore, RedisChatMemory, type MemoryEvent, type ReducerLike } from "../../src/entries/index.js";

/** What a provider is sent. */
export interface Body {
  readonly messages?: readonly { readonly role: string; readonly content: unknown }[];
  readonly input?: readonly Record<string, unknown>[];
}

/** An item of a message of OpenAI's. */
export const said = { type: "message", id: "msg_1", role: "assistant", status: "completed" };
/** The text of such an item. */
export const text = { type: "output_text", text: "Well.", annotations: [] };
/** What each provider answers. */
export const answers = {
  anthropic: {
    ...{ id: "r", type: "message", role: "assistant", model: "m", stop_reason: "end_turn" },
    usage: { input_tokens: 9, output_tokens: 9 },
    content: [{ type: "text", text: "Well." }],
  },
  openai: {
    ...{ id: "r", object: "response", model: "m", status: "completed" },
    usage: { input_tokens: 9, output_tokens: 9, total_tokens: 18 },
    output: [{ ...said, id: "msg_2", content: [text] }],
  },
};

let replies = 0;

/** A `fetch` that keeps what is sent, and gives one reply. */
export function caught(bodies: Body[], reply: object): typeof globalThis.fetch {
  return (_, init) => {
    bodies.push(JSON.parse(init!.body as string) as Body);
    replies += 1;
    const body = JSON.stringify({ ...reply, id: `r${replies}` });
    return Promise.resolve(new Response(body, { headers: { "content-type": "application/json" } }));
  };
}

/** A model of each provider, which keeps what it sends. */
export const models = {
  anthropic: (bodies: Body[]): BaseChatModel => {
    const clientOptions = { fetch: caught(bodies, answers.anthropic) };
    return new ChatAnthropic({ model: "claude-sonnet-4-5", apiKey: "k", maxRetries: 0, clientOptions });
  },
  openai: (bodies: Body[]): BaseChatModel => {
    const configuration = { fetch: caught(bodies, answers.openai) };
    return new ChatOpenAI({ model: "gpt-5", apiKey: "k", maxRetries: 0, useResponsesApi: true, configuration });
  },
};

/** What Anthropic compacted. */
export const block = { type: "compaction", content: "They talked about Oslo." };
/** What OpenAI compacted. */
export const item = { type: "compaction", id: "cmp_1", encrypted_content: "gAAAA-sealed==" };
const ofAnthropic = (content: readonly object[]) =>
  new AIMessage({ id: "k", content: content as never, response_metadata: { model_provider: "anthropic" } });
/** An answer of OpenAI's with these items. */
export const ofOpenAi = (content: AIMessage["content"], output: readonly object[]) =>
  new AIMessage({ id: "k", content, response_metadata: { model_provider: "openai", output } });

/** Answers in which Anthropic compacted, as its adapter gives them back. */
export const readable = {
  "a block beside an answer": () => ofAnthropic([block, { type: "text", text: "At noon." }]),
  "a block by itself": () => ofAnthropic([{ ...block, signature: "c2lnbmVk+/=" }]),
};
/** The same of OpenAI. */
export const sealed = {
  "an item beside an answer": () =>
    ofOpenAi([{ type: "text", text: "At noon." }], [item, { ...said, content: [{ ...text, text: "At noon." }] }]),
  "an item by itself": () => ofOpenAi("", [item]),
};

/** Rounds in front of a compaction, which it stands for. */
export const before = Array.from({ length: 6 }, (_, index) => [
  new HumanMessage({ content: `early question ${index}`, id: `q${index}` }),
  new AIMessage({ content: `early answer ${index}`, id: `a${index}` }),
]).flat();
/** The instruction in front of them. */
export const system = new SystemMessage({ content: "Be brief.", id: "s" });
/** The question whose answer compacted. */
export const asked = new HumanMessage({ content: "early too", id: "asked" });
/** The config of a run in the session. */
export const run = { configurable: { sessionId: "s" } };

/** A session of rounds whose last answer compacted, with the events `compaction_dropped`. */
export async function sessionWith(answer: AIMessage, reducer?: ReducerLike) {
  const events: MemoryEvent[] = [];
  const store = new InMemorySessionStore();
  const onEvent = (event: MemoryEvent) => void (event.type === "compaction_dropped" && events.push(event));
  const memory = new RedisChatMemory({ store, onEvent, ...(reducer && { reducer }) });
  const history = memory.history("s");
  await history.addMessages([system, ...before]);
  await history.addMessages([asked, answer]);
  return { memory, history, events, store };
}
