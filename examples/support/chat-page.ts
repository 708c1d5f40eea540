// A server with a chat page: one session per browser, Stop and Retry.
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { StringOutputParser } from "@langchain/core/output_parsers";
import { ChatPromptTemplate, MessagesPlaceholder } from "@langchain/core/prompts";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { httpStatusOf, withRedisMemory, type RedisChatMemory } from "langchain-redis-memory";

const page = readFileSync(new URL("chat-page.html", import.meta.url));

/** Starts the server on a free port of this machine, or on `port`. */
export async function startChatPage(model: BaseChatModel, memory: RedisChatMemory, port = 0): Promise<Server> {
  const prompt = ChatPromptTemplate.fromMessages([
    ["system", "You are a librarian."],
    new MessagesPlaceholder("history"),
    ["human", "{input}"],
  ]);
  const chat = withRedisMemory(prompt.pipe(model).pipe(new StringOutputParser()), {
    memory,
    inputMessagesKey: "input",
    historyMessagesKey: "history",
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { turnId, text } = await bodyOf(request);
    const stopped = new AbortController();
    // The browser closes the connection when the reader presses Stop or leaves the page.
    response.on("close", () => stopped.abort());
    const configurable = { sessionId: sessionOf(request, response), turnId };
    const parts = await chat.stream({ input: text }, { configurable, signal: stopped.signal });
    response.writeHead(200, { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" });
    await pipeline(Readable.from(parts), response);
  }

  async function history(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const messages = await memory.history(sessionOf(request, response)).getTranscript();
    const shown = messages.map((message) => ({
      role: message.getType(),
      content: message.text,
      interrupted: (message.response_metadata as Record<string, unknown>)["interrupted"] === true,
    }));
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(shown));
  }

  const server = createServer((request, response) => {
    const failed = (error: unknown) => {
      if (!response.headersSent) {
        const status = error instanceof SyntaxError ? 400 : httpStatusOf(error); // 400: a body that is no JSON
        response.writeHead(status, { "content-type": "text/plain" }).end(error instanceof Error ? error.name : "Error");
      }
      response.destroy();
    };
    const { "sec-fetch-site": site, "content-type": type } = request.headers;
    const isPost = request.method === "POST" && request.url === "/chat";
    if (isPost && (site === "cross-site" || !type?.startsWith("application/json"))) {
      request.resume();
      response.writeHead(site === "cross-site" ? 403 : 415).end(); // a page of another site, or its form
    } else if (isPost) {
      answer(request, response).catch(failed);
    } else if (request.url === "/history") {
      history(request, response).catch(failed);
    } else {
      sessionOf(request, response);
      response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(page);
    }
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return server;
}

/** The session of a browser, which knows it by a cookie that no script can read. */
function sessionOf(request: IncomingMessage, response: ServerResponse): string {
  const known = /(?:^|; )session=([\w-]{36})/.exec(request.headers.cookie ?? "")?.[1];
  const session = known ?? randomUUID();
  if (known === undefined) {
    response.setHeader("set-cookie", `session=${session}; HttpOnly; SameSite=Strict; Path=/`);
  }
  return session;
}

async function bodyOf(request: IncomingMessage): Promise<{ turnId: string; text: string }> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) {
    chunks.push(chunk as Buffer);
  }
  return JSON.parse(Buffer.concat(chunks).toString("utf8")) as { turnId: string; text: string };
}
