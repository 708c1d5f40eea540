import { Runnable } from "@langchain/core/runnables";
import { createAgent } from "langchain";
import { redisMemoryMiddleware } from "../../src/doors/agent/middleware.js";
import { withRedisMemory } from "../../src/doors/chain/with-redis-memory.js";
import type { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { SlowModel, ToolModel, lookup, sketch } from "../support/agents.js";
import { closeMemories, eventTypes, newMemory } from "../support/memories.js";
import { human } from "../support/messages.js";
import { uniquePrefix } from "../support/shared-redis.js";

afterEach(closeMemories);

const session = { configurable: { sessionId: "ann" } };

/** Asks a model through a door that is given no option but the memory, and returns the texts of the answer. */
type Ask = (text: string, id?: string) => Promise<string>;

const doors: Record<string, (memory: RedisChatMemory, model: ToolModel) => Ask> = {
  "a chain": (memory, model) => {
    const chain = withRedisMemory(model, { memory });
    return async (text, id) => (await chain.invoke([human(text, id)], session)).text;
  },
  "an agent": (memory, model) => {
    const agent = createAgent({ model, tools: [lookup], middleware: [redisMemoryMiddleware({ memory })] });
    return async (text, id) => {
      const { messages } = await agent.invoke({ messages: [human(text, id)] }, session);
      return messages.at(-1)!.text;
    };
  },
};

/** Asks through a door in a stream, and stops it at its first chunk. */
const streams: Record<string, (memory: RedisChatMemory, model: ToolModel) => (stop: AbortController) => Promise<void>> =
  {
    "a chain": (memory, model) => async (stop) => {
      const { signal } = stop;
      for await (const chunk of await withRedisMemory(model, { memory }).stream([human("q")], { ...session, signal })) {
        expect(chunk).toBeDefined();
        stop.abort();
      }
    },
    "an agent": (memory, model) => async (stop) => {
      const { signal } = stop;
      const agent = createAgent({ model, tools: [lookup], middleware: [redisMemoryMiddleware({ memory })] });
      const config = { ...session, signal, streamMode: "messages" as const };
      for await (const chunk of await agent.stream({ messages: [human("q")] }, config)) {
        expect(chunk).toBeDefined();
        stop.abort();
      }
    },
  };

const transcriptOf = async (memory: RedisChatMemory) => sketch(await memory.history("ann").getTranscript());

describe.each(Object.keys(doors))("%s without options", (door) => {
  const open = doors[door]!;

  it("leaves the question of a run that fails, and its retry adds the answer", async () => {
    const memory = newMemory();
    const script: (string | Error)[] = [new Error("down"), "answer"];
    const ask = open(memory, new ToolModel(() => script.shift()!));
    await expect(ask("q", "q1")).rejects.toThrow("down");
    expect(await transcriptOf(memory)).toEqual(["q"]);
    expect(await ask("q", "q1")).toBe("answer");
    expect(await transcriptOf(memory)).toEqual(["q", "answer"]);
  });

  it("keeps what was said before a stop", async () => {
    const memory = newMemory();
    const model = new SlowModel(["one ", "two ", "three"]);
    await expect(streams[door]!(memory, model)(new AbortController())).rejects.toThrow();
    await memory.drain();
    const [question, answer, ...more] = await memory.history("ann").getTranscript();
    expect(question!.text).toBe("q");
    expect(answer!.text.startsWith("one ")).toBe(true);
    expect(answer!.response_metadata).toMatchObject({ interrupted: true });
    expect(more).toEqual([]);
  });

  it("does not answer the question of another tab", async () => {
    const keyPrefix = uniquePrefix();
    const model = () =>
      new ToolModel(async (sent) => {
        await new Promise((resolve) => setTimeout(resolve, 20));
        return `answer to ${sent.at(-1)!.text} behind ${sent.length - 1}`;
      });
    const tabs = ["a", "b", "c"].map((text) => ({ text, ask: open(newMemory({ redis: { keyPrefix } }), model()) }));
    await Promise.all(tabs.map(({ text, ask }) => ask(text, text)));
    const transcript = await transcriptOf(newMemory({ redis: { keyPrefix } }));
    expect(transcript.filter((_, index) => index % 2 === 0).sort()).toEqual(["a", "b", "c"]);
    for (const index of [0, 2, 4]) {
      expect(transcript[index + 1]).toBe(`answer to ${transcript[index]} behind ${index}`);
    }
  });

  it("is a part of the turn in which it runs", async () => {
    const memory = newMemory();
    const ask = open(memory, new ToolModel(() => "answer"));
    expect(await memory.withTurn("ann", () => ask("q"))).toBe("answer");
    expect(await transcriptOf(memory)).toEqual(["q", "answer"]);
    expect(eventTypes()).not.toContain("turn_waits");
  });

  it("gives the session back when it is done", async () => {
    const memory = newMemory();
    await open(memory, new ToolModel(() => "answer"))("q");
    expect(await newMemory().withTurn("ann", () => "free", { waitMs: 0 })).toBe("free");
  });
});

describe("a chain without options", () => {
  it("is a part of the turn of a stream also behind its first chunk", async () => {
    const memory = newMemory();
    const inner = withRedisMemory(new ToolModel(() => "inner"), { memory });
    class Outer extends Runnable<unknown, string> {
      override lc_namespace = ["tests"];

      override async invoke(): Promise<string> {
        return "unused";
      }

      override async *_streamIterator(): AsyncGenerator<string> {
        yield "first ";
        yield (await inner.invoke([human("i")], session)).text;
      }
    }
    const chunks: string[] = [];
    for await (const chunk of await withRedisMemory(new Outer(), { memory }).stream([human("q")] as never, session)) {
      chunks.push(chunk);
    }
    expect(chunks.join("")).toBe("first inner");
    expect(eventTypes()).not.toContain("turn_waits");
  });
});
