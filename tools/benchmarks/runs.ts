// Running answers that other processes read: latency, commands, processor time of the server and bytes. Run it with
// `npm run runs`; --quick makes it smaller. Only a whole run writes the page in results/.
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { Redis } from "ioredis";
import { RedisChatMemory } from "langchain-redis-memory";
import { redisRuns, type Run } from "langchain-redis-memory/runs";
import { startRedis } from "../testkit/servers/redis-server.js";
import { endsOfRuns } from "./measure/ends-of-runs.js";
import { ServerMeter } from "./measure/server-cost.js";
import { runsSection, type RunsFigures, type Scene } from "./report/runs-section.js";
import { writePage } from "./report/write.js";

/** What a model says: when, and which of its words it is. */
interface Said {
  readonly at: number;
  readonly index: number;
  readonly word: string;
}

/** What the readers of a process got. */
interface Heard {
  readonly latencies: readonly number[];
  readonly whole: number;
}

const now = () => performance.timeOrigin + performance.now();

/** Reads a run to its end, and notes how late each word is, and whether one is missing. */
async function hear(run: Run): Promise<{ latencies: number[]; isWhole: (words: number) => boolean }> {
  const latencies: number[] = [];
  const indexes: number[] = [];
  for await (const item of run) {
    if ("id" in item) {
      const { at, index } = item.chunk as Said;
      latencies.push(now() - at);
      indexes.push(index);
    }
  }
  return { latencies, isWhole: (words) => indexes.length === words && indexes.every((each, index) => each === index) };
}

async function hearAll(runs: readonly Run[], words: number): Promise<Heard> {
  const heard = await Promise.all(runs.map(hear));
  return {
    latencies: heard.flatMap(({ latencies }) => latencies),
    whole: heard.filter(({ isWhole }) => isWhole(words)).length,
  };
}

/** The part of a reader, in a process of its own. */
async function read(url: string, sessions: readonly string[], words: number): Promise<void> {
  const memory = new RedisChatMemory({ url });
  const runs = redisRuns(memory);
  const hearing = hearAll(
    sessions.map((session) => runs.join(session)),
    words,
  );
  process.send!("reading");
  const heard = await hearing;
  // A channel that is closed before a large message is written loses it.
  await new Promise((resolve) => process.send!(heard, resolve));
  await memory.close();
  process.disconnect();
}

async function measure(url: string, port: number, scene: Scene): Promise<RunsFigures> {
  const memory = new RedisChatMemory({ url });
  const runs = redisRuns(memory);
  const meter = new ServerMeter([port]);
  const got: { own?: Heard; heard?: Heard } = {};
  const sessions = Array.from({ length: scene.runs }, (_, index) => `${scene.runs}-${index}`);
  const begin = { now: () => {} };
  const isBegun = new Promise<void>((resolve) => (begin.now = resolve));
  async function* words(): AsyncGenerator<Said> {
    await isBegun;
    for (let index = 0; index < scene.words; index += 1) {
      yield { at: now(), index, word: " word" };
      await delay(1_000 / scene.perSecond);
    }
  }
  const started = await Promise.all(sessions.map((session) => runs.start(session, { turnId: "t" }, () => words())));
  const [cost] = await meter.costsOf(async () => {
    const joined = Array.from({ length: scene.readers }, (_, index) => sessions[index % sessions.length]!);
    const child = fork(fileURLToPath(import.meta.url), ["reader", url, JSON.stringify(joined), String(scene.words)]);
    await once(child, "message");
    // Before anything else is waited for: on a busy machine the runs may end as lost before a word is said, and the
    // process of the readers may be gone before the runs here are read to their ends.
    const [answer, gone] = [once(child, "message"), once(child, "exit")];
    await delay(500);
    const hearing = hearAll(started, scene.words);
    begin.now();
    [got.own, got.heard] = [await hearing, ((await answer) as [Heard])[0]];
    await gone;
  });
  const client = new Redis(url);
  const key = `lcmem:{${sessions[0]!}}:run`;
  const entries = (await client.xrange(key, "-", "+")) as [string, string[]][];
  const text = entries.flatMap(([, [kind, batch]]) => (kind === "d" ? [batch!.length] : []));
  const bytes = { stored: Number(await client.memory("USAGE", key)), text: text.reduce((sum, each) => sum + each, 0) };
  client.disconnect();
  meter.close();
  await memory.close();
  return { scene, own: got.own!, heard: got.heard!, cost: cost!, bytes: { ...bytes, batches: text.length } };
}

const { values, positionals } = parseArgs({
  options: { quick: { type: "boolean", default: false } },
  allowPositionals: true,
});
if (positionals[0] === "reader") {
  const [, url, sessions, words] = positionals as [string, string, string, string];
  await read(url, JSON.parse(sessions) as string[], Number(words));
} else {
  const words = values.quick ? 20 : 400;
  const scenes: Scene[] = [
    { name: "10 runs", runs: 10, readers: 10, perSecond: 100, words },
    { name: "500 runs at once", runs: 500, readers: 500, perSecond: 10, words: words / 5 },
    { name: "100 readers of a run", runs: 1, readers: 100, perSecond: 100, words },
  ];
  const server = await startRedis();
  try {
    const figures: RunsFigures[] = [];
    for (const scene of scenes) {
      figures.push(await measure(server.url, server.port, scene));
      console.log(scene.name);
    }
    const ends = await endsOfRuns(server, {
      ...(values.quick ? { stopped: 5, lost: 3 } : { stopped: 60, lost: 40 }),
      outage: values.quick ? { runs: 3, milliseconds: 4_000 } : { runs: 20, milliseconds: 10_000 },
    });
    const folder = values.quick
      ? mkdtempSync(join(tmpdir(), "runs-"))
      : fileURLToPath(new URL("results", import.meta.url));
    console.log(`${await writePage(folder, "runs", runsSection(figures, ends))}\nWritten to ${folder}.`);
  } finally {
    await server.stop();
  }
}
