import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { Command, MessagesAnnotation, START, StateGraph, interrupt } from "@langchain/langgraph";
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
  const [, id, answers] = /^\/threads\/([^/]+)(\/answers)?$/.exec(request.url ?? "") ?? [];
  if (id === undefined) {
    return { status: 404 };
  }
  const thread = { configurable: { thread_id: decodeURIComponent(id) } };
  if (request.method === "POST") {
    const body = JSON.parse(Buffer.concat(await request.toArray()).toString()) as Record<string, string>;
    const { questions } = await shown(thread);
    const fits = answers === undefined ? questions.length === 0 : questions.some((one) => one.id === body["question"]);
    if (!fits) {
      return { status: 409, body: { questions } }; // a late answer, or a question that has to be answered first
    }
    if (answers === undefined) {
      await graph.invoke({ messages: [{ role: "human", content: body["text"]! }] }, thread);
    } else {
      await graph.invoke(new Command({ resume: { [body["question"]!]: body["answer"] } }), thread);
    }
  }
  return { status: 200, body: await shown(thread) };
}

const server = createServer((request, response) => {
  reply(request)
    .catch((error: unknown) => {
      console.error(error);
      return { status: 500, body: {} };
    })
    .then(({ status, body }) => {
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body ?? {}));
    });
});
server.listen(Number(process.env["PORT"] ?? 3000), () => {
  console.log(`http://localhost:${(server.address() as AddressInfo).port}`);
});
process.once("SIGTERM", () => {
  server.close(() => void checkpointer.close());
});
