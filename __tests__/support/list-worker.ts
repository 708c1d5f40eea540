/**
 * A process that begins one session after the other for an owner, for tests, and says the id of each whose first write
 * was acknowledged, one a line.
 */
import { HumanMessage } from "@langchain/core/messages";
import { RedisChatMemory } from "langchain-redis-memory";

const [url, keyPrefix, name] = process.argv.slice(2) as [string, string, string];
const memory = new RedisChatMemory({ url, redis: { keyPrefix } });
const lane = async (number: number): Promise<void> => {
  for (let index = 0; ; index += 1) {
    const session = `${name}-${number}-${index}`;
    await memory.history(session, { owner: "ann" }).addMessages([new HumanMessage("q")]);
    process.stdout.write(`${session}\n`);
  }
};
await Promise.all([1, 2, 3, 4].map(lane));
