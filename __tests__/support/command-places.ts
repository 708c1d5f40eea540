import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { runCommand, type CommandSetting } from "./built-command.js";
import { hostedCommands, type HostedSetting } from "./hosted-commands.js";
import { sharedRedisUrl } from "./shared-redis.js";
import { testKey } from "./test-keys.js";

/** A key, and the environment in which commands have it. */
export const commandKey = testKey("k1");
export const withCommandKey = {
  env: { LANGCHAIN_REDIS_MEMORY_KEYS: `k1:${Buffer.from(commandKey.key).toString("base64")}` },
};

/**
 * What the tests of one file need to run commands: a client, a folder for files, and places of their own. Closed and
 * removed behind them.
 */
export function commandPlaces(name: string) {
  const client = new Redis(sharedRedisUrl());
  const folder = mkdtempSync(join(tmpdir(), `lcmem-${name}-`));
  const run = hostedCommands();
  let count = 0;

  afterAll(async () => {
    rmSync(folder, { recursive: true, force: true });
    await client.quit();
  });

  /** A key prefix of a test's own, a memory on it, and commands on it. */
  function place() {
    count += 1;
    const keyPrefix = `cli-${name}-${process.pid}-${count}`;
    const command = (args: readonly string[], setting: CommandSetting & HostedSetting = {}) =>
      // A process of its own only for what reads standard input.
      (setting.input === undefined ? run : runCommand)(
        [...args, "--url", sharedRedisUrl(), "--prefix", keyPrefix],
        setting,
      );
    return { keyPrefix, memory: new RedisChatMemory({ client, redis: { keyPrefix } }), command };
  }

  function file(text: string, fileName = `${(count += 1)}.jsonl`): string {
    const path = join(folder, fileName);
    writeFileSync(path, text);
    return path;
  }

  return { client, place, file };
}
