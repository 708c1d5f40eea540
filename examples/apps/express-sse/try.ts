// Two instances, a browser that loses its connection, Retry, and Stop, with a model on this machine.
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { ChatOpenAI } from "@langchain/openai";
import { RedisChatMemory } from "langchain-redis-memory";
import { startOpenAIServer } from "langchain-redis-memory/testing";
import { createApp } from "./app.js";

const count = (words: number) => Array.from({ length: words }, (_, index) => `${index + 1}`).join(" ");
const provider = await startOpenAIServer({
  reply: ({ messages }) => ({
    content: JSON.stringify(messages).includes("Count for long.") ? count(2_000) : count(40),
    chunkDelayMs: 10,
  }),
});
const model = new ChatOpenAI({
  model: "gpt-4o-mini",
  apiKey: "none",
  streaming: true,
  configuration: { baseURL: provider.url },
});
const memories: RedisChatMemory[] = [];
const servers: Server[] = [];

async function startInstance(): Promise<string> {
  const memory = new RedisChatMemory({ url: process.env["REDIS_URL"] ?? "redis://localhost:6379", sessionTTL: 600 });
  const server = createApp(memory, model).listen(0, "127.0.0.1");
  memories.push(memory);
  servers.push(server);
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/chats/${chat}`;
}

const send = (url: string, body: object = {}) =>
  fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });

/** Reads an answer as a browser does; leaves after so many characters. */
async function read(url: string, { after, leaveAt = Infinity }: { after?: string; leaveAt?: number } = {}) {
  const [left, seen] = [new AbortController(), { text: "", last: "", end: "" }];
  const headers: Record<string, string> = after === undefined ? {} : { "last-event-id": after };
  const { body } = await fetch(url, { headers, signal: left.signal });
  let rest = "";
  for await (const part of body!.pipeThrough(new TextDecoderStream())) {
    const events = (rest + part).split("\n\n");
    rest = events.pop()!;
    for (const event of events) {
      const field = (name: string) => new RegExp(`^${name}: (.*)$`, "m").exec(event)?.[1];
      const data = JSON.parse(field("data") ?? "null") as string & { state?: string };
      if (field("event") === "end") {
        return { ...seen, end: data.state! };
      }
      [seen.text, seen.last] = [seen.text + data, field("id") ?? seen.last];
      if (seen.text.length >= leaveAt) {
        left.abort();
        return seen;
      }
    }
  }
  return seen;
}

const chat = randomUUID();
const [one, two] = [await startInstance(), await startInstance()];

const question = { messageId: "q1", text: "Count to forty." };
console.log(`Asked on the first instance: ${(await send(`${one}/messages`, question)).status}`);
const begun = await read(`${one}/answers/q1`, { leaveAt: 20 });
const rest = await read(`${two}/answers/q1`, { after: begun.last });
console.log(`Read there, cut off, read on from the second: ${begun.text + rest.text === count(40)}, ${rest.end}`);

await send(`${two}/messages`, question);
console.log(`Asked again on the second: ${provider.requests.length} call of the model`);

await send(`${one}/messages`, { messageId: "q2", text: "Count for long." });
await read(`${one}/answers/q2`, { leaveAt: 20 });
const stop = await send(`${two}/stop`);
console.log(`Stopped on the second: ${await stop.text()}, ${(await read(`${one}/answers/q2`)).end}`);

const form = { method: "POST", headers: { "content-type": "text/plain" }, body: "{}" };
const page = { ...form, headers: { "content-type": "application/json", "sec-fetch-site": "cross-site" } };
const refused = await Promise.all([form, page].map(async (sent) => (await fetch(`${one}/messages`, sent)).status));
console.log(`A form and a page of another site: ${refused.join(", ")}`);

const shown = (await (await fetch(two)).json()) as { role: string; stopped: boolean }[];
console.log(`Stored: ${shown.map(({ role, stopped }) => (stopped ? `${role} (stopped)` : role)).join(", ")}`);

await fetch(one, { method: "DELETE" });
servers.forEach((server) => (server.closeAllConnections(), server.close()));
await Promise.all([...memories.map((memory) => memory.close()), provider.close()]);
