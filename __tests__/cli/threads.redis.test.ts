import { Annotation, Command, END, interrupt, Send, START, StateGraph } from "@langchain/langgraph";
import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { RedisSaver } from "langchain-redis-memory/checkpoint";
import { threadKeys } from "../../src/store/redis/keys.js";
import { jsonLines } from "../support/built-command.js";
import { commandKey, commandPlaces, withCommandKey } from "../support/command-places.js";
import { hostedCommands } from "../support/hosted-commands.js";
import { human } from "../support/messages.js";
import { sharedRedisUrl } from "../support/shared-redis.js";

const { client, place } = commandPlaces("threads");

async function put(saver: RedisSaver, threadId: string, count: number): Promise<void> {
  for (let step = 0; step < count; step += 1) {
    const checkpoint = { ...emptyCheckpoint(), id: uuid6(step), channel_values: { messages: [human(`m${step}`)] } };
    const metadata = { source: "loop" as const, step, parents: {} };
    await saver.put({ configurable: { thread_id: threadId } }, checkpoint, metadata, {});
  }
}

describe("the command threads", () => {
  it("lists threads with their checkpoints, those with the most first, and no sessions", async () => {
    const { keyPrefix, memory, command } = place();
    const saver = new RedisSaver({ client, keyPrefix });
    await memory.history("a session").addMessages([human("Hi")]);
    await put(saver, "short", 1);
    await put(new RedisSaver({ client, keyPrefix, threadTTL: 7_200 }), "long: {x}\n", 3);
    const { exitCode, output } = await command(["threads", "--json"]);
    expect([exitCode, jsonLines(output)]).toEqual([
      0,
      [
        { threadId: "long: {x}\n", checkpoints: 3, items: expect.any(Number), expiresAt: expect.any(Number) },
        { threadId: "short", checkpoints: 1, items: expect.any(Number) },
      ],
    ]);
    const text = (await command(["threads"])).output;
    expect(text).toMatch(/^long: \{x\}⏎ +3 +\d+ +1 h$/m);
    expect(text).toMatch(/\n2 of 2 threads\.\n$/);
    expect((await command(["threads", "--match", "sho", "--limit", "1"])).output).toMatch(/\n1 of 1 thread\.\n$/);
    expect((await command(["sessions"])).output).toMatch(/\n1 of 1 sessions\.\n$/);
  });

  it("says where there is none", async () => {
    expect((await place().command(["threads"])).output).toBe("No thread was found. Check --prefix, and --match.\n");
  });

  it.each(["items", "checkpoints", "order"] as const)("marks a thread without its %s", async (part) => {
    const { keyPrefix, command } = place();
    await put(new RedisSaver({ client, keyPrefix }), "hurt", 2);
    await put(new RedisSaver({ client, keyPrefix }), "sound", 2);
    await client.unlink(threadKeys(keyPrefix, "hurt")[part]);
    const { exitCode, output } = await command(["threads", "--json"]);
    expect(exitCode).toBe(0);
    expect(jsonLines(output).map(({ threadId, damaged }) => [threadId, damaged])).toEqual(
      expect.arrayContaining([
        ["hurt", true],
        ["sound", undefined],
      ]),
    );
    await client.set(threadKeys(keyPrefix, "hurt")[part], "text");
    expect((await command(["threads"])).output).toMatch(/^hurt .* damaged$/m);
  });
});

describe("the command prune", () => {
  it("drops the older checkpoints, and none with --dry-run", async () => {
    const { keyPrefix, command } = place();
    await put(new RedisSaver({ client, keyPrefix }), "t", 5);
    const prune = ["prune", "--thread", "t", "--keep", "2"];
    const dry = await command([...prune, "--dry-run"]);
    expect([dry.exitCode, dry.output]).toEqual([
      0,
      "t: at most 3 checkpoints of the root graph would be dropped. Nothing was dropped (--dry-run).\n",
    ]);
    const left = async () => jsonLines((await command(["threads", "--json"])).output)[0]!["checkpoints"];
    expect(await left()).toBe(5);
    expect(await command(prune)).toMatchObject({ exitCode: 0, output: "t: 3 checkpoints dropped\n" });
    expect(await left()).toBe(2);
    expect((await command([...prune, "--json"])).output).toBe('{"threadId":"t","dropped":0}\n');
  });

  it("needs a thread that is there, and both options", async () => {
    const { command } = place();
    const { exitCode, errors } = await command(["prune", "--thread", "none", "--keep", "1"]);
    expect([exitCode, errors]).toEqual([1, 'prune: there is no thread "none". Check --prefix.\n']);
    expect((await command(["prune", "--thread", "none"])).exitCode).toBe(2);
  });
});

