import { Runnable } from "@langchain/core/runnables";
import { withRedisMemory } from "../../src/doors/chain/with-redis-memory.js";
import { ToolModel } from "../support/agents.js";
import { eventTypes, newMemory, texts } from "../support/memories.js";
import { human } from "../support/messages.js";
import { doors } from "./asking.js";
import { all } from "../support/all.js";

const input = [human("q")];

describe.each(["a chain (step)", "an agent (step)"] as const)("the turn of %s without options", (door) => {
  const ask = (memory: ReturnType<typeof newMemory>) => doors[door](memory, new ToolModel(() => "answer"), { input });

  it("is a part of the turn in which it runs", async () => {
    const memory = newMemory();
    expect((await memory.withTurn("s", () => ask(memory))).text).toBe("answer");
    expect(texts(await memory.history("s").getTranscript())).toEqual(["q", "answer"]);
    expect(eventTypes()).not.toContain("turn_waits");
  });

  it("gives the session back when it is done", async () => {
    const memory = newMemory();
    await ask(memory);
    expect(await memory.withTurn("s", () => "free", { waitMs: 0 })).toBe("free");
  });
});

it("a chain without options is a part of the turn of a stream also behind its first chunk", async () => {
  const memory = newMemory();
  const session = { configurable: { sessionId: "ann" } };
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
  const chunks: string[] = await all(await withRedisMemory(new Outer(), { memory }).stream(input as never, session));
  expect(chunks.join("")).toBe("first inner");
  expect(eventTypes()).not.toContain("turn_waits");
});
