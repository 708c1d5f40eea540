import type { MemorySettings } from "../../src/memory/session/memory-context.js";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { RunnableLambda } from "@langchain/core/runnables";
import { ChatOpenAI } from "@langchain/openai";
import { summaryMarkOf } from "../../src/conversation/messages/message.js";
import { validateConversation } from "../../src/conversation/structure/validate.js";
import type { MemoryEvent } from "../../src/base/events.js";
import { withRedisMemory } from "../../src/doors/chain/with-redis-memory.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { ChatHistorySummarizationReducer } from "../../src/conversation/reducers/summary/summarization-reducer.js";
import { sessionKeys } from "../../src/store/redis/keys.js";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";
import { startOpenAIServer } from "../../testing/openai-server.js";
import { buildPrograms } from "../support/built-programs.js";
import { ai, human } from "../support/messages.js";
import { sharedClient, sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";

const root = join(__dirname, "../..");
const client = sharedClient();

const texts = (messages: readonly BaseMessage[]) => messages.map(({ text }) => text);

function newMemory(options: MemorySettings) {
  const events: MemoryEvent[] = [];
  const keyPrefix = options.redis?.keyPrefix ?? uniquePrefix();
  return {
    memory: new RedisChatMemory({ client, onEvent: (event) => events.push(event), ...options, redis: { keyPrefix } }),
    events,
    keyPrefix,
  };
}

/** A summarizer that says `summary <n>` and remembers what it was told. */
function countingSummarizer() {
  const told: string[] = [];
  const model = RunnableLambda.from((messages: BaseMessage[]) => {
    told.push(texts(messages).join("\n"));
    return `summary ${told.length}`;
  });
  return { told, model };
}

function turn(index: number): BaseMessage[] {
  return [human(`question-${index}.`, `q${index}`), ai(`answer-${index}.`, { id: `a${index}` })];
}

describe("summaries of a session that several processes share", () => {
  it("are paid for once if four processes reach the threshold together, and lose nothing", async () => {
    const keyPrefix = uniquePrefix();
    const history = newMemory({ redis: { keyPrefix } }).memory.history("shared");
    await history.addMessages([0, 1, 2, 3, 4].flatMap(turn).concat(human("one more", "more")));
    const meanwhile = [human("while the model works", "meanwhile")];
    const names = ["w1", "w2", "w3", "w4"];
    const server = await startOpenAIServer({
      reply: async () => {
        await history.addMessages(meanwhile);
        // Until the others have written their turns, too.
        while ((await history.getTranscript()).length < 11 + 2 * names.length + 1) {
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
        return "They talked about numbers.";
      },
    });
    const source = "__tests__/support/summary-worker.ts";
    const programs = await buildPrograms([source], { withPackages: true });
    const workers = names.map((name) => startWorker(programs.pathOf(source), name, keyPrefix, server.url));
    await Promise.all(workers.map(({ ready }) => ready));
    workers.forEach(({ process }) => process.stdin!.write("go\n"));
    expect(await Promise.all(workers.map(({ exitCode }) => exitCode))).toEqual([0, 0, 0, 0]);
    await server.close();
    programs.remove();

    expect(server.requests.map(({ refusal }) => refusal)).toEqual([undefined]);
    const view = await history.getMessages();
    expect(view.filter((message) => summaryMarkOf(message) !== undefined)).toHaveLength(1);
    expect(texts(view)).toContain("while the model works");
    const transcript = await history.getTranscript();
    expect(transcript).toHaveLength(11 + 8 + 1);
    const covered = summaryMarkOf(view[0]!)!.count;
    expect(view.slice(1).map(({ id }) => id)).toEqual(transcript.slice(covered).map(({ id }) => id));
  });

  it("survive restarts and never cover the same messages twice (50 turns, five processes in a row)", async () => {
    const { told, model } = countingSummarizer();
    const keyPrefix = uniquePrefix();
    let reductions = 0;
    for (let run = 0; run < 5; run += 1) {
      const { memory, events } = newMemory({
        redis: { keyPrefix },
        reducer: new ChatHistorySummarizationReducer({ model, targetCount: 10, thresholdCount: 10 }),
      });
      for (let index = run * 10; index < run * 10 + 10; index += 1) {
        await memory.history("ann").addMessages(turn(index));
        await memory.history("ann").getMessages();
      }
      reductions += events.filter(({ type }) => type === "reduced").length;
    }
    expect(told).toHaveLength(reductions);
    expect(reductions).toBe(7); // at 22 messages it comes down to 10, and then with every sixth turn
    for (let index = 0; index < 50; index += 1) {
      expect(told.filter((prompt) => prompt.includes(`question-${index}.`)).length).toBeLessThanOrEqual(1);
    }
    const view = await newMemory({ redis: { keyPrefix } }).memory.history("ann").getMessages();
    expect(view[0]!.text).toContain(`summary ${reductions}`);
    const covered = summaryMarkOf(view[0]!)!.count;
    expect(view.length - 1 + covered).toBe(100);
    for (let index = 1; index < told.length; index += 1) {
      expect(told[index]).toContain(`summary ${index}`);
    }
  });

  it("are written by another process if the first one dies, and lose nothing", async () => {
    const { told, model } = countingSummarizer();
    const reducer = new ChatHistorySummarizationReducer({ model, targetCount: 4, thresholdCount: 2 });
    const { memory, keyPrefix } = newMemory({ reducer });
    const history = memory.history("ann");
    const dead = new RedisSessionStore({ client, keyPrefix });
    await history.addMessages([0, 1, 2].flatMap(turn));
    expect(await dead.data.acquireLease({ id: "ann" }, 60_000)).toEqual(expect.any(String));
    await history.addMessages(turn(3));
    expect(told).toHaveLength(0);
    await expect(history.reduceView()).rejects.toMatchObject({ code: "stale" });
    expect(await history.getMessages()).toHaveLength(8);
    await client.pexpire(sessionKeys(keyPrefix, "ann").lease, 1);
    while ((await client.exists(sessionKeys(keyPrefix, "ann").lease)) === 1) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await history.addMessages(turn(4));
    expect(told).toHaveLength(1);
    expect((await history.getMessages())[0]!.text).toContain("summary 1");
    expect(await history.getTranscript()).toHaveLength(10);
  });
});

describe("a summarization model", () => {
  const script = (reply: () => unknown) => RunnableLambda.from(async () => reply() as string);

  it.each([true, false])("that fails loses no message, and an event says so (failOnError: %s)", async (failOnError) => {
    const model = script(() => Promise.reject(new Error("SECRET")));
    const reducer = new ChatHistorySummarizationReducer({ model, maxTokens: 120, failOnError });
    const { memory, events } = newMemory({ reducer });
    const all = Array.from({ length: 12 }, (_, index) => turn(index)).flat();
    await memory.history("ann").addMessages(all);
    expect(texts(await memory.history("ann").getMessages())).toEqual(texts(all));
    const failure = events.find(({ type }) => type === "reduction_failed") as { error: Error } | undefined;
    expect(failure?.error).toMatchObject({ name: "SummaryError", code: "failed" });
    expect(failure?.error.message).not.toContain("SECRET");
  });

  it("that is aborted loses no message, and rejects with the caller's reason", async () => {
    const reducer = new ChatHistorySummarizationReducer({
      model: script(() => new Promise(() => undefined)),
      targetCount: 2,
      thresholdCount: 0,
    });
    const { memory } = newMemory({ reducer, reduceWhen: "never" });
    const history = memory.history("ann");
    await history.addMessages([0, 1, 2].flatMap(turn));
    const controller = new AbortController();
    setTimeout(() => controller.abort(new Error("enough")), 30);
    await expect(history.reduceView({ signal: controller.signal })).rejects.toThrow("enough");
    expect(await history.getMessages()).toHaveLength(6);
  });
});

describe("ChatOpenAI with a server that refuses what OpenAI refuses", () => {
  it("works as the main model and as the summarization model of one session", async () => {
    const server = await startOpenAIServer({
      reply: (body, count) =>
        JSON.stringify(body["messages"]).includes("question-") ? `answer ${count}` : "They talked.",
    });
    const model = new ChatOpenAI({
      apiKey: "none",
      model: "gpt-4o-mini",
      configuration: { baseURL: server.url },
      maxRetries: 0,
    });
    const { memory, events } = newMemory({
      reducer: new ChatHistorySummarizationReducer({ model, targetCount: 4, thresholdCount: 2 }),
    });
    const chat = withRedisMemory(model, { memory, sessionId: "ann" });
    for (let index = 0; index < 8; index += 1) {
      await chat.invoke(`question-${index}.`);
    }
    await server.close();
    expect(server.requests.filter(({ refusal }) => refusal !== undefined)).toEqual([]);
    const reductions = events.filter(({ type }) => type === "reduced").length;
    expect(reductions).toBeGreaterThan(1);
    expect(server.requests).toHaveLength(8 + reductions);
    const view = await memory.history("ann").getMessages();
    expect(validateConversation([...view, human("next")], { profile: "openai", purpose: "model-input" })).toEqual([]);
    expect(view.at(-1)).toBeInstanceOf(AIMessage);
  });
});

interface Worker {
  readonly process: ChildProcess;
  readonly ready: Promise<unknown>;
  readonly exitCode: Promise<number>;
}

function startWorker(program: string, name: string, keyPrefix: string, modelUrl: string): Worker {
  const args = [name, sharedRedisUrl(), keyPrefix, modelUrl];
  const worker = spawn(process.execPath, [program, ...args], { cwd: root, stdio: ["pipe", "pipe", "inherit"] });
  const exitCode = once(worker, "exit").then(([code]) => code as number);
  return { process: worker, ready: once(worker.stdout, "data"), exitCode };
}
