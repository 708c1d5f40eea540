import type { AIMessageChunk } from "@langchain/core/messages";
import { type AIMessage, HumanMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { interruptedMessage } from "../../../src/memory/turns/stop.js";
import type { ProviderReply } from "../../../testing/wire/answers/answer.js";
import { renderAnswer, streamPieces, streamType } from "../../../testing/wire/answers/render.js";
import { placeOf, type WireModel } from "../../../testing/wire/capture-wire.js";
import { type CaughtAnswer, type CaughtRequest, withCaughtFetch } from "../../../testing/wire/caught-fetch.js";
import { fieldsIn } from "../../../testing/wire/json.js";
import { randomOf, type Random } from "../random.js";
import type { Source } from "./adapters.js";

const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
let requests = 0;

/** One conversation; the same seed, the same conversation. */
interface ConversationOptions {
  readonly seed: number;
  /** Whether call ids are such as no provider gives. */
  readonly oddIds?: boolean;
  /** Whether some answers are stopped. */
  readonly stops?: boolean;
}

/** A conversation of native answers: five rounds, some with calls, and a question that waits for its answer. */
export async function makeConversation(
  source: Source,
  { seed, oddIds = false, stops = true }: ConversationOptions,
): Promise<BaseMessage[]> {
  const random = randomOf("wire", source.name, seed, String(oddIds));
  const messages: BaseMessage[] = [];
  for (let round = 0; round < 5; round += 1) {
    messages.push(question(random, `${seed}-${round}`));
    const steps = round % 2 === 1 ? random.between(1, 2) : random.between(0, 1);
    for (let step = 0; step < steps; step += 1) {
      await pushStep(messages, { source, random, oddIds });
    }
    const reply = { content: `Answer ${seed}-${round}.`, ...extras(source, random) };
    const isStopped = stops && round % 2 === 0 && random.chance(0.3);
    messages.push(await answer(source, { messages, reply, random, isStopped }));
  }
  messages.push(question(random, `${seed}-last`));
  if (random.chance(0.4)) {
    await pushStep(messages, { source, random, oddIds });
  }
  return messages;
}

function question(random: Random, name: string): HumanMessage {
  const text = `Question ${name}?`;
  const image = { type: "image_url", image_url: { url: `data:image/png;base64,${pixel}` } };
  return random.chance(0.15) ? new HumanMessage({ content: [{ type: "text", text }, image] }) : new HumanMessage(text);
}

interface Making {
  readonly source: Source;
  readonly random: Random;
  readonly oddIds: boolean;
}

async function pushStep(messages: BaseMessage[], { source, random, oddIds }: Making): Promise<void> {
  const calls = Array.from({ length: random.between(1, 2) }, (_, place) => ({
    name: "lookup",
    arguments: { q: `query ${place}` },
    ...(oddIds && { id: `functions.lookup:${place}_${"x".repeat(60)}${messages.length}` }),
  }));
  const thinking = source.made.includes("thinking") && random.chance(0.8) ? { thinking: "I should look." } : {};
  const reply = { ...(random.chance(0.5) && { content: "I look." }), ...thinking, toolCalls: calls };
  const made = await answer(source, { messages, reply, random, isStopped: false });
  messages.push(made);
  for (const { id, name } of (made as AIMessage).tool_calls ?? []) {
    messages.push(new ToolMessage({ content: `found ${"much ".repeat(30)}`, tool_call_id: id ?? "", name }));
  }
}

function extras({ made }: Source, random: Random): ProviderReply {
  return {
    ...(made.includes("thinking") && random.chance(0.7) && { thinking: "I know this." }),
    ...(made.includes("search") && random.chance(0.3) && { search: "facts" }),
    ...(made.includes("image") && random.chance(0.2) && { image: pixel }),
  };
}

interface Answering {
  readonly messages: readonly BaseMessage[];
  readonly reply: ProviderReply;
  readonly random: Random;
  readonly isStopped: boolean;
}

/** The message that the adapter makes of the provider's answer, streamed or not; a stopped one as it is stored. */
async function answer(source: Source, { reply, random, isStopped }: Answering): Promise<BaseMessage> {
  return nativeAnswer(source, { reply, isStreamed: isStopped || random.chance(0.5), isStopped });
}

/** How an answer comes. */
interface NativeAnswer {
  readonly reply: ProviderReply;
  readonly isStreamed: boolean;
  readonly isStopped?: boolean;
}

/** The message that the adapter makes of the provider's answer; a stopped one as it is stored. */
export async function nativeAnswer(
  source: Source,
  { reply, isStreamed, isStopped = false }: NativeAnswer,
): Promise<BaseMessage> {
  const { model } = source;
  const onRequest = (request: CaughtRequest) => respond(source, { request, reply, isStreamed });
  return withCaughtFetch(model, {
    onRequest,
    work: async () => {
      if (!isStreamed) {
        return (await model.invoke([new HumanMessage("Hi")])) as BaseMessage;
      }
      const whole = await collect(model, isStopped ? 0.6 : 1);
      return (isStopped ? interruptedMessage(whole) : undefined) ?? whole;
    },
  });
}

async function collect(model: WireModel, share: number): Promise<BaseMessage> {
  const chunks: AIMessageChunk[] = [];
  for await (const chunk of await model.stream([new HumanMessage("Hi")])) {
    chunks.push(chunk as AIMessageChunk);
  }
  return chunks.slice(0, Math.ceil(chunks.length * share)).reduce((all, chunk) => all.concat(chunk));
}

interface Responding {
  readonly request: CaughtRequest;
  readonly reply: ProviderReply;
  readonly isStreamed: boolean;
}

function respond({ memory }: Source, { request, reply, isStreamed }: Responding): CaughtAnswer {
  const { kind, model } = placeOf(request)!;
  const body = fieldsIn(request.body);
  requests += 1;
  const place = { body, model: model ?? String(body["model"]), count: requests, memory };
  const { whole, events } = renderAnswer(kind, reply, place);
  if (!isStreamed) {
    return { status: 200, headers: { "content-type": "application/json" }, body: JSON.stringify(whole) };
  }
  const pieces = streamPieces(kind, events).map((piece) => Buffer.from(piece as string));
  return { status: 200, headers: { "content-type": streamType(kind) }, body: Buffer.concat(pieces) };
}
