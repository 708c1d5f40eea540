// A chat page with Stop and Retry. `npx tsx examples/11-chat-page.ts --serve` keeps it open for a browser; without
// --serve, this program presses the buttons itself.
import { randomUUID } from "node:crypto";
import type { AddressInfo } from "node:net";
import { ChatOpenAI } from "@langchain/openai";
import { RedisChatMemory } from "langchain-redis-memory";
import { startOpenAIServer } from "langchain-redis-memory/testing";
import { startChatPage } from "./support/chat-page.js";
import { connection } from "./support/setting.js";

// A model server of this process, unless there is a key for the real one.
const answers = ["Try 'Dubliners'.", "It has fifteen stories. ".repeat(20), "It has fifteen stories."];
const local = await startOpenAIServer({
  reply: (_, count) => ({ content: answers[(count - 1) % answers.length]!, chunkDelayMs: 20 }),
});
const key = process.env["OPENAI_API_KEY"];
const model =
  key === undefined
    ? new ChatOpenAI({ apiKey: "none", model: "local", configuration: { baseURL: local.url } })
    : new ChatOpenAI({ model: process.env["OPENAI_MODEL"] ?? "gpt-4o-mini" });

const memory = new RedisChatMemory({ ...connection(), sessionTTL: 86_400 });
const server = await startChatPage(model, memory, Number(process.env["PORT"] ?? 0));
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

if (process.argv.includes("--serve")) {
  console.log(`Open ${url} in a browser; Ctrl-C ends the server.`);
} else {
  await pressButtons();
  server.close();
  server.closeAllConnections();
  await memory.close();
  await local.close();
}

async function pressButtons(): Promise<void> {
  const cookie = (await fetch(url)).headers.get("set-cookie")!.split(";")[0]!;
  const headers = { cookie, "content-type": "application/json" };
  const send = (turnId: string, text: string, signal?: AbortSignal) =>
    fetch(`${url}/chat`, {
      method: "POST",
      headers,
      body: JSON.stringify({ turnId, text }),
      ...(signal && { signal }),
    });
  const read = async () => (await (await fetch(`${url}/history`, { headers })).json()) as Record<string, unknown>[];
  const show = async (title: string) => {
    const said = (await read()).map(({ role, content, interrupted }) => {
      return `  ${String(role)}: ${String(content).slice(0, 30)}${interrupted === true ? "… (stopped)" : ""}`;
    });
    console.log([title, ...said].join("\n"));
  };

  const first = randomUUID();
  await (await send(first, "A book about Dublin?")).text();
  await show("after a question:");

  const again = await (await send(first, "A book about Dublin?")).text();
  console.log(`retry of an answered turn: ${again} (requests to the model: ${local.requests.length})`);

  const second = randomUUID();
  const reader = new AbortController();
  const stream = (await send(second, "Tell me about it.", reader.signal)).body!.getReader();
  await stream.read();
  reader.abort();
  await stream.closed.catch(() => undefined);
  while ((await read()).length < 4) {
    await new Promise((resolve) => setTimeout(resolve, 20)); // until what was said so far is stored
  }
  await show("after Stop:");

  await (await send(second, "Tell me about it.")).text();
  await show("after Retry:");
}
