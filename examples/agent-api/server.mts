import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { AIMessage, AIMessageChunk, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { ChatOpenAI } from "@langchain/openai";
import { createAgent } from "langchain";
import {
  ChatHistoryTokenReducer,
  httpStatusOf,
  MemoryError,
  RedisChatMemory,
  sessionConfig,
} from "langchain-redis-memory";
import { redisMemoryMiddleware, steeringMiddleware } from "langchain-redis-memory/agent";
import { redisRuns, sse, type Run, type ServerSentEvent } from "langchain-redis-memory/runs";
import { z } from "zod";

const memory = new RedisChatMemory({
  url: process.env["REDIS_URL"] ?? "redis://localhost:6379",
  sessionTTL: 30 * 24 * 3600,
  reducer: new ChatHistoryTokenReducer({ maxTokens: 16_000 }),
});
const runs = redisRuns(memory);
const weather = tool(({ city }) => `4 °C in ${city}`, {
  name: "weather",
  description: "The weather in a city",
  schema: z.object({ city: z.string() }),
});
const models = ["gpt-4o-mini", "gpt-4o"]; // a client may choose one of these; the first one is the default
const middleware = [redisMemoryMiddleware({ memory }), steeringMiddleware({ runs })];
const agentOf = (model: string) => createAgent({ model: new ChatOpenAI({ model }), tools: [weather], middleware });
const agents = new Map(models.map((model) => [model, agentOf(model)]));

/** Whose request this is. Take it from your own sign-in; this header is a stand-in. */
const ownerOf = ({ headers }: IncomingMessage) => String(headers["x-user"] ?? "guest");

/** Refuses a page of another site, whose requests carry the user's cookies. */
function refuseOtherSites({ headers }: IncomingMessage): void {
  if (headers["sec-fetch-site"] === "cross-site") {
    throw new Refusal(403, "cross_site");
  }
}

/** An answer that is not 200. */
class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
  ) {
    super(code);
  }
}

const server = createServer((request, response) => {
  route(request, response).catch((error: unknown) => {
    const { status, code } = refusalOf(error);
    if (response.destroyed) {
      return; // its client left
    }
    if (status === 500) {
      console.error(error);
    }
    if (status === 503) {
      response.setHeader("retry-after", "1"); // Redis is away: the same request may succeed later
    }
    request.resume(); // drops what was not read of a body
    send(response, status, { error: code });
  });
});
server.listen(Number(process.env["PORT"] ?? 3000), () => {
  console.log(`http://localhost:${(server.address() as AddressInfo).port}`);
});

