/**
 * A process of an application, for tests: on a line on its input it writes a turn to the session, and ends when its
 * reductions are done.
 */
import { once } from "node:events";
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { ChatOpenAI } from "@langchain/openai";
import { ChatHistorySummarizationReducer, RedisChatMemory } from "langchain-redis-memory";

const [name, url, keyPrefix, baseURL] = process.argv.slice(2) as [string, string, string, string];
const model = new ChatOpenAI({ apiKey: "none", model: "gpt-4o-mini", configuration: { baseURL }, maxRetries: 0 });
const reducer = new ChatHistorySummarizationReducer({ model, targetCount: 8, thresholdCount: 4, timeout: 60_000 });
const memory = new RedisChatMemory({ url, redis: { keyPrefix }, reducer });
const history = memory.history("shared");
await history.getMessages();
process.stdout.write("ready\n");
await once(process.stdin, "data");
const turn = [
  new HumanMessage({ content: `question of ${name}`, id: `q-${name}` }),
  new AIMessage({ content: `answer of ${name}`, id: `a-${name}` }),
];
await history.addMessages(turn);
await memory.close();
process.stdout.write("done\n");
process.stdin.destroy();
