import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import type { MemoryFigures } from "../../cli/session-memory.js";
import { jsonLines } from "../support/built-command.js";
import { hostedCommands } from "../support/hosted-commands.js";
import { human } from "../support/messages.js";
import { sharedClient, sharedRedisUrl } from "../support/shared-redis.js";

const client = sharedClient();
const run = hostedCommands();
const prefix = `cli-memory-${process.pid}`;
let truth = 0;

/** Most sessions are short, and few are long. */
beforeAll(async () => {
  const memory = new RedisChatMemory({ client, redis: { keyPrefix: prefix } });
  const write = (index: number, messages: number, size: number) =>
    memory
      .history(`s${index}`, { owner: `owner${index % 7}` })
      .addMessages(Array.from({ length: messages }, (_, one) => human(`${one} ${"x".repeat(size)}`)));
  await Promise.all(Array.from({ length: 300 }, (_, index) => write(index, 1 + (index % 5), 40 + (index % 3) * 300)));
  await Promise.all(Array.from({ length: 10 }, (_, index) => write(300 + index, 200, 400)));
  await memory.drain();
  await memory.sessions.reindex();
  truth = await bytesOfAllKeys();
});

async function bytesOfAllKeys(): Promise<number> {
  const keys = await client.keys(`${prefix}:*`);
  const sizes = await Promise.all(keys.map((key) => client.memory("USAGE", key, "SAMPLES", 0)));
  return sizes.reduce<number>((sum, size) => sum + Number(size), 0);
}

async function measured(...args: readonly string[]): Promise<MemoryFigures> {
  const { output } = await run(["stats", "--json", "--url", sharedRedisUrl(), "--prefix", prefix, ...args]);
  return (jsonLines(output)[0] as { memory: MemoryFigures }).memory;
}

describe("The memory that stats says, of sessions whose sizes differ much", () => {
  it("is the truth within 2 % where all are measured", async () => {
    const { sampled, total, low, high } = await measured();
    expect(sampled).toBe(310);
    expect([low, high]).toEqual([total, total]);
    expect(Math.abs(total / truth - 1)).toBeLessThan(0.02);
  });

  it("is a range that holds the truth where a sample is measured", async () => {
    const { sampled, total, low, high } = await measured("--sample", "80");
    expect(sampled).toBe(80);
    expect(low).toBeLessThan(truth);
    expect(high).toBeGreaterThan(truth);
    expect([low < total, total < high, high / low < 1.5]).toEqual([true, true, true]);
    const { output } = await run(["stats", "--sample", "80", "--url", sharedRedisUrl(), "--prefix", prefix]);
    expect(output).toMatch(/^ {11}\S+ [kM]B to \S+ [kM]B, as 80 of 310 sessions say$/m);
  });

  it("is measured whole where few messages are as large as all the others", async () => {
    const memory = new RedisChatMemory({ client, redis: { keyPrefix: prefix } });
    for (let written = 0; written < truth; written += 900_000) {
      await memory.history("s7", { owner: "owner0" }).addMessages([human("x".repeat(900_000))]);
    }
    await memory.drain();
    expect(Math.abs((await measured()).total / (await bytesOfAllKeys()) - 1)).toBeLessThan(0.02);
  });
});