describe("the command delete", () => {
  it("removes the thread of the same id, and says so, also where there is no session", async () => {
    const { keyPrefix, memory, command } = place();
    const saver = new RedisSaver({ client, keyPrefix });
    await memory.history("both", { owner: "ann" }).addMessages([human("Hi")]);
    await memory.history("owned", { owner: "ann" }).addMessages([human("Hi")]);
    for (const id of ["both", "thread", "owned", "kept"]) {
      await put(saver, id, 2);
    }
    const dry = await command(["delete", "thread", "--dry-run"]);
    expect(dry.output).toContain("thread: would be deleted, 0 messages, with 2 checkpoints of the LangGraph thread\n");
    const named = await command(["delete", "both", "thread", "--yes"]);
    const outcome = "deleted, with 2 checkpoints of the LangGraph thread";
    expect([named.exitCode, named.output]).toEqual([0, `both: ${outcome}\nthread: ${outcome}\n`]);
    await command(["delete", "--owner", "ann", "--yes"]);
    const { output } = await command(["threads", "--json"]);
    expect(jsonLines(output).map(({ threadId }) => threadId)).toEqual(["kept"]);
  });
});

const run = hostedCommands();

const State = Annotation.Root({
  notes: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
  count: Annotation<number>,
});

/** A graph with a join, sent tasks and an interrupt. */
function graphOn(checkpointer: RedisSaver) {
  return new StateGraph(State)
    .addNode("left", () => ({ notes: ["a long note ".repeat(30)] }))
    .addNode("right", () => ({ count: 1 }))
    .addNode("ask", () => ({ notes: [interrupt({ question: "Really?" })] }))
    .addNode("sent", () => ({ notes: ["sent"] }))
    .addEdge(START, "left")
    .addEdge(START, "right")
    .addEdge(["left", "right"], "ask")
    .addConditionalEdges("ask", () => [new Send("sent", { notes: [] }), new Send("sent", { notes: [] })], ["sent"])
    .addEdge("sent", END)
    .compile({ checkpointer });
}

const at = (threadId: string) => ({ configurable: { thread_id: threadId } });

async function idsOf(saver: RedisSaver, threadId: string): Promise<string[]> {
  const ids: string[] = [];
  for await (const { checkpoint } of saver.list(at(threadId))) {
    ids.push(checkpoint.id);
  }
  return ids;
}

describe("the command show --thread", () => {
  it("says of each checkpoint what LangGraph's history says, and what changed", async () => {
    const { keyPrefix, command } = place();
    const graph = graphOn(new RedisSaver({ client, keyPrefix }));
    await graph.invoke({ count: 0 }, at("t"));
    const waiting = jsonLines((await command(["show", "--thread", "t", "--json"])).output);
    expect(waiting[1]).toMatchObject({ next: ["ask"], interrupts: 1 });
    const asked = await command(["show", "--thread", "t", "--content"]);
    expect(asked.output).toMatch(/\n {7}waits for 1 interrupt\n.*"question":"Really\?"/);
    await graph.invoke(new Command({ resume: "yes" }), at("t"));
    const { exitCode, output } = await command(["show", "--thread", "t", "--json"]);
    const [heading, ...shown] = jsonLines(output);
    const history = [];
    for await (const { config, metadata, next, createdAt } of graph.getStateHistory(at("t"))) {
      const { step, source } = metadata!;
      history.push({ id: config.configurable!["checkpoint_id"], step, source, next, at: Date.parse(createdAt!) });
    }
    expect([exitCode, heading!["checkpoints"]]).toEqual([0, history.length]);
    expect(shown.map(({ next, ...rest }) => ({ ...rest, next: [...(next as string[])].sort() }))).toEqual(
      history.map(({ next, ...rest }) => expect.objectContaining({ ...rest, next: [...next].sort() })),
    );
    const changed = shown.map((checkpoint) => [...(checkpoint["changed"] as string[])].sort());
    expect(changed).toEqual([["notes"], ["notes"], ["count", "notes"], ["count"], []]);
    expect(shown.map(({ interrupts }) => interrupts)).toEqual([0, 0, 0, 0, 0]);
  });

  it("shows the last ones against parents that are not shown, and opens what is encrypted", async () => {
    const { keyPrefix, command } = place();
    const encryption = { current: commandKey };
    await graphOn(new RedisSaver({ client, keyPrefix, encryption })).invoke({ count: 0 }, at("t"));
    const args = ["show", "--thread", "t", "--last", "1", "--json"];
    const lines = jsonLines((await command(args, withCommandKey)).output);
    expect(lines.slice(1)).toMatchObject([{ next: ["ask"], changed: expect.arrayContaining(["notes"]) }]);
    const without = await command(args);
    expect([without.exitCode, without.errors]).toEqual([1, expect.stringContaining('encrypted with the key "k1"')]);
  });

  it("names checkpoints that cannot be read, goes on, fits the terminal, and ends with 1", async () => {
    const { keyPrefix } = place();
    const saver = new RedisSaver({ client, keyPrefix });
    await graphOn(saver).invoke({ count: 0 }, at("t"));
    const ids = await idsOf(saver, "t");
    await client.hset(threadKeys(keyPrefix, "t").checkpoints, `c\0${ids[1]}`, "garbage");
    const args = ["show", "--thread", "t", "--url", sharedRedisUrl(), "--prefix", keyPrefix];
    const { exitCode, output, errors, wide } = await run(args, { columns: 60 });
    expect([exitCode, wide]).toEqual([1, []]);
    expect(errors.replace(/\s+/g, " ")).toBe(`Not shown: checkpoint ${ids[1]}: its record is no checkpoint `);
    expect(ids.filter((id) => output.includes(id!))).toEqual(ids);
    expect(output).toContain("its parent cannot be read, or was dropped");
  });

  it("says where the thread is none, or lost a key, or a session is meant", async () => {
    const { keyPrefix, memory, command } = place();
    await memory.history("session").addMessages([human("Hi")]);
    const none = await command(["show", "--thread", "session"]);
    expect([none.exitCode, none.errors]).toEqual([1, 'show: there is no thread "session". Check --prefix.\n']);
    await graphOn(new RedisSaver({ client, keyPrefix })).invoke({ count: 0 }, at("hurt"));
    await client.unlink(threadKeys(keyPrefix, "hurt").items);
    const hurt = await command(["show", "--thread", "hurt"]);
    expect([hurt.exitCode, hurt.errors]).toEqual([1, expect.stringContaining("Redis lost a part of it; it cannot be")]);
    await client.set(threadKeys(keyPrefix, "hurt").items, "text");
    expect((await command(["show", "--thread", "hurt"])).errors).toContain("holds another type of value");
    expect((await command(["show"])).exitCode).toBe(2);
    expect((await command(["show", "session", "--thread", "hurt"])).exitCode).toBe(2);
  });
});

