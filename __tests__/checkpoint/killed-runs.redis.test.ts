import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { BaseMessage } from "@langchain/core/messages";
import { RedisSaver } from "../../src/checkpoint/redis-saver.js";
import { buildPrograms, type BuiltPrograms } from "../support/built-programs.js";
import { propertyRuns } from "../support/property-runs.js";
import { sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";
import { all } from "./compared-saver.js";

jest.setTimeout(600_000);

const source = "__tests__/support/thread-worker.ts";
const root = join(__dirname, "../..");
const threads = 25;

describe("A process that is killed while it runs threads", () => {
  let programs: BuiltPrograms;
  beforeAll(async () => {
    programs = await buildPrograms([source], { withPackages: true });
  });
  afterAll(() => programs.remove());

  /** Kills the process after it has said so many turns; returns how many turns of each thread it said. */
  async function turnsUntilKilled(keyPrefix: string, durability: string, least: number): Promise<Map<string, number>> {
    const args = [programs.pathOf(source), sharedRedisUrl(), keyPrefix, String(threads), durability];
    const worker = spawn(process.execPath, args, { cwd: root, stdio: ["ignore", "pipe", "inherit"] });
    const turns = new Map<string, number>();
    let said = 0;
    const lines = createInterface({ input: worker.stdout });
    lines.on("line", (line) => {
      // The last line may be torn.
      const [, thread, turn] = /^(thread-\d+) (\d+)$/.exec(line) ?? [];
      if (thread !== undefined) {
        turns.set(thread, Number(turn) + 1);
      }
      said += 1;
      if (said === least) {
        worker.kill("SIGKILL");
      }
    });
    await Promise.all([once(worker, "exit"), once(lines, "close")]);
    return turns;
  }

  it.each([
    ["sync", 31],
    ["async", 38],
  ])("leaves every checkpoint readable and every thread resumable (%s)", async (durability, least) => {
    const keyPrefix = uniquePrefix();
    const saver = RedisSaver.fromUrl(sharedRedisUrl(), { keyPrefix });
    try {
      for (let kill = 0; kill < propertyRuns(1); kill += 1) {
        // Between turns and within them: the number of turns said says nothing of where the other threads stand.
        const turns = await turnsUntilKilled(keyPrefix, durability, least + 7 * kill);
        for (let index = 0; index < threads; index += 1) {
          const config = { configurable: { thread_id: `thread-${index}` } };
          const tuples = await all(saver.list(config));
          for (const tuple of tuples) {
            expect((await saver.getTuple(tuple.config))?.checkpoint).toEqual(tuple.checkpoint);
          }
          const messages = (tuples[0]?.checkpoint.channel_values["messages"] ?? []) as BaseMessage[];
          expect(brokenTurns(messages)).toEqual([]);
          expect(questions(messages)).toBeGreaterThanOrEqual(turns.get(`thread-${index}`) ?? 0);
        }
      }
    } finally {
      await saver.close();
    }
  });
});

function questions(messages: readonly BaseMessage[]): number {
  return messages.filter((message) => message.type === "human").length;
}

const wholeTurn = ["question", "plan", "search", "search", "answer"];

/** Turns that lack a message or have one twice; the last one may still be under way. */
function brokenTurns(messages: readonly BaseMessage[]): string[] {
  const words = messages.map((message) => message.text.split(" ")[0]!);
  const broken: string[] = [];
  for (let at = 0; at < words.length; at += wholeTurn.length) {
    const turn = words.slice(at, at + wholeTurn.length);
    if (turn.join() !== wholeTurn.slice(0, turn.length).join()) {
      broken.push(`${at}: ${turn.join(" ")}`);
    }
  }
  return broken;
}
