import { spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { type CheckpointTuple, emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import fc from "fast-check";
import { randomUUID } from "node:crypto";
import { RedisSaver } from "../../src/langgraph/checkpoint/redis-saver.js";
import { buildPrograms, type BuiltPrograms } from "../support/built-programs.js";
import { propertyRuns } from "../support/property-runs.js";
import { sharedRedisUrl, uniquePrefix, sharedClient } from "../support/shared-redis.js";
import { all } from "../support/all.js";
import { threadKeys } from "../../src/store/redis/keys.js";

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

/** A step of a thread's life: a call of one of three savers, or what a failover to an older replica does. */
type Step =
  | { readonly do: "put" | "putWrites"; readonly saver: number; readonly texts: readonly string[] }
  | { readonly do: "read"; readonly saver: number }
  | { readonly do: "replicate" | "fail over" | "resend" };

const long = (text: string) => `${text} ${"and so on ".repeat(40)}`;
const meta = { source: "loop", step: 0, parents: {} } as const;

describe("A thread that a failover set back", () => {
  const keyPrefix = uniquePrefix();
  const client = sharedClient();
  let sent: [string, string[]] | undefined;
  const noting = new Proxy(client, {
    get: (target, name) =>
      name === "call"
        ? (command: string, args: string[]) => {
            sent = /^eval/i.test(command) && args.some((text) => /^\{"token"/.test(text)) ? [command, args] : sent;
            return target.call(command, args);
          }
        : Reflect.get(target, name),
  });
  const open = () => new RedisSaver({ client: noting, keyPrefix });

  /** One thread, three savers that write it in turn, and a replica that may lack what came last. */
  class Life {
    readonly #thread = randomUUID();
    readonly #savers = [open(), open(), open()];
    #replica: (Buffer | null)[] = [null, null, null];
    #number = 0;

    async play(step: Step): Promise<void> {
      if (step.do === "put") {
        await this.#put(this.#savers[step.saver]!, step.texts);
      } else if (step.do === "putWrites") {
        await this.#putWrites(this.#savers[step.saver]!, step.texts);
      } else if (step.do === "read") {
        await this.#savers[step.saver]!.getTuple(this.#at());
      } else if (step.do === "replicate") {
        this.#replica = await Promise.all(this.#keys().map((key) => client.dumpBuffer(key)));
      } else if (step.do === "resend") {
        await (sent && client.call(...sent).catch(() => undefined));
      } else {
        await this.#failOver();
      }
    }

    async #failOver(): Promise<void> {
      await client.unlink(...this.#keys());
      for (const [index, key] of this.#keys().entries()) {
        const dump = this.#replica[index];
        await (dump && client.restore(key, 0, dump as unknown as string));
      }
    }

    async #put(saver: RedisSaver, texts: readonly string[]): Promise<void> {
      const [id, messages] = [this.#nextId(), texts.map((text) => new HumanMessage({ id: text, content: long(text) }))];
      const versions = { messages: this.#number };
      const checkpoint = { ...emptyCheckpoint(), id, channel_values: { messages }, channel_versions: versions };
      await saver.put(this.#at(), checkpoint, meta, versions);
      const { channel_values: read } = (await open().get(this.#at(id)))!;
      expect((read["messages"] as HumanMessage[]).map((message) => message.id)).toEqual(texts);
      const [listed] = await all(open().list(this.#at(), { limit: 1, filter: { source: "loop" } }));
      expect(listed!.checkpoint.channel_values).toEqual(read);
    }

    async #putWrites(saver: RedisSaver, texts: readonly string[]): Promise<void> {
      const id = this.#nextId();
      await saver.putWrites(this.#at(id), [["notes", texts.map(long)]], "task");
      const versions = { none: this.#number };
      await saver.put(this.#at(), { ...emptyCheckpoint(), id, channel_versions: versions }, meta, versions);
      const tuple = await open().getTuple(this.#at(id));
      expect(tuple!.pendingWrites).toEqual([["task", "notes", texts.map(long)]]);
    }

    #nextId(): string {
      this.#number += 1;
      return uuid6(this.#number);
    }

    #at(id?: string) {
      return { configurable: { thread_id: this.#thread, ...(id && { checkpoint_id: id }) } };
    }

    #keys(): string[] {
      return Object.values(threadKeys(keyPrefix, this.#thread));
    }
  }

  const play = async (steps: readonly Step[]) => {
    const life = new Life();
    sent = undefined;
    for (const step of steps) {
      await life.play(step);
    }
  };

  it("stores what its items lack again, also where others took their positions", async () => {
    const put = (saver: number, ...texts: string[]): Step => ({ do: "put", saver, texts });
    const lost: readonly Step[] = [put(0, "a"), { do: "replicate" }, put(0, "a", "b", "c"), { do: "fail over" }];
    await play([...lost, put(0, "a", "b", "c", "d")]);
    await play([...lost, put(1, "a", "x", "y"), put(0, "a", "b", "c", "d")]);
    await play([...lost, put(1, "a", "x", "y"), { do: "read", saver: 0 }, put(0, "a", "b", "c", "d")]);
  });

  it("never shows other values than were put", async () => {
    const saver = fc.integer({ min: 0, max: 2 });
    const texts = fc.uniqueArray(fc.constantFrom("a", "b", "c", "d", "e", "f"), { minLength: 1, maxLength: 4 });
    const change = fc.record({ do: fc.constantFrom("put" as const, "putWrites" as const), saver, texts });
    const fault = fc.record({ do: fc.constantFrom("replicate" as const, "fail over" as const, "resend" as const) });
    const read = fc.record({ do: fc.constant("read" as const), saver });
    const step = fc.oneof({ weight: 3, arbitrary: change }, { weight: 3, arbitrary: fault }, read);
    const steps = fc.array(step, { minLength: 4, maxLength: 16 });
    await fc.assert(fc.asyncProperty(steps, play), { numRuns: propertyRuns(40) });
  });
});
