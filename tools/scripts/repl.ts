// A prompt with everything that the package exports, on a private Redis server that ends with it: `server`, `client`,
// `memory`, and `history`, a recorded conversation in the session "sample".
import { start } from "node:repl";
import { fileURLToPath } from "node:url";
import { Redis } from "ioredis";
import { startRedis } from "../testkit/servers/redis-server.js";
import { readConversations } from "../../examples/demo/conversations.js";
import * as agent from "../../src/entries/agent.js";
import * as entry from "../../src/entries/index.js";
import * as testing from "../../testing/index.js";

const file = fileURLToPath(new URL("../../examples/data/recorded-conversations.jsonl", import.meta.url));
const [sample] = readConversations(file);

const server = await startRedis();
const client = new Redis(server.url);
const memory = new entry.RedisChatMemory({ client, reducer: new entry.ChatHistoryTokenReducer({ maxTokens: 2_000 }) });
const history = memory.history("sample", { owner: "ann", title: "A sample" });
for (const { input, output } of sample!.turns) {
  await history.addMessages([...input, ...output]);
}

process.stdout.write(
  `Redis on ${server.url}. Try: await history.stats(), (await history.getMessages()).length,\n` +
    `await client.keys("*"), await memory.sessions.list({ owner: "ann" }). Ctrl-D ends all.\n`,
);
const prompt = start({ prompt: "memory> " });
Object.assign(prompt.context, { ...testing, ...agent, ...entry, server, client, memory, history });
prompt.once("exit", () => {
  void (async () => {
    await memory.close();
    client.disconnect();
    await server.stop();
  })();
});
