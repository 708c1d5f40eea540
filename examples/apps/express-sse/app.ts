import { Readable } from "node:stream";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { HumanMessage } from "@langchain/core/messages";
import { StringOutputParser } from "@langchain/core/output_parsers";
import express, { type ErrorRequestHandler, type Express, type Request, type RequestHandler } from "express";
import {
  httpStatusOf,
  MemoryError,
  type RedisChatMemory,
  sessionConfig,
  withRedisMemory,
} from "langchain-redis-memory";
import { redisRuns } from "langchain-redis-memory/runs";

/** Whose request this is. Take it from your own sign-in; this header is a stand-in. */
const ownerOf = (request: Request) => request.get("x-user") ?? "guest";

/** For a conversation of somebody else and for none: nobody learns which of them it is. */
const noSuchChat = { error: "no_such_chat" };

/** One instance of the application. Start as many as you like on one Redis. */
export function createApp(memory: RedisChatMemory, model: BaseChatModel): Express {
  const runs = redisRuns(memory);
  const chat = withRedisMemory(model.pipe(new StringOutputParser()), { memory });
  const app = express().use(refuseOtherSites, express.json());

  app.get("/chats", async (request, response) => {
    const { sessions } = await memory.sessions.list({ owner: ownerOf(request), limit: 30 });
    response.json(sessions.map(({ sessionId, title }) => ({ id: sessionId, title })));
  });

  app.get("/chats/:id", async (request, response) => {
    const { items } = await memory.history(request.params.id, { owner: ownerOf(request) }).getPage({ limit: 50 });
    if (items.length === 0) {
      response.status(404).json(noSuchChat);
      return;
    }
    response.json(
      items.map(({ message }) => ({
        id: message.id,
        role: message.getType(),
        text: message.text,
        stopped: (message.response_metadata as { interrupted?: boolean }).interrupted === true,
      })),
    );
  });

  // A question, and its retry: the same id and text again. The answer goes on when this request has ended.
  app.post("/chats/:id/messages", async (request, response) => {
    const { id } = request.params;
    const owner = ownerOf(request);
    const { messageId, text } = Object(request.body) as Record<string, unknown>;
    if (typeof messageId !== "string" || typeof text !== "string" || text.trim() === "") {
      response.status(400).json({ error: "incomplete" });
      return;
    }
    const title = [...text].slice(0, 60).join(""); // whole characters
    const session = sessionConfig({ sessionId: id, owner, title });
    await runs.start(id, { turnId: messageId, owner, whileRunning: "queue" }, (signal) =>
      chat.stream([new HumanMessage({ id: messageId, content: text })], { ...session, signal }),
    );
    response.status(202).end();
  });

  // The answer of a question as server-sent events, on any instance: from its beginning, or after the last event.
  app.get("/chats/:id/answers/:messageId", (request, response) => {
    const { id, messageId } = request.params;
    const after = request.get("last-event-id") ?? null;
    const left = new AbortController();
    response.on("close", () => left.abort()); // ends the reader, never the run
    const events = runs.join(id, { turnId: messageId, owner: ownerOf(request), after }).toSSE({ signal: left.signal });
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store, no-transform" });
    Readable.fromWeb(events as never)
      .on("error", () => response.destroy())
      .pipe(response);
  });

  app.post("/chats/:id/stop", async (request, response) => {
    const [{ id }, owner] = [request.params, ownerOf(request)];
    const stopped = await runs.stop(id, { owner });
    const isThere = stopped || (await memory.sessions.get(id, { owner })) !== undefined;
    response.status(isThere ? 200 : 404).json(isThere ? { stopped } : noSuchChat);
  });

  app.delete("/chats/:id", async (request, response) => {
    const [{ id }, owner] = [request.params, ownerOf(request)];
    await runs.stop(id, { owner });
    const existed = await memory.sessions.delete(id, { owner });
    response.status(existed ? 204 : 404).json(noSuchChat);
  });

  return app.use(refuse);
}

/** Other sites' pages send the user's cookies; they cannot send JSON, and newer browsers say whence they come. */
const refuseOtherSites: RequestHandler = (request, response, next) => {
  if (request.get("sec-fetch-site") === "cross-site") {
    response.status(403).json({ error: "cross_site" });
  } else if (request.method === "POST" && request.is("json") === false) {
    response.status(415).json({ error: "no_json" });
  } else {
    next();
  }
};

/** A status for each refusal. */
const refuse: ErrorRequestHandler = (error: unknown, _request, response, next) => {
  const status = httpStatusOf(error);
  if (response.headersSent || status === 500) {
    return next(error); // Express answers: 400 and 413 for bodies that its parser refuses, else 500
  }
  if (status === 503) {
    response.set("retry-after", "1"); // Redis is away: the same request may succeed later
  }
  const code = MemoryError.isInstance(error) ? error.code : "failed";
  response.status(status).json(status === 404 ? noSuchChat : { error: code });
};
