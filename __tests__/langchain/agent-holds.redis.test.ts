import { tool as makeTool } from "@langchain/core/tools";
import { HumanMessage } from "@langchain/core/messages";
import { Command, MemorySaver } from "@langchain/langgraph";
import { RunnableLambda } from "@langchain/core/runnables";
import { type AgentMiddleware, createAgent, createMiddleware, humanInTheLoopMiddleware } from "langchain";
import { z } from "zod";
import { Redis } from "ioredis";
import { redisMemoryMiddleware } from "../../src/entries/agent.js";
import { type MemoryEvent, RedisChatMemory, withRedisMemory } from "../../src/entries/index.js";
import { appendScript } from "../../src/store/redis/lua/scripts.js";
import { lookup, lookupCall, sketch, ToolModel } from "../support/agents.js";
import { closedAfterEach } from "../support/closed-after-each.js";
import { interceptedClient } from "../../tools/testkit/proxies/intercepted-client.js";
import { ai, human } from "../support/messages.js";
import { ScriptedModel } from "../support/scripted-model.js";
import { sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";

const open: RedisChatMemory[] = [];

function newMemory(keyPrefix: string): RedisChatMemory {
  const memory = new RedisChatMemory({ url: sharedRedisUrl(), redis: { keyPrefix } });
  open.push(memory);
  return memory;
}

afterEach(() => Promise.all(open.splice(0).map((memory) => memory.close())));

const closed = closedAfterEach();
const ask = (text: string, id: string) => ({ messages: [new HumanMessage({ content: text, id })] });

/** Looks something up, and then answers. */
const model = () =>
  new ToolModel((messages) => {
    const last = messages.at(-1)!;
    return last.getType() === "human" ? lookupCall(last.text) : `answer to ${last.text}`;
  });

describe("an agent with oneTurnAtATime holds its session", () => {
  const asking = (checkpointer: MemorySaver, keyPrefix: string, durability?: "exit" | "sync") => {
    const memory = newMemory(keyPrefix);
    const approval = humanInTheLoopMiddleware({ interruptOn: { lookup: { allowedDecisions: ["approve"] } } });
    const middleware = [redisMemoryMiddleware({ memory, oneTurnAtATime: true }), approval] as AgentMiddleware[];
    const agent = createAgent({ model: model(), tools: [lookup], middleware, checkpointer });
    const config = { configurable: { thread_id: "ann" }, ...(durability && { durability }) };
    return { memory, agent, config };
  };
  const approved = () => new Command({ resume: { decisions: [{ type: "approve" }] } });

  it("no longer than a stop that comes while it takes the session", async () => {
    const client = closed(new Redis(sharedRedisUrl()));
    const stop = new AbortController();
    const stopping = interceptedClient(client, async (send, [source]) => {
      const reply = await send();
      if (source === appendScript.source) {
        stop.abort();
      }
      return reply;
    });
    const keyPrefix = uniquePrefix();
    const memory = closed(new RedisChatMemory({ client: stopping, redis: { keyPrefix } }));
    const middleware = [redisMemoryMiddleware({ memory, oneTurnAtATime: true })];
    const agent = createAgent({ model: model(), tools: [lookup], middleware });
    const config = { configurable: { sessionId: "ann" }, signal: stop.signal };
    await expect(agent.invoke(ask("q", "q1"), config)).rejects.toThrow();
    expect(stop.signal.aborted).toBe(true);
    expect(await newMemory(keyPrefix).withTurn("ann", () => "now", { waitMs: 1_000 })).toBe("now");
  });

  it("while a tool runs, and gives it back when the run ends, or is stopped in a tool", async () => {
    const keyPrefix = uniquePrefix();
    const [memory, other] = [newMemory(keyPrefix), newMemory(keyPrefix)];
    let inTool!: () => void;
    let endTool!: () => void;
    const tool = makeTool(
      ({ query }: { query: string }) =>
        new Promise<string>((resolve) => {
          endTool = () => resolve(`found ${query}`);
          inTool();
        }),
      { name: "lookup", schema: z.object({ query: z.string() }) },
    );
    const middleware = [redisMemoryMiddleware({ memory, oneTurnAtATime: true })];
    const agent = createAgent({ model: model(), tools: [tool], middleware });
    const config = { configurable: { sessionId: "ann" } };
    let reached = new Promise<void>((resolve) => (inTool = resolve));
    const run = agent.invoke(ask("q", "q1"), config);
    await reached;
    await expect(other.withTurn("ann", () => "never", { waitMs: 100 })).rejects.toMatchObject({ code: "busy" });
    endTool();
    await run;
    expect(await other.withTurn("ann", () => "now", { waitMs: 0 })).toBe("now");
    reached = new Promise<void>((resolve) => (inTool = resolve));
    const stop = new AbortController();
    const stopped = agent.invoke(ask("q", "q2"), { ...config, signal: stop.signal });
    await reached;
    stop.abort();
    await expect(stopped).rejects.toThrow();
    expect(await other.withTurn("ann", () => "now", { waitMs: 60_000 })).toBe("now");
    endTool();
  });

  it.each([12, 13, 14])("not behind a recursion limit of %s, which no hook sees", async (recursionLimit) => {
    const keyPrefix = uniquePrefix();
    const [memory, other] = [newMemory(keyPrefix), newMemory(keyPrefix)];
    const calling = new ToolModel((messages) => lookupCall(`again ${messages.length}`));
    const middleware = [redisMemoryMiddleware({ memory, oneTurnAtATime: true })];
    const agent = createAgent({ model: calling, tools: [lookup], middleware });
    const run = agent.invoke(ask("q", "q1"), { configurable: { sessionId: "ann" }, recursionLimit });
    await expect(run).rejects.toThrow(/Recursion limit/);
    expect(await other.withTurn("ann", () => "now", { waitMs: 20_000 })).toBe("now");
  });

  it("not while a human is asked, and again where it is resumed, on another instance too", async () => {
    const [keyPrefix, checkpointer] = [uniquePrefix(), new MemorySaver()];
    const [first, second] = [asking(checkpointer, keyPrefix), asking(checkpointer, keyPrefix)];
    await first.agent.invoke(ask("q", "q1"), first.config);
    const between = [human("between"), ai("us")];
    await second.memory.withTurn("ann", (history) => history.append(between), { waitMs: 20_000 });
    await second.agent.invoke(approved(), second.config);
    const transcript = sketch(await first.memory.history("ann").getTranscript());
    expect(transcript).toEqual(["q", "between", "us", "<ai>", "found q", "answer to found q"]);
    expect(await first.memory.withTurn("ann", () => "free", { waitMs: 0 })).toBe("free");
  });

  it.each([undefined, "sync", "exit"] as const)(
    "no longer than until invoke or stream returns with an interrupt, with durability %s",
    async (durability) => {
      const keyPrefix = uniquePrefix();
      const { agent, config } = asking(new MemorySaver(), keyPrefix, durability);
      const other = newMemory(keyPrefix);
      await agent.invoke(ask("q", "q1"), config);
      expect(await other.withTurn("ann", () => "free", { waitMs: 0 })).toBe("free");
      await agent.invoke(approved(), config);
      for await (const chunk of await agent.stream(ask("r", "r1"), { ...config, streamMode: "values" })) {
        expect(chunk).toBeDefined();
      }
      expect(await other.withTurn("ann", () => "free", { waitMs: 0 })).toBe("free");
    },
  );

  it.each([0, 1, 5, 20, 50, 100, 150, 200])("not at a resume or another turn %s ms behind an interrupt", async (ms) => {
    const keyPrefix = uniquePrefix();
    const checkpointer = new MemorySaver();
    const [here, there] = [asking(checkpointer, keyPrefix), asking(checkpointer, keyPrefix)];
    const events: MemoryEvent[] = [];
    const other = closed(
      new RedisChatMemory({ url: sharedRedisUrl(), redis: { keyPrefix }, onEvent: (event) => events.push(event) }),
    );
    const pause = () => new Promise((resolve) => setTimeout(resolve, ms));
    for (const [index, resumer] of [here, there].entries()) {
      await here.agent.invoke(ask("q", `q${index}`), here.config);
      await pause();
      await other.withTurn("ann", (history) => history.append([human("x"), ai("y")]));
      await resumer.agent.invoke(approved(), resumer.config);
      await here.agent.invoke(ask("r", `r${index}`), here.config);
      await pause();
      await resumer.agent.invoke(approved(), resumer.config);
    }
    expect(events.filter(({ type }) => type === "turn_waits")).toEqual([]);
    const round = ["q", "x", "y", "<ai>", "found q", "answer to found q", "r", "<ai>", "found r", "answer to found r"];
    expect(sketch(await other.history("ann").getTranscript())).toEqual([...round, ...round]);
  });

  it("not behind an error of another middleware, where the run has a checkpointer", async () => {
    const keyPrefix = uniquePrefix();
    const [memory, other] = [newMemory(keyPrefix), newMemory(keyPrefix)];
    const broken = createMiddleware({
      name: "broken",
      beforeModel: ({ messages }) => {
        if (messages.at(-1)?.getType() === "tool") {
          throw new Error("broken");
        }
      },
    });
    const middleware = [broken, redisMemoryMiddleware({ memory, oneTurnAtATime: true })];
    const agent = createAgent({ model: model(), tools: [lookup], middleware, checkpointer: new MemorySaver() });
    await expect(agent.invoke(ask("q", "q1"), { configurable: { thread_id: "ann" } })).rejects.toThrow("broken");
    expect(await other.withTurn("ann", () => "free", { waitMs: 0 })).toBe("free");
  });

  it("and refuses a turn of the same session that one of its tools begins", async () => {
    const keyPrefix = uniquePrefix();
    const memory = newMemory(keyPrefix);
    const keys = { configurable: { sessionId: "ann" } };
    const inner = withRedisMemory(new ScriptedModel(() => "inner"), { memory, oneTurnAtATime: true });
    const middleware = [redisMemoryMiddleware({ memory, sessionId: "ann", oneTurnAtATime: true })];
    const nested = createAgent({ model: new ToolModel(() => "inner"), tools: [], middleware });
    const begin: Record<string, () => Promise<unknown>> = {
      "a turn": () => memory.withTurn("ann", () => "never"),
      "a chain": () => inner.invoke([human("i")], keys),
      "a chain in a chain": () =>
        RunnableLambda.from(() => "q")
          .pipe(inner)
          .invoke("i", keys),
      "an agent": () => nested.invoke(ask("i", "i1"), keys),
      "another session": () => inner.invoke([human("i")], { configurable: { sessionId: "bob" } }),
    };
    const found: unknown[] = [];
    const tool = makeTool(
      async ({ query }: { query: string }) => {
        found.push(await begin[query]!().catch((error: unknown) => error));
        return `found ${query}`;
      },
      { name: "lookup", schema: z.object({ query: z.string() }) },
    );
    const agent = createAgent({ model: model(), tools: [tool], middleware });
    for (const what of Object.keys(begin)) {
      await agent.invoke(ask(what, what), keys);
    }
    const refused = { code: "nested_turn", message: expect.stringContaining("in a tool or hook of a run") };
    expect(found.slice(0, 4)).toMatchObject([refused, refused, refused, refused]);
    expect(found[4]).toMatchObject({ text: "inner" });
    expect(await memory.withTurn("ann", () => "free", { waitMs: 0 })).toBe("free");
  });
});
