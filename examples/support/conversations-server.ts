// A server for a page with a sidebar of conversations. Every call is made in the name of the user who signed in: the
// memory refuses what belongs to another one.
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { HumanMessage } from "@langchain/core/messages";
import { StringOutputParser } from "@langchain/core/output_parsers";
import { ChatPromptTemplate, MessagesPlaceholder } from "@langchain/core/prompts";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import {
  httpStatusOf,
  MemoryError,
  sessionConfig,
  withRedisMemory,
  type RedisChatMemory,
} from "langchain-redis-memory";

/** What the server needs. */
export interface ConversationsSetting {
  readonly model: BaseChatModel;
  readonly memory: RedisChatMemory;
  /** Who can sign in. A product takes its users from its own sign-in. */
  readonly users: readonly string[];
  /** @default a free one */
  readonly port?: number;
}

interface Call {
  readonly owner: string;
  /** The conversation; empty where the path names none. */
  readonly id: string;
  readonly query: URLSearchParams;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

const listLength = 12;
const pageLength = 20;
const maxBodyBytes = 100_000;
const id = "([0-9a-f-]{36})";

const file = (name: string) => readFileSync(new URL(`conversations/${name}`, import.meta.url));
const files: Readonly<Record<string, { readonly type: string; readonly body: Buffer }>> = {
  "/": { type: "text/html", body: file("page.html") },
  "/page.css": { type: "text/css", body: file("page.css") },
  "/page.js": { type: "text/javascript", body: file("page.js") },
};

/** Starts the server on this machine. */
export async function startConversations({ model, memory, users, port = 0 }: ConversationsSetting): Promise<Server> {
  const prompt = ChatPromptTemplate.fromMessages([
    ["system", "You are a friendly assistant. Answer in plain text."],
    new MessagesPlaceholder("history"),
    new MessagesPlaceholder("question"),
  ]);
  const chat = withRedisMemory(prompt.pipe(model).pipe(new StringOutputParser()), {
    memory,
    inputMessagesKey: "question",
    historyMessagesKey: "history",
  });
  /** Who signed in, by the token in their cookie. */
  const signedIn = new Map<string, string>();

  const routes: readonly [method: string, path: RegExp, answer: (call: Call) => Promise<void>][] = [
    ["GET", /^\/api\/conversations$/, list],
    ["GET", new RegExp(`^/api/conversations/${id}/messages$`), messages],
    ["POST", new RegExp(`^/api/conversations/${id}/turns$`), takeTurn],
    ["POST", new RegExp(`^/api/conversations/${id}/branches$`), branch],
    ["PATCH", new RegExp(`^/api/conversations/${id}$`), rename],
    ["DELETE", new RegExp(`^/api/conversations/${id}$`), remove],
  ];

  /** A page of the sidebar, newest first. */
  async function list({ owner, query, response }: Call): Promise<void> {
    const cursor = query.get("cursor") ?? undefined;
    const page = await memory.sessions.list({ owner, limit: listLength, ...(cursor !== undefined && { cursor }) });
    const conversations = page.sessions.map(({ sessionId, title, updatedAt }) => ({
      ...{ id: sessionId, title, updatedAt },
    }));
    sendJson(response, { conversations, next: page.next });
  }

  /** A page of a conversation: the newest messages, or those in front of a position. */
  async function messages({ owner, id, query, response }: Call): Promise<void> {
    const before = query.get("before");
    const history = memory.history(id, { owner });
    const page = await history.getPage({ limit: pageLength, ...(before !== null && { before: Number(before) }) });
    if (page.items.length === 0) {
      throw new BadRequest(404); // as for a conversation of somebody else
    }
    const shown = page.items.map(({ position, message }) => ({
      ...{ position, id: message.id, role: message.getType(), text: message.text },
      interrupted: (message.response_metadata as Record<string, unknown>)["interrupted"] === true,
    }));
    sendJson(response, { messages: shown, previous: page.previous });
  }

  /**
   * Streams the answer to a question; with `replace` the question takes the place of the one with its id and of all
   * that followed. The same request again adds nothing: it gives the stored answer, or one in the place of what was
   * stopped.
   */
  async function takeTurn({ owner, id, request, response }: Call): Promise<void> {
    const { messageId, text, replace } = await bodyOf(request);
    const question = new HumanMessage({ id: textIn(messageId, 36), content: textIn(text, 20_000) });
    if (replace === true) {
      await memory.history(id, { owner }).replaceFrom(question.id!, [question]);
    }
    const stopped = new AbortController();
    // The browser closes the connection when the reader presses Stop or leaves the page.
    response.on("close", () => stopped.abort());
    const session = sessionConfig({ sessionId: id, owner, title: firstCharacters(question.text) });
    const parts = await chat.stream({ question: [question] }, { ...session, signal: stopped.signal });
    response.writeHead(200, { "content-type": "text/plain; charset=utf-8" });
    await pipeline(Readable.from(parts), response);
  }

  /** Copies the messages in front of a position into a new conversation. */
  async function branch({ owner, id, request, response }: Call): Promise<void> {
    const { at } = await bodyOf(request);
    const title = (await memory.sessions.get(id, { owner }))?.title ?? "Conversation";
    const branchId = randomUUID();
    await memory
      .history(id, { owner })
      .fork(branchId, { at: at as number, title: `${firstCharacters(title)} (branch)` });
    sendJson(response, { id: branchId });
  }

  async function rename({ owner, id, request, response }: Call): Promise<void> {
    const { title } = await bodyOf(request);
    const session = await memory.sessions.update(id, { title: textIn(title, 200) }, { owner });
    if (session === undefined) {
      throw new BadRequest(404);
    }
    sendJson(response, { title: session.title });
  }

  async function remove({ owner, id, response }: Call): Promise<void> {
    if (!(await memory.sessions.delete(id, { owner }))) {
      throw new BadRequest(404);
    }
    sendJson(response, {});
  }

  /** Signs in one of the users, without a password: a product has its own way. */
  async function signIn(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { user } = await bodyOf(request);
    const name = users.find((known) => known === user);
    if (name === undefined) {
      sendJson(response, {}, 400);
      return;
    }
    const token = randomUUID();
    signedIn.set(token, name);
    response.setHeader("set-cookie", `signed-in=${token}; HttpOnly; SameSite=Strict; Path=/`);
    sendJson(response, { user: name });
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams: query } = new URL(request.url ?? "/", "http://localhost");
    const { method = "GET" } = request;
    response.setHeader("x-content-type-options", "nosniff");
    response.setHeader(
      "content-security-policy",
      "default-src 'self'; img-src data:; frame-ancestors 'none'; base-uri 'none'",
    );
    const page = Object.hasOwn(files, pathname) && method === "GET" ? files[pathname] : undefined;
    if (page !== undefined) {
      response.writeHead(200, { "content-type": `${page.type}; charset=utf-8` }).end(page.body);
      return;
    }
    if (request.headers["sec-fetch-site"] === "cross-site" && pathname.startsWith("/api/")) {
      throw new BadRequest(403); // a page of another site, with the user's cookie
    }
    if (method === "POST" && pathname === "/api/sign-in") {
      return signIn(request, response);
    }
    const owner = signedIn.get(/(?:^|; )signed-in=([\w-]{36})/.exec(request.headers.cookie ?? "")?.[1] ?? "");
    if (method === "GET" && pathname === "/api/users") {
      return sendJson(response, { users, user: owner });
    }
    const route = routes.find(([verb, path]) => verb === method && path.test(pathname));
    if (route === undefined || owner === undefined) {
      return sendJson(response, {}, route === undefined ? 404 : 401);
    }
    const conversation = route[1].exec(pathname)![1] ?? "";
    return route[2]({ owner, id: conversation, query, request, response });
  }

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      if (response.headersSent) {
        response.destroy();
        return;
      }
      const status = error instanceof BadRequest ? error.status : httpStatusOf(error);
      const code = MemoryError.isInstance(error) && status !== 404 ? error.code : "failed";
      request.resume(); // drops what was not read of a body
      sendJson(response, { error: code }, status);
    });
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return server;
}

/** A request that cannot be served; its status. */
class BadRequest extends Error {
  constructor(readonly status = 400) {
    super();
  }
}

/** Enough for a title. Cut between characters: half of one is no text. */
function firstCharacters(text: string): string {
  return [...text].slice(0, 60).join("");
}

function textIn(value: unknown, maxLength: number): string {
  if (typeof value !== "string" || value.trim() === "" || value.length > maxLength) {
    throw new BadRequest();
  }
  return value;
}

async function bodyOf(request: IncomingMessage): Promise<Record<string, unknown>> {
  if (!request.headers["content-type"]?.startsWith("application/json")) {
    throw new BadRequest(415); // a form of another site's page can send any other type
  }
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > maxBodyBytes) {
      throw new BadRequest(413);
    }
    chunks.push(chunk);
  }
  try {
    return Object(JSON.parse(Buffer.concat(chunks).toString("utf8"))) as Record<string, unknown>;
  } catch {
    throw new BadRequest();
  }
}

function sendJson(response: ServerResponse, value: object, status = 200): void {
  const later = status === 503 && { "retry-after": "1" };
  response.writeHead(status, { "content-type": "application/json", "cache-control": "no-store", ...later });
  response.end(JSON.stringify(value));
}
