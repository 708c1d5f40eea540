import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { sessionKeys } from "../../src/store/redis/keys.js";
import { runCommand } from "../support/built-command.js";
import { ai, human } from "../support/messages.js";
import { sharedClient, sharedRedisUrl } from "../support/shared-redis.js";

const client = sharedClient();
const keyPrefix = `cli-listed-${process.pid}`;

/** So many sessions, each a copy of one. */
async function copySessions(count: number): Promise<void> {
  const memory = new RedisChatMemory({ client, redis: { keyPrefix } });
  await memory.history("0", { owner: "ann", title: "A title of the usual length" }).addMessages([human("?"), ai("!")]);
  await memory.drain();
  const dumps = await Promise.all(Object.values(sessionKeys(keyPrefix, "0")).map((key) => client.dumpBuffer(key)));
  for (let from = 1; from < count; from += 1_000) {
    const pipeline = client.pipeline();
    for (let number = from; number < Math.min(count, from + 1_000); number += 1) {
      const keys = Object.values(sessionKeys(keyPrefix, `a-session-with-a-long-name-${number}`));
      keys.forEach((key, index) => dumps[index] && pipeline.restore(key, 0, dumps[index]));
    }
    await pipeline.exec();
  }
}

beforeAll(() => copySessions(20_000));

it.each([
  ["as JSON", ["--json"]],
  ["as a table", []],
])("sessions lists 20,000 sessions %s within 300 MB", async (_, format) => {
  const report = "process.on('exit', () => console.error(process.resourceUsage().maxRSS))";
  const { output, errors } = await runCommand(
    ["sessions", ...format, "--limit", "20000", "--url", sharedRedisUrl(), "--prefix", keyPrefix],
    { env: { NODE_OPTIONS: `--import="data:text/javascript,${encodeURIComponent(report)}"` } },
  );
  expect(output.trimEnd().split("\n")).toHaveLength(20_000 + (format.length > 0 ? 0 : 3));
  expect(Number(errors) / 1_000).toBeGreaterThan(30);
  expect(Number(errors) / 1_000).toBeLessThan(300);
});
