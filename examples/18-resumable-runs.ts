// Answers that survive a reload, on three instances: a reload in mid-answer, a second tab, another chat meanwhile, Stop
// as a POST on another instance, and a message for an agent at work. Needs Redis (REDIS_URL).
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { SimpleChatModel } from "@langchain/core/language_models/chat_models";
import type { BaseMessage } from "@langchain/core/messages";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import { createAgent } from "langchain";
import { httpStatusOf, RedisChatMemory, sessionConfig, withRedisMemory } from "langchain-redis-memory";
import { redisMemoryMiddleware, steeringMiddleware } from "langchain-redis-memory/agent";
import { redisRuns } from "langchain-redis-memory/runs";

const url = process.env["REDIS_URL"] ?? "redis://127.0.0.1:6379";
const sayings = new FakeListChatModel({
  responses: ["Joyce wrote it in Trieste.", "And so on. ".repeat(4_000)],
  sleep: 3,
});

/** One instance of the application; in production a process of its own. */
function startInstance() {
  const memory = new RedisChatMemory({ url, sessionTTL: 600 });
  const runs = redisRuns(memory);
  const chat = withRedisMemory(sayings, { memory });
  const answer = async ({ method, url: path, headers }: IncomingMessage, response: ServerResponse) => {
    const { pathname, searchParams } = new URL(path!, "http://localhost");
    const [id, turnId] = [searchParams.get("id")!, searchParams.get("turn") ?? ""];
    if (method === "POST" && headers["sec-fetch-site"] === "cross-site") {
      response.writeHead(403).end(); // another site's page must neither ask nor stop in the name of a reader
    } else if (method === "POST" && pathname === "/stop") {
      response.end(JSON.stringify({ stopped: await runs.stop(id) }));
    } else if (method === "POST") {
      const session = sessionConfig({ sessionId: id, turnId });
      await runs.start(id, { turnId }, (signal) => chat.stream("Tell me.", { ...session, signal }));
      response.writeHead(202).end();
    } else {
      const run = runs.join(id, { after: headers["last-event-id"]?.toString() ?? null });
      const left = new AbortController();
      response.on("close", () => left.abort()); // ends the reader, never the run
      const events = run.toSSE({ signal: left.signal, encode: (chunk) => JSON.stringify((chunk as BaseMessage).text) });
      response.writeHead(200, { "content-type": "text/event-stream" });
      Readable.fromWeb(events as never)
        .on("error", () => response.destroy())
        .pipe(response);
    }
  };
  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => response.writeHead(httpStatusOf(error)).end());
  });
  return { memory, runs, server };
}

const instances = [startInstance(), startInstance(), startInstance()];
await Promise.all(instances.map(({ server }) => new Promise<void>((done) => server.listen(0, "127.0.0.1", done))));
const at = (number: number) => `http://127.0.0.1:${(instances[number]!.server.address() as AddressInfo).port}`;

/** Reads as an EventSource does: the text, the last id, and the end; leaves after so many events. */
async function follow(instance: number, id: string, { after = "", leaveAfter = Infinity } = {}) {
  const headers: Record<string, string> = after === "" ? {} : { "last-event-id": after };
  const response = await fetch(`${at(instance)}/?id=${id}`, { headers });
  const got = { text: "", after, end: "", events: 0 };
  let rest = "";
  for await (const bytes of response.body!.pipeThrough(new TextDecoderStream())) {
    const events = (rest + bytes).split("\n\n");
    rest = events.pop()!;
    for (const event of events) {
      const data = /^data: (.*)/m.exec(event)?.[1] ?? '""';
      if (event.startsWith("id: ") && got.events < leaveAfter) {
        got.after = event.slice(4, event.indexOf("\n"));
        got.text += JSON.parse(data) as string;
        got.events += 1;
      } else if (event.startsWith("event: end")) {
        got.end = (JSON.parse(data) as { state: string }).state;
      }
    }
    if (got.events >= leaveAfter) {
      break;
    }
  }
  return got;
}
const post = (instance: number, path: string) => fetch(`${at(instance)}${path}`, { method: "POST" });

const [first, second, third] = [randomUUID(), randomUUID(), randomUUID()];
await post(0, `/?id=${first}&turn=question-1`);
const [before, tab] = [await follow(1, first, { leaveAfter: 5 }), follow(0, first)];
const reloaded = await follow(2, first, { after: before.after });
console.log(`reloaded: ${before.text}|${reloaded.text} (${reloaded.end})`);
console.log(`second tab: ${(await tab).text}`);

await post(0, `/?id=${second}&turn=question-1`);
await follow(1, second, { leaveAfter: 3 });
await post(1, `/?id=${third}&turn=question-1`);
console.log(`another chat: ${(await follow(2, third)).text}`);
console.log(`the first goes on: ${(await instances[2]!.runs.active(second))?.state}`);
console.log(`Stop: ${await (await post(2, `/stop?id=${second}`)).text()}, ${(await follow(1, second)).end}`);

/** A model that thinks until it is told to go on. */
class PatientModel extends SimpleChatModel {
  goOn = () => {};
  readonly #told = new Promise<void>((resolve) => (this.goOn = resolve));

  override _llmType() {
    return "patient";
  }

  override bindTools() {
    return this;
  }

  override async _call(messages: BaseMessage[]) {
    await this.#told;
    return `You said: ${messages
      .filter((each) => each.getType() === "human")
      .map(({ text }) => text)
      .join(" ")}`;
  }
}

const [{ memory, runs }, other] = [instances[0]!, instances[1]!];
const model = new PatientModel({});
const agent = createAgent({
  model,
  tools: [],
  middleware: [redisMemoryMiddleware({ memory }), steeringMiddleware({ runs })],
});
const steered = `steered-${randomUUID()}`;
const turn = { turnId: "question-1" };
const starting = runs.start(steered, turn, (signal) =>
  agent.stream(
    { messages: [{ role: "user", content: "Find a flight." }] },
    { ...sessionConfig({ sessionId: steered, ...turn }), signal, streamMode: "messages" },
  ),
);
while ((await other.runs.steer(steered, { role: "user", content: "By train, please.", id: steered })) === "idle") {
  await new Promise((resolve) => setTimeout(resolve, 20)); // the agent has not begun
}
model.goOn();
for await (const item of await starting) {
  if ("state" in item) {
    console.log(`an agent that was told more: ${item.state}`);
  }
}
console.log((await other.memory.history(steered).getTranscript()).map(({ text }) => text).join("\n"));

instances.forEach(({ server }) => (server.close(), server.closeAllConnections()));
await Promise.all(instances.map((instance) => instance.memory.close()));
