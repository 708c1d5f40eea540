import { HumanMessage } from "@langchain/core/messages";
import { StringOutputParser } from "@langchain/core/output_parsers";
import { ChatPromptTemplate, MessagesPlaceholder } from "@langchain/core/prompts";
import { ChatOpenAI } from "@langchain/openai";
import {
  ChatHistoryTokenReducer,
  httpStatusOf,
  MemoryError,
  RedisChatMemory,
  sessionConfig,
  withRedisMemory,
} from "langchain-redis-memory";
import { redisRuns } from "langchain-redis-memory/runs";

const memory = new RedisChatMemory({
  url: process.env["REDIS_URL"] ?? "redis://localhost:6379",
  sessionTTL: 30 * 24 * 3600,
  reducer: new ChatHistoryTokenReducer({ maxTokens: 16_000 }),
});
const prompt = ChatPromptTemplate.fromMessages([
  ["system", "You are a friendly assistant. Answer in plain text."],
  new MessagesPlaceholder("history"),
  new MessagesPlaceholder("question"),
]);
const model = new ChatOpenAI({ model: "gpt-4o-mini" });
const chat = withRedisMemory(prompt.pipe(model).pipe(new StringOutputParser()), {
  memory,
  inputMessagesKey: "question",
  historyMessagesKey: "history",
});
const runs = redisRuns(memory);

/** Whose request this is. Take it from your own sign-in; this header is a stand-in. */
function ownerOf({ headers }: Request): string {
  return headers.get("x-user") ?? "guest";
}

/** A question: starts the run of its answer, after one that is under way. The same again adds nothing. Or Stop. */
export async function POST(request: Request): Promise<Response> {
  if (request.headers.get("sec-fetch-site") === "cross-site") {
    return failed(403, "cross_site"); // a page of another site, with the user's cookies
  }
  if (!request.headers.get("content-type")?.startsWith("application/json")) {
    return failed(415, "no_json"); // a form of another site's page can send any other type
  }
  const body = await bodyOf(request);
  if (body === undefined) {
    return failed(413, "too_large");
  }
  const { id, messageId, text, stop } = body;
  if (!isText(id) || !isText(messageId) || (!isText(text) && stop !== true)) {
    return failed(400, "incomplete");
  }
  const owner = ownerOf(request);
  try {
    if (!isText(text)) {
      const stopped = await runs.stop(id, { turnId: messageId, owner });
      const isThere = stopped || (await memory.sessions.get(id, { owner })) !== undefined;
      return isThere ? Response.json({ stopped }) : failed(404, "no_such_chat");
    }
    const question = new HumanMessage({ id: messageId, content: text });
    const title = [...text].slice(0, 60).join(""); // whole characters; the first question of a conversation names it
    const session = sessionConfig({ sessionId: id, owner, title });
    await runs.start(id, { turnId: messageId, owner, whileRunning: "queue", signal: request.signal }, (signal) =>
      chat.stream({ question: [question] }, { ...session, signal }),
    );
    return new Response(null, { status: 202 });
  } catch (error) {
    return refused(error);
  }
}

/** The sidebar; or the newest messages of the conversation `id`; or, as events, the run of its question `run`. */
export async function GET(request: Request): Promise<Response> {
  const { searchParams } = new URL(request.url);
  const [id, turnId] = [searchParams.get("id"), searchParams.get("run")];
  const owner = ownerOf(request);
  try {
    if (id === null) {
      const { sessions } = await memory.sessions.list({ owner, limit: 30 });
      return Response.json(sessions.map(({ sessionId, title }) => ({ id: sessionId, title })));
    }
    if (turnId !== null) {
      const run = runs.join(id, { turnId, owner, after: request.headers.get("last-event-id") });
      const headers = { "content-type": "text/event-stream", "cache-control": "no-store, no-transform" };
      return new Response(run.toSSE({ signal: request.signal }), { headers });
    }
    const run = await runs.active(id, { owner }); // first: what ends meanwhile can still be followed
    const { items } = await memory.history(id, { owner }).getPage({ limit: 50 });
    const messages = items.map(({ message }) => {
      const interrupted = (message.response_metadata as { interrupted?: boolean }).interrupted === true;
      return { id: message.id, role: message.getType(), text: message.text, interrupted };
    });
    return messages.length > 0 ? Response.json({ messages, run: run?.turnId }) : failed(404, "no_such_chat");
  } catch (error) {
    return refused(error);
  }
}

/** Erases the conversation `id`. */
export async function DELETE(request: Request): Promise<Response> {
  const id = new URL(request.url).searchParams.get("id") ?? "";
  const owner = ownerOf(request);
  try {
    await runs.stop(id, { owner });
    const existed = await memory.sessions.delete(id, { owner });
    return existed ? new Response(null, { status: 204 }) : failed(404, "no_such_chat");
  } catch (error) {
    return refused(error);
  }
}

/** The fields of a body, none if it is no JSON; undefined if it is over a megabyte, of which no more is read. */
async function bodyOf({ body }: Request): Promise<Record<string, unknown> | undefined> {
  const reader = body?.getReader();
  const pieces: Uint8Array[] = [];
  let length = 0;
  for (let next = await reader?.read(); next?.value; next = await reader?.read()) {
    length += next.value.length;
    if (length > 1_000_000) {
      return undefined;
    }
    pieces.push(next.value);
  }
  try {
    return Object(JSON.parse(Buffer.concat(pieces).toString())) as Record<string, unknown>;
  } catch {
    return {};
  }
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value.trim() !== "";
}

/** What was wrong with the request. Nobody learns whether a conversation of somebody else exists. */
function refused(error: unknown): Response {
  const status = httpStatusOf(error);
  if (status === 500) {
    throw error; // Next.js logs it and answers 500
  }
  const code = MemoryError.isInstance(error) ? error.code : "failed";
  return failed(status, status === 404 ? "no_such_chat" : code);
}

function failed(status: number, error: string): Response {
  return Response.json({ error }, { status, headers: status === 503 ? { "retry-after": "1" } : {} });
}