async function route(request: IncomingMessage, response: ServerResponse): Promise<void> {
  refuseOtherSites(request);
  const owner = ownerOf(request);
  const { path, searchParams } = addressOf(request);
  const [, chats, id = "", messages, messageId = "", again] = path;
  const name = [request.method, chats, id && "id", messages, messageId && "id", again].filter(Boolean).join(" ");
  const history = () => memory.history(id, { owner });
  switch (name) {
    case "GET chats": {
      const cursor = searchParams.get("cursor") ?? undefined; // undefined: the newest conversations
      const { sessions, next } = await memory.sessions.list({ owner, limit: 30, cursor });
      const list = sessions.map(({ sessionId, title, updatedAt }) => ({ id: sessionId, title, updatedAt }));
      return send(response, 200, { chats: list, next });
    }
    case "GET chats id": {
      const before = searchParams.get("before");
      const { items, previous } = await history().getPage({ limit: 50, ...(before && { before: Number(before) }) });
      if (items.length === 0) {
        throw noSuchChat();
      }
      const texts = items.filter(({ message }) => isShown(message));
      const shown = texts.map(({ message }) => ({
        id: message.id,
        role: message.getType(),
        text: message.text,
        interrupted: (message.response_metadata as { interrupted?: boolean }).interrupted === true,
      }));
      return send(response, 200, { messages: shown, before: previous });
    }
    case "PATCH chats id": {
      const { title } = await bodyOf(request);
      if ((await memory.sessions.update(id, { title: textIn(title) }, { owner })) === undefined) {
        throw noSuchChat();
      }
      return send(response, 204);
    }
    case "DELETE chats id": {
      await runs.stop(id, { owner });
      if (!(await memory.sessions.delete(id, { owner }))) {
        throw noSuchChat();
      }
      return send(response, 204);
    }
    case "GET chats id run": {
      // The answer that is being written, on whichever instance: all of it, or what follows the last event.
      const after = request.headers["last-event-id"]?.toString() ?? null;
      const isWritten = (await runs.active(id, { owner })) !== undefined;
      if (!isWritten) {
        await requireChat(id, owner);
      }
      return isWritten || after !== null ? stream(runs.join(id, { owner, after }), response) : send(response, 204);
    }
    case "POST chats id stop": {
      const stopped = await runs.stop(id, { owner });
      if (!stopped) {
        await requireChat(id, owner);
      }
      return send(response, 200, { stopped });
    }
    case "POST chats id messages": {
      // A question, and its retry: the same messageId and text again. An agent at work takes it into its turn.
      const body = await bodyOf(request);
      const question = new HumanMessage({ id: textIn(body["messageId"]), content: textIn(body["text"]) });
      return answer({ chat: id, owner, question, agent: agentIn(body) }, response);
    }
    case "PUT chats id messages id": {
      // An edit: removes the question and all after it, then asks the new text under the same id.
      const body = await bodyOf(request);
      const question = new HumanMessage({ id: messageId, content: textIn(body["text"]) });
      const agent = agentIn(body);
      await halt(id, owner);
      await questionIn(history(), messageId);
      await history().replaceFrom(messageId, [question]);
      return answer({ chat: id, owner, question, agent }, response);
    }
    case "POST chats id messages id again": {
      // Another answer: removes what follows the question, then asks the same question again.
      const agent = agentIn(await bodyOf(request));
      await halt(id, owner);
      const { question, next } = await questionIn(history(), messageId);
      if (next !== undefined) {
        await history().rewind(next);
      }
      return answer({ chat: id, owner, question, agent }, response);
    }
    default:
      throw new Refusal(404, "no_such_path");
  }
}

interface Turn {
  readonly chat: string;
  readonly owner: string;
  readonly question: HumanMessage;
  readonly agent: ReturnType<typeof agentOf>;
}

/** Answers one turn. The memory stores the question before the model is called, and the answer at the end. */
async function answer({ chat, owner, question, agent }: Turn, response: ServerResponse): Promise<void> {
  const title = [...question.text].slice(0, 60).join(""); // names a new conversation; later ones keep their title
  const session = sessionConfig({ sessionId: chat, owner, title });
  const how = { turnId: question.id!, owner, whileRunning: "steer", message: question } as const;
  const run = await runs.start(chat, how, (signal) =>
    agent.stream({ messages: [question] }, { ...session, streamMode: "messages", signal }),
  );
  await stream(run, response);
}

/** Streams a run. A client that leaves ends this, never the run. */
async function stream(run: Run, response: ServerResponse): Promise<void> {
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" }).flushHeaders();
  await pipeline(Readable.fromWeb(sse(eventsOf(run))), response).catch((error: unknown) => {
    if (!response.destroyed) {
      throw error;
    }
  });
}

async function* eventsOf(run: Run): AsyncGenerator<ServerSentEvent> {
  let end: object = {}; // without a state: nothing is known of the run
  try {
    for await (const item of run) {
      if ("id" in item) {
        const [part] = item.chunk as [BaseMessage, unknown];
        yield* partsOf(part).map((one) => ({ id: item.id, ...one }));
      } else if ("state" in item) {
        end = item;
      } else {
        yield event("reset", {}); // parts are missing for good: the client reads the conversation at the end
      }
    }
  } catch (error) {
    yield event("error", { error: refusalOf(error).code }); // the answer had begun
    return;
  }
  yield event("end", end);
}

