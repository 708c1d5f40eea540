// Three instances of a chat page behind a server that gives each request to the next one. `npx tsx
// examples/17-several-instances.ts --serve` keeps it open for a browser; without --serve, this program asks by itself.
import { randomUUID } from "node:crypto";
import { createServer, request as forward } from "node:http";
import type { AddressInfo } from "node:net";
import { RedisChatMemory } from "langchain-redis-memory";
import { startChatPage } from "./support/chat-page.js";
import { chatModel, connection } from "./support/setting.js";

const shared = connection();
// In production each is a process of its own; here each has its own memory and connection.
const memories = [1, 2, 3].map(() => new RedisChatMemory({ ...shared, sessionTTL: 3_600 }));
const model = chatModel(["Try 'Dubliners'.", "Fifteen.", "James Joyce.", "In 1914."]);
const instances = await Promise.all(memories.map((memory) => startChatPage(model, memory)));

let requests = 0;
const balancer = createServer((incoming, outgoing) => {
  const next = requests++ % instances.length;
  const { port } = instances[next]!.address() as AddressInfo;
  const options = { port, path: incoming.url, method: incoming.method, headers: incoming.headers };
  const onward = forward(options, (answer) => {
    outgoing.writeHead(answer.statusCode ?? 502, { ...answer.headers, "x-instance": String(next + 1) });
    answer.pipe(outgoing);
  });
  onward.on("error", () => outgoing.destroy());
  outgoing.on("close", () => onward.destroy()); // Stop reaches the instance
  incoming.pipe(onward);
});
await new Promise<void>((resolve) => balancer.listen(Number(process.env["PORT"] ?? 0), "127.0.0.1", resolve));
const url = `http://127.0.0.1:${(balancer.address() as AddressInfo).port}`;

if (process.argv.includes("--serve")) {
  console.log(`Open ${url} in a browser; Ctrl-C ends the servers.`);
} else {
  await ask();
  [balancer, ...instances].forEach((server) => (server.close(), server.closeAllConnections()));
  await Promise.all(memories.map((memory) => memory.close()));
}

async function ask(): Promise<void> {
  const cookie = (await fetch(url)).headers.get("set-cookie")!.split(";")[0]!;
  const headers = { cookie, "content-type": "application/json" };
  const turn = async (turnId: string, text: string) => {
    const body = JSON.stringify({ turnId, text });
    const answer = await fetch(`${url}/chat`, { method: "POST", headers, body });
    console.log(`instance ${answer.headers.get("x-instance")}  ${text} ${await answer.text()}`);
  };
  const last = randomUUID();
  await turn(randomUUID(), "A book about Dublin?");
  await turn(randomUUID(), "How many stories has it?");
  await turn(last, "Who wrote it?");
  await turn(last, "Who wrote it?"); // sent again: the next instance gives the stored answer
  const messages = (await (await fetch(`${url}/history`, { headers })).json()) as unknown[];
  console.log(`stored: ${messages.length} messages`);
}
