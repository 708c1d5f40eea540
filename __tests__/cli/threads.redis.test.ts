import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { RedisSaver } from "langchain-redis-memory/checkpoint";
import { threadKeys } from "../../src/store/redis/keys.js";
import { jsonLines } from "../support/built-command.js";
import { commandPlaces } from "../support/command-places.js";
import { human } from "../support/messages.js";

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
