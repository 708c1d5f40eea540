/** A process that plays a run of each session, and says when it is told to stop. Its end is a kill. */
import { setTimeout as delay } from "node:timers/promises";
import { RunnableLambda } from "@langchain/core/runnables";
import { RedisChatMemory, sessionConfig, withRedisMemory } from "langchain-redis-memory";
import { redisRuns } from "langchain-redis-memory/runs";

const [url, sessions] = process.argv.slice(2) as [string, string];
const memory = new RedisChatMemory({ url });
const runs = redisRuns(memory);
const turnId = "t";
const model = RunnableLambda.from(async function* () {
  for (let index = 0; ; index += 1) {
    yield `${index} `;
    await delay(10);
  }
});
// Holds its session, as by default.
const chat = withRedisMemory(model, { memory });

async function play(sessionId: string): Promise<void> {
  await runs.start(sessionId, { turnId }, (signal) => {
    signal.addEventListener("abort", () => process.send!(performance.timeOrigin + performance.now()));
    return chat.stream("Go on.", { ...sessionConfig({ sessionId, turnId }), signal });
  });
}

await Promise.all((JSON.parse(sessions) as string[]).map(play));
process.send!("playing");
