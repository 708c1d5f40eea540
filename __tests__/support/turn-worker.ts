/**
 * A process that takes the turns of sessions, for tests: it says "held" when it has all of them, and on a line on its
 * input it writes to each and says what came of it, as JSON by session.
 */
import { once } from "node:events";
import { HumanMessage } from "@langchain/core/messages";
import { RedisChatMemory } from "langchain-redis-memory";

const [url, keyPrefix, holdMs, ...sessions] = process.argv.slice(2) as [string, string, string, ...string[]];
const memory = new RedisChatMemory({ url, redis: { keyPrefix } });
const expiring = new RedisChatMemory({ url, redis: { keyPrefix }, sessionTTL: 1 });
const go = once(process.stdin, "data");
const outcomes: Record<string, string> = {};
let held = 0;
const turns = sessions.map((session) => {
  const owner = session.startsWith("expired") ? expiring : memory;
  return owner.withTurn(
    session,
    async (history) => {
      held += 1;
      if (held === sessions.length) {
        process.stdout.write("held\n");
      }
      await go;
      outcomes[session] = await history.append([new HumanMessage("late")]).then(
        () => "written",
        (error: unknown) => String((error as { code?: unknown }).code),
      );
    },
    { holdMs: Number(holdMs) },
  );
});
await Promise.all(turns);
process.stdout.write(JSON.stringify(outcomes));
await Promise.all([memory.close(), expiring.close()]);
process.stdin.destroy();
