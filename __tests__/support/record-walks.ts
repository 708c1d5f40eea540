import { createHook } from "node:async_hooks";
import { readFileSync } from "node:fs";
import { Session, type Profiler } from "node:inspector";
import { fileURLToPath } from "node:url";
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { createAgent } from "langchain";
import { redisMemoryMiddleware } from "../../src/doors/agent/middleware.js";
import { withRedisMemory } from "../../src/doors/chain/with-redis-memory.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { ToolModel } from "./agents.js";

// Records in which files of `src` a function runs during a call, by V8's counts of calls, and the promises of calls.
// `__tests__/walks.redis.test.ts`
// bundles this program, which makes one script of all sources with a comment at the beginning of each, and runs it.

const own = fileURLToPath(import.meta.url);
const text = readFileSync(own, "utf8");
const modules = [...text.matchAll(/^\/\/ (\S+\.ts)$/gm)].map((match) => ({ path: match[1]!, from: match.index }));
const inspector = new Session();
inspector.connect();

function post<Result>(method: string, params?: object): Promise<Result> {
  return new Promise((resolve, reject) => {
    inspector.post(method, params, (error, result) => (error ? reject(error) : resolve(result as Result)));
  });
}

const takeCounts = () => post<Profiler.TakePreciseCoverageReturnType>("Profiler.takePreciseCoverage");

/**
 * The files of `src` in which a function runs, for a call that has run before: those of each of three calls, because a
 * timer of an earlier one may fire within any of them.
 */
async function walk(call: () => Promise<unknown>): Promise<string[]> {
  for (let run = 0; run < 3; run += 1) {
    await call();
  }
  const walks: string[][] = [];
  for (let run = 0; run < 3; run += 1) {
    await new Promise((resolve) => setImmediate(resolve));
    await takeCounts();
    await call();
    walks.push(filesIn((await takeCounts()).result));
  }
  return walks[0]!.filter((path) => walks.every((files) => files.includes(path)));
}

function filesIn(scripts: readonly Profiler.ScriptCoverage[]): string[] {
  const script = scripts.find(({ url }) => url.startsWith("file:") && fileURLToPath(url) === own);
  const called = (script?.functions ?? []).filter(({ functionName, ranges }) => {
    return ranges[0]!.count > 0 && (functionName !== "" || ranges[0]!.startOffset > 0);
  });
  const files = called.map(({ ranges }) => modules.findLast(({ from }) => from <= ranges[0]!.startOffset)?.path ?? "");
  return [...new Set(files)].filter((path) => path.startsWith("src/")).sort();
}

/** The promises of a call that has run before: the fewest of ten calls, because a timer may fire within one. */
async function promisesOf(call: () => Promise<unknown>): Promise<number> {
  let made = 0;
  const hook = createHook({ init: (_, type) => (made += type === "PROMISE" ? 1 : 0) });
  const counts: number[] = [];
  for (let run = 0; run < 10; run += 1) {
    await new Promise((resolve) => setImmediate(resolve));
    made = 0;
    hook.enable();
    await call();
    hook.disable();
    counts.push(made);
  }
  return Math.min(...counts);
}

async function main(): Promise<void> {
  await post("Profiler.enable");
  await post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  const [url, keyPrefix] = process.argv.slice(2) as [string, string];
  const memory = new RedisChatMemory({ url, redis: { keyPrefix } });
  const [history, owned, read] = [memory.history("a"), memory.history("o", { owner: "ann" }), memory.history("r")];
  await read.addMessages([1, 2, 3].flatMap((round) => [new HumanMessage(`q${round}`), new AIMessage(`a${round}`)]));
  const model = new ToolModel(() => "answer");
  const chain = withRedisMemory(model, { memory });
  const agent = createAgent({ model, tools: [], middleware: [redisMemoryMiddleware({ memory })] });
  let turn = 0;
  const turnOf = (sessionId: string) => ({ configurable: { sessionId, turnId: `turn-${(turn += 1)}` } });
  const turnMessages = () => [new HumanMessage("Hi"), new AIMessage("Hello")];
  const walks = {
    append: await walk(() => history.addMessages(turnMessages())),
    "append with an owner": await walk(() => owned.addMessages(turnMessages())),
    view: await walk(() => read.getMessages()),
    "a chain's turn": await walk(() => chain.invoke("Hi", turnOf("c"))),
    "an agent's turn": await walk(() => agent.invoke({ messages: [new HumanMessage("Hi")] }, turnOf("g"))),
  };
  const promises = {
    "a model alone": await promisesOf(() => model.invoke("Hi")),
    "a read": await promisesOf(() => read.getMessages()),
    "an append": await promisesOf(() => history.addMessages(turnMessages())),
    "a chain's turn": await promisesOf(() => chain.invoke("Hi", turnOf("c"))),
  };
  console.log(JSON.stringify({ walks, promises }));
  await memory.close();
}

await main();
