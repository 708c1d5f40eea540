import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { RunnableLambda } from "@langchain/core/runnables";
import { RedisChatMemory, sessionConfig, withRedisMemory } from "langchain-redis-memory";
import { redisRuns, type RedisRuns, type RunEnd, type RunItem } from "langchain-redis-memory/runs";
import type { PrivateRedis } from "../../testkit/servers/redis-server.js";

/** Milliseconds after a request or a kill in another process, and what an outage of Redis did. */
export interface EndsOfRuns {
  /** From `stop` to the signal of the run. */
  readonly signals: readonly number[];
  /** From `stop` to the end that a reader is told. */
  readonly stops: readonly number[];
  /** From a kill -9 of the process of several runs to the end that each reader is told. */
  readonly losses: readonly number[];
  /** The same to the first word of the next run, of each session. */
  readonly retries: readonly number[];
  readonly outage: {
    readonly milliseconds: number;
    readonly runs: number;
    readonly lost: number;
    readonly gaps: number;
  };
}

/** How many runs are stopped, how many lose their process, and how many outlast an outage. */
export interface CountOfEnds {
  readonly stopped: number;
  readonly lost: number;
  readonly outage: { readonly runs: number; readonly milliseconds: number };
}

const now = () => performance.timeOrigin + performance.now();

/** Ends runs of another process in each way, one after the other. */
export async function endsOfRuns(server: PrivateRedis, count: CountOfEnds): Promise<EndsOfRuns> {
  const memory = new RedisChatMemory({ url: server.url });
  const runs = redisRuns(memory);
  try {
    return {
      ...(await stopped(server.url, runs, count.stopped)),
      ...(await lost(server.url, { runs, memory }, count.lost)),
      outage: await outlasted(server, runs, count.outage),
    };
  } finally {
    await memory.close();
  }
}

async function stopped(url: string, runs: RedisRuns, count: number) {
  const { child, sessions } = await producer(url, "stopped", count);
  const [signals, stops]: [number[], number[]] = [[], []];
  for (const session of sessions) {
    const items = runs.join(session)[Symbol.asyncIterator]();
    await items.next();
    const asked = now();
    const said = once(child, "message");
    await runs.stop(session);
    await heard(items);
    stops.push(now() - asked);
    signals.push(((await said) as [number])[0] - asked);
  }
  child.kill("SIGKILL");
  return { signals, stops };
}

async function lost(url: string, { runs, memory }: { runs: RedisRuns; memory: RedisChatMemory }, count: number) {
  const { child, sessions } = await producer(url, "lost", count);
  const [losses, retries]: [number[], number[]] = [[], []];
  // It waits for the hold of the dead process.
  const chat = withRedisMemory(
    RunnableLambda.from(() => "whole"),
    { memory },
  );
  const turnId = "t";
  let killed = 0;
  const readings = sessions.map(async (sessionId) => {
    const { end } = await heard(runs.join(sessionId));
    if (end?.state === "lost") {
      losses.push(now() - killed);
      const session = sessionConfig({ sessionId, turnId });
      const next = await runs.start(sessionId, { turnId }, (signal) => chat.stream("Go on.", { ...session, signal }));
      await next[Symbol.asyncIterator]().next();
      retries.push(now() - killed);
    }
  });
  // Who joined a moment ago does not judge others yet.
  await delay(5_000);
  child.kill("SIGKILL");
  killed = now();
  await Promise.all(readings);
  return { losses, retries };
}

/** Freezes the server while runs are read. */
async function outlasted(server: PrivateRedis, runs: RedisRuns, count: CountOfEnds["outage"]) {
  const { child, sessions } = await producer(server.url, "outage", count.runs);
  const readings = sessions.map((session) => heard(runs.join(session)));
  await delay(2_000);
  server.process.kill("SIGSTOP");
  await delay(count.milliseconds);
  server.process.kill("SIGCONT");
  await delay(5_000);
  await Promise.all(sessions.map((session) => runs.stop(session)));
  const all = await Promise.all(readings);
  child.kill("SIGKILL");
  return {
    ...count,
    lost: all.filter(({ end }) => end?.state === "lost").length,
    gaps: all.filter(({ hasGap }) => hasGap).length,
  };
}

async function producer(
  url: string,
  name: string,
  count: number,
): Promise<{ child: ChildProcess; sessions: string[] }> {
  const sessions = Array.from({ length: count }, (_, index) => `${name}-${index}`);
  const path = fileURLToPath(new URL("../children/run-producer.ts", import.meta.url));
  const child = fork(path, [url, JSON.stringify(sessions)]);
  await once(child, "message");
  return { child, sessions };
}

/** Reads to the end; a gap is a number that is not the next one, or a reset. */
async function heard(items: AsyncIterable<RunItem>): Promise<{ end: RunEnd | undefined; hasGap: boolean }> {
  let end: RunEnd | undefined;
  const numbers: number[] = [];
  let hasGap = false;
  for await (const item of items) {
    end = "state" in item ? item : end;
    hasGap ||= "reset" in item;
    if ("id" in item) {
      numbers.push(Number(item.chunk));
    }
  }
  return { end, hasGap: hasGap || numbers.some((each, index) => each !== numbers[0]! + index) };
}
