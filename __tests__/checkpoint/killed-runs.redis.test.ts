import { spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { BaseMessage } from "@langchain/core/messages";
import type { CheckpointTuple } from "@langchain/langgraph-checkpoint";
import { RedisSaver } from "../../src/langgraph/checkpoint/redis-saver.js";
import { buildPrograms, type BuiltPrograms } from "../support/built-programs.js";
import { propertyRuns } from "../support/property-runs.js";
import { sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";
import { all } from "../support/all.js";

/** How many processes are killed for each durability, one after the other. */
const kills = Number(process.env["THREAD_KILLS"] ?? propertyRuns(1));

jest.setTimeout(600_000 + 60_000 * kills);

const source = "__tests__/support/thread-worker.ts";
const root = join(__dirname, "../..");
const threads = 25;
/** Kills of the same threads; then new ones begin, because reading them takes longer with each. */
const killsOfThreads = 10;

describe("A process that is killed while it runs threads", () => {
  let programs: BuiltPrograms;
  beforeAll(async () => {
    programs = await buildPrograms([source], { withPackages: true });
  });
  afterAll(() => programs.remove());

  /** Starts a process that runs the first threads. */
  function start(keyPrefix: string, durability: string, lanes: number) {
    const args = [programs.pathOf(source), sharedRedisUrl(), keyPrefix, String(lanes), durability];
    const worker = spawn(process.execPath, args, { cwd: root, stdio: ["ignore", "pipe", "inherit"] });
    /** How many turns of each thread it said. */
    const turns = new Map<string, number>();
    const said = new EventEmitter();
    let count = 0;
    const lines = createInterface({ input: worker.stdout });
    lines.on("line", (line) => {
      // The last line may be torn.
      const [, thread, turn] = /^(thread-\d+) (\d+)$/.exec(line) ?? [];
      if (thread !== undefined) {
        turns.set(thread, Number(turn) + 1);
      }
      said.emit(String((count += 1)));
    });
    const ended = Promise.all([once(worker, "exit"), once(lines, "close")]);
    return {
      turns,
      /** Resolves when it has said so many turns, or has ended. */
      untilSaid: (least: number) => (count < least ? Promise.race([once(said, String(least)), ended]) : undefined),
      /** Kills it, and says how it ended. */
      kill: async () => {
        worker.kill("SIGKILL");
        const [[, signal]] = await ended;
        return signal as unknown;
      },
    };
  }

  /** Kills the process after it has said so many turns; returns how many turns of each thread it said. */
  async function turnsUntilKilled(keyPrefix: string, durability: string, least: number): Promise<Map<string, number>> {
    const worker = start(keyPrefix, durability, threads);
    await worker.untilSaid(least);
    expect(await worker.kill()).toBe("SIGKILL");
    return worker.turns;
  }

  it.each([
    ["sync", 31],
    ["async", 38],
  ])("leaves every checkpoint readable and every thread resumable (%s)", async (durability, least) => {
    for (let first = 0; first < kills; first += killsOfThreads) {
      const keyPrefix = uniquePrefix();
      const saver = RedisSaver.fromUrl(sharedRedisUrl(), { keyPrefix, commandTimeout: 120_000 });
      try {
        for (let kill = first; kill < Math.min(kills, first + killsOfThreads); kill += 1) {
          // Between turns and within them: the number of turns said says nothing of where the other threads stand.
          const said = kill === first ? least : 3 + ((7 * kill) % threads);
          const turns = await turnsUntilKilled(keyPrefix, durability, said);
          for (let index = 0; index < threads; index += 1) {
            const messages = messagesOf((await readableTuples(saver, `thread-${index}`))[0]);
            expect(brokenTurns(messages)).toEqual([]);
            expect(questions(messages)).toBeGreaterThanOrEqual(turns.get(`thread-${index}`) ?? 0);
          }
        }
      } finally {
        await saver.close();
      }
    }
  });

  it("leaves one thread as readable where two processes run it at once, and either may go on", async () => {
    const keyPrefix = uniquePrefix();
    const saver = RedisSaver.fromUrl(sharedRedisUrl(), { keyPrefix, commandTimeout: 120_000 });
    try {
      const workers = ["sync", "async"].map((durability) => start(keyPrefix, durability, 1));
      // The first goes on until the second has said as many turns.
      await Promise.all(workers.map((worker) => worker.untilSaid(3)));
      expect(await Promise.all(workers.map((worker) => worker.kill()))).toEqual(["SIGKILL", "SIGKILL"]);
      const tuples = await readableTuples(saver, "thread-0");
      const byId = new Map(tuples.map((tuple) => [tuple.checkpoint.id, idsOf(messagesOf(tuple))]));
      expect(tuples.length).toBeGreaterThan(10);
      for (const { checkpoint, parentConfig } of tuples) {
        const ids = byId.get(checkpoint.id)!;
        const before = byId.get(parentConfig?.configurable?.["checkpoint_id"] as string) ?? [];
        expect(new Set(ids).size).toBe(ids.length);
        expect(ids.slice(0, before.length)).toEqual(before);
      }
      const last = start(keyPrefix, "sync", 1);
      await last.untilSaid(2);
      await last.kill();
      const words = wordsOf(messagesOf((await readableTuples(saver, "thread-0"))[0])).join();
      expect(words).toContain(wholeTurn.join());
    } finally {
      await saver.close();
    }
  });
});

/** The checkpoints of a thread, the newest first, each of which can be read by its id, too. */
async function readableTuples(saver: RedisSaver, threadId: string): Promise<CheckpointTuple[]> {
  const tuples = await all(saver.list({ configurable: { thread_id: threadId } }));
  for (const tuple of tuples) {
    expect((await saver.getTuple(tuple.config))?.checkpoint).toEqual(tuple.checkpoint);
  }
  return tuples;
}

function messagesOf(tuple: CheckpointTuple | undefined): BaseMessage[] {
  return (tuple?.checkpoint.channel_values["messages"] ?? []) as BaseMessage[];
}

function idsOf(messages: readonly BaseMessage[]): (string | undefined)[] {
  return messages.map(({ id }) => id);
}

function wordsOf(messages: readonly BaseMessage[]): string[] {
  return messages.map((message) => message.text.split(" ")[0]!);
}

function questions(messages: readonly BaseMessage[]): number {
  return messages.filter((message) => message.type === "human").length;
}

const wholeTurn = ["question", "plan", "search", "search", "answer"];

/** Turns that lack a message or have one twice; the last one may still be under way. */
function brokenTurns(messages: readonly BaseMessage[]): string[] {
  const words = wordsOf(messages);
  const broken: string[] = [];
  for (let at = 0; at < words.length; at += wholeTurn.length) {
    const turn = words.slice(at, at + wholeTurn.length);
    if (turn.join() !== wholeTurn.slice(0, turn.length).join()) {
      broken.push(`${at}: ${turn.join(" ")}`);
    }
  }
  return broken;
}