function partsOf(part: BaseMessage): ServerSentEvent[] {
  const isAnswer = part.getType() === "ai" && part.text !== "";
  const calls = AIMessageChunk.isInstance(part) ? (part.tool_call_chunks ?? []) : [];
  const tools = calls.flatMap(({ name }) => (name ? [event("tool", { name })] : []));
  return isAnswer ? [event("text", { text: part.text }), ...tools] : tools;
}

/** Stops the answer that is being written, and waits until it is stored. */
async function halt(chat: string, owner: string): Promise<void> {
  if (await runs.stop(chat, { owner })) {
    const items = runs.join(chat, { owner })[Symbol.asyncIterator]();
    while (!(await items.next()).done) {
      // Only the end counts.
    }
  }
}

function agentIn({ model = models[0] }: Record<string, unknown>): ReturnType<typeof agentOf> {
  const agent = agents.get(String(model));
  if (agent === undefined) {
    throw new Refusal(400, "unknown_model");
  }
  return agent;
}

/** A question of a conversation with its pictures and files, and the id of the message after it. */
async function questionIn(history: ReturnType<typeof memory.history>, messageId: string) {
  const { items } = await history.getPage({ around: messageId, limit: 3 });
  const at = items.findIndex(({ message }) => message.id === messageId);
  const question = items[at]?.message;
  if (!HumanMessage.isInstance(question)) {
    throw new Refusal(400, "no_question"); // an answer cannot be edited or asked
  }
  return { question, next: items[at + 1]?.message.id };
}

/** What a user sees: questions and answers. Tool results and answers that only call tools are left out. */
function isShown(message: BaseMessage): boolean {
  return HumanMessage.isInstance(message) || (AIMessage.isInstance(message) && message.text !== "");
}

/** Answers alike for a conversation that does not exist and for one of somebody else, which every call refuses. */
async function requireChat(id: string, owner: string): Promise<void> {
  if ((await memory.sessions.get(id, { owner })) === undefined) {
    throw noSuchChat();
  }
}

function noSuchChat(): Refusal {
  return new Refusal(404, "no_such_chat");
}

function refusalOf(error: unknown): Refusal {
  if (error instanceof Refusal) {
    return error;
  }
  const status = httpStatusOf(error);
  const cause = MemoryError.isInstance(error) ? error : (error as Error).cause; // LangChain wraps errors
  return status === 404 ? noSuchChat() : new Refusal(status, MemoryError.isInstance(cause) ? cause.code : "failed");
}

function addressOf({ url }: IncomingMessage) {
  try {
    const { pathname, searchParams } = new URL(`http://localhost${url}`);
    return { path: pathname.split("/").map(decodeURIComponent), searchParams };
  } catch {
    throw new Refusal(400, "no_path");
  }
}

async function bodyOf(request: IncomingMessage): Promise<Record<string, unknown>> {
  if (!request.headers["content-type"]?.startsWith("application/json")) {
    throw new Refusal(415, "no_json"); // a form of another site's page can send any other type
  }
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    length += piece.length;
    if (length > 1_000_000) {
      throw new Refusal(413, "too_large");
    }
    pieces.push(piece);
  }
  try {
    return Object(JSON.parse(Buffer.concat(pieces).toString() || "{}")) as Record<string, unknown>;
  } catch {
    throw new Refusal(400, "no_json");
  }
}

function textIn(value: unknown): string {
  if (typeof value !== "string" || value.trim() === "") {
    throw new Refusal(400, "incomplete");
  }
  return value;
}

function send(response: ServerResponse, status: number, body?: object): void {
  response.writeHead(status, { "content-type": "application/json" }).end(body && JSON.stringify(body));
}

function event(name: string, data: object): ServerSentEvent {
  return { event: name, data: JSON.stringify(data) };
}

process.once("SIGTERM", () => {
  server.close();
  void memory.close(); // stores the partial answers, and ends their streams
});