describe("the command check", () => {
  it("reads every checkpoint of a thread, names those that cannot be read, and ends with 1", async () => {
    const { keyPrefix, command } = place();
    const saver = new RedisSaver({ client, keyPrefix });
    await graphOn(saver).invoke({ count: 0 }, at("t"));
    const sound = await command(["check", "--thread", "t"]);
    expect([sound.exitCode, sound.output]).toEqual([0, "1 thread checked, 0 findings.\n"]);
    const ids = await idsOf(saver, "t");
    const { items, checkpoints } = threadKeys(keyPrefix, "t");
    await client.hset(checkpoints, `c\0${ids[1]}`, "garbage");
    await client.lset(items, -1, "");
    const other = `c\0${ids[2]}`;
    await client.hset(checkpoints, other, (await client.hget(checkpoints, other))!.replace("|", "|99999,"));
    const hurt = await command(["check", "--thread", "t", "--json"]);
    const finding = { threadId: "t", problem: "unreadable checkpoint", severity: "error" };
    expect([hurt.exitCode, jsonLines(hurt.output)]).toEqual([
      1,
      [
        { ...finding, id: ids[0], detail: "a part of it is missing in Redis" },
        { ...finding, id: ids[1], detail: "its record is no checkpoint" },
        { ...finding, id: ids[2], detail: "a part of it is missing in Redis" },
      ],
    ]);
    expect((await command(["check", "--thread", "t"])).output).toContain(`thread t: unreadable checkpoint ${ids[1]}: `);
  });

  it("judges all threads beside the sessions, whole, damaged and locked ones", async () => {
    const { keyPrefix, memory, command } = place();
    await memory.history("session").addMessages([human("Hi"), human("Hello")]);
    const encryption = { current: commandKey };
    await graphOn(new RedisSaver({ client, keyPrefix, encryption })).invoke({ count: 0 }, at("locked"));
    await graphOn(new RedisSaver({ client, keyPrefix })).invoke({ count: 0 }, at("sound"));
    const all = await command(["check", "--all"], withCommandKey);
    expect([all.exitCode, all.output]).toEqual([0, "1 session and 2 threads checked, 0 findings.\n"]);
    for (const [threadId, part] of [
      ["evicted", "items"],
      ["foreign", "order"],
    ] as const) {
      await graphOn(new RedisSaver({ client, keyPrefix })).invoke({ count: 0 }, at(threadId));
      await client.unlink(threadKeys(keyPrefix, threadId)[part]);
    }
    await client.set(threadKeys(keyPrefix, "foreign").order, "text");
    const { exitCode, output } = await command(["check", "--all"]);
    expect(exitCode).toBe(1);
    expect(output).toContain("thread evicted: damaged: Redis lost a part of it; it cannot be resumed, only deleted");
    expect(output).toContain("thread foreign: damaged: a key of it holds another type of value");
    expect(output).toContain('1 thread needs the key "k1", which is not in LANGCHAIN_REDIS_MEMORY_KEYS: not checked');
    expect(output).toMatch(/\n1 session and 1 thread checked, 3 could not be, 3 findings\.\n$/);
  });

  it("says that a named thread is not there, and what to name", async () => {
    const { command } = place();
    const none = await command(["check", "--thread", "none"]);
    expect([none.exitCode, none.output]).toEqual([
      1,
      "thread none: missing: there is no thread of this id; check --prefix\n" +
        "0 threads checked, 1 could not be, 1 finding.\n",
    ]);
    expect((await command(["check"])).exitCode).toBe(2);
    expect((await command(["check", "--all", "--thread", "none"])).exitCode).toBe(2);
  });
});
