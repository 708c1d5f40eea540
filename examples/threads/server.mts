import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { Command, MessagesAnnotation, START, StateGraph, interrupt } from "@langchain/langgraph";
import { httpStatusOf } from "langchain-redis-memory";
import { RedisSaver } from "langchain-redis-memory/checkpoint";

const checkpointer = RedisSaver.fromUrl(process.env["REDIS_URL"] ?? "redis://localhost:6379", {
  threadTTL: 30 * 24 * 3600, // a thread that nobody answers expires
  keep: 20,
});
const ai = (content: string) => ({ messages: [{ role: "ai", content }] });
const graph = new StateGraph(MessagesAnnotation)
  .addNode("plan", ({ messages }) => ai(`My plan: ${messages.at(-1)!.text}`)) // your model's place
  .addNode("approve", () => ({ messages: [{ role: "human", content: String(interrupt("Shall I?")) }] }))
  .addNode("act", ({ messages }) => ai(messages.at(-1)!.text === "yes" ? "Done." : "I left it."))
  .addEdge(START, "plan")
  .addEdge("plan", "approve")
  .addEdge("approve", "act")
  .compile({ checkpointer });

type Thread = { configurable: { thread_id: string } };

/** The messages of a thread, and the questions that wait for a human. */
async function shown(thread: Thread) {
  const { values, tasks } = await graph.getState(thread);
  const messages = ((values.messages ?? []) as { type: string; text: string }[]).map(({ type, text }) => ({
    type,
    text,
  }));
  return { messages, questions: tasks.flatMap(({ interrupts }) => interrupts.map(({ id, value }) => ({ id, value }))) };
}

async function reply(request: IncomingMessage): Promise<{ status: number; body?: object }> {
  const [, id, answers] = /^\/threads\/([\w-]+)(\/answers)?$/.exec(request.url ?? "") ?? [];
  if (id === undefined) {
    return { status: 404 };
  }
  const { "sec-fetch-site": site, "content-type": type } = request.headers;
  if (site === "cross-site") {
    return { status: 403 }; // a page of another site, with the user's cookies
  }
  const thread = { configurable: { thread_id: id } };
  if (request.method === "POST") {
    if (!type?.startsWith("application/json")) {
      return { status: 415 }; // a form of another site's page can send any other type
    }
    const body = await bodyOf(request);
    const text = body?.[answers === undefined ? "text" : "answer"];
    if (typeof text !== "string" || text.trim() === "") {
      return { status: body === undefined ? 413 : 400 }; // once stored, it would break the thread for good
    }
    const { questions } = await shown(thread);
    const question = answers && questions.find(({ id }) => id === body?.["question"])?.id;
    if (answers === undefined ? questions.length > 0 : question === undefined) {
      return { status: 409, body: { questions } }; // a late answer, or a question that has to be answered first
    }
    const input = { messages: [{ role: "human", content: text }] };
    await graph.invoke(question === undefined ? input : new Command({ resume: { [question]: text } }), thread);
  }
  return { status: 200, body: await shown(thread) };
}

/** The fields of a body, none if it is no JSON; undefined if it is too large. */
async function bodyOf(request: IncomingMessage): Promise<Record<string, unknown> | undefined> {
  let text = "";
  for await (const piece of request.setEncoding("utf8").iterator({ destroyOnReturn: false })) {
    text += piece;
    if (text.length > 100_000) {
      return undefined;
    }
  }
  try {
    return Object(JSON.parse(text)) as Record<string, unknown>;
  } catch {
    return {};
  }
}

const server = createServer((request, response) => {
  reply(request)
    .catch((error: unknown) => {
      console.error(error);
      return { status: httpStatusOf(error), body: {} };
    })
    .then(({ status, body }) => {
      request.resume(); // drops what was not read of a body
      const headers = { "content-type": "application/json", ...(status === 503 && { "retry-after": "1" }) };
      response.writeHead(status, headers).end(JSON.stringify(body ?? {}));
    });
});
server.listen(Number(process.env["PORT"] ?? 3000), () => {
  console.log(`http://localhost:${(server.address() as AddressInfo).port}`);
});
process.once("SIGTERM", () => {
  server.close(() => void checkpointer.close());
});
