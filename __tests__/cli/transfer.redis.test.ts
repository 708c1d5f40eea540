import { once } from "node:events";
import { execFileSync } from "node:child_process";
import { chmodSync, lstatSync, readdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { RedisSaver } from "../../src/langgraph/checkpoint/redis-saver.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { jsonLines, startCommand } from "../support/built-command.js";
import { commandKey, commandPlaces, withCommandKey } from "../support/command-places.js";
import { ai, aiCalls, human, tool } from "../support/messages.js";
import { sharedRedisUrl } from "../support/shared-redis.js";

const { client, place, file } = commandPlaces("transfer");
const talk = [human("Oslo?"), aiCalls("c1"), tool("c1", "4 °C"), ai("4 °C.")];
const summary = (output: string) => output.trim().split("\n").at(-1);

describe("the commands export and import", () => {
  it("bring sessions to another place whole, and encrypted ones with their keys only", async () => {
    const source = place();
    await source.memory.history("ann", { owner: "a", title: "T" }).append(talk, { turnId: "t1" });
    const encryption = { current: commandKey };
    const sealed = new RedisChatMemory({ client, redis: { keyPrefix: source.keyPrefix }, encryption });
    await sealed.history("bob", { title: "secret title" }).addMessages(talk);
    const part = await source.command(["export", "--all"]);
    expect(part.exitCode).toBe(1);
    expect(part.errors).toContain('bob: encrypted with the key "k1", which is not in LANGCHAIN_REDIS_MEMORY_KEYS');
    const whole = await source.command(["export", "--all"], withCommandKey);
    expect([whole.exitCode, whole.errors]).toEqual([0, "2 sessions exported.\n"]);
    const target = place();
    const imported = await target.command(["import", "-"], { input: whole.output });
    expect([imported.exitCode, imported.output]).toEqual([
      0,
      "2 sessions imported with 8 messages, 0 there already.\n",
    ]);
    const again = await target.command(["import", "-"], { input: whole.output });
    expect(summary(again.output)).toBe("0 sessions imported with 0 messages, 2 there already.");
    expect(await target.memory.sessions.get("ann")).toMatchObject({ owner: "a", title: "T", messages: 4 });
    expect((await target.memory.history("ann").append(talk, { turnId: "t1" })).repeated).toBe(true);
    expect((await target.memory.history("bob").getMessages()).map(({ text }) => text)).toEqual(
      talk.map(({ text }) => text),
    );
  });

  it("bring threads to another place, all or those of an owner, and name one that is damaged", async () => {
    const [source, target] = [place(), place()];
    const thread = (thread_id: string, owner?: string) => ({ configurable: { thread_id, ...(owner && { owner }) } });
    const graphOf = (memory: RedisChatMemory) =>
      new StateGraph(MessagesAnnotation)
        .addNode("a", () => ({ messages: [] }))
        .addEdge(START, "a")
        .compile({ checkpointer: new RedisSaver({ memory }) });
    await source.memory.history("ann", { owner: "a" }).append(talk);
    for (const [id, owner] of [["ann"], ["anns", "a"], ["nobodys"], ["damaged"]] as const) {
      await graphOf(source.memory).invoke({ messages: [human(`${id}?`)] }, thread(id, owner));
    }
    await client.unlink(`${source.keyPrefix}:{damaged}:order`);
    const { exitCode, output, errors } = await source.command(["export", "--all"]);
    expect([exitCode, errors]).toEqual([
      1,
      expect.stringMatching(/^thread damaged: Redis lost a part.*\n1 session and 3 threads exported, 1 problem\.\n$/),
    ]);
    const own = await source.command(["export", "--owner", "a"]);
    expect([own.exitCode, own.errors]).toEqual([0, "1 session and 2 threads exported.\n"]);
    const imported = await target.command(["import", "-"], { input: output });
    expect([imported.exitCode, imported.output]).toEqual([
      0,
      "1 session imported with 4 messages, 0 there already.\n3 threads imported.\n",
    ]);
    const again = await target.command(["import", "-"], { input: output });
    expect(again.output).toBe("0 sessions imported with 0 messages, 4 there already.\n");
    const { values } = await graphOf(target.memory).getState(thread("nobodys"));
    expect((values as typeof MessagesAnnotation.State).messages.map(({ text }) => text)).toEqual(["nobodys?"]);
  });

  it("export to a file that is complete or absent, and show how far they are in percent", async () => {
    const { memory, command } = place();
    await memory.history("ann").addMessages(talk);
    const path = file("an earlier export\n");
    const beside = () => readdirSync(dirname(path)).filter((name) => name.startsWith(basename(path)));
    const interrupted = await command(["export", "--all", "--out", path], { isInterrupted: true });
    expect([interrupted.exitCode, interrupted.errors]).toEqual([
      130,
      "Interrupted. Nothing was written; run the same command again.\n",
    ]);
    expect([readFileSync(path, "utf8"), beside()]).toEqual(["an earlier export\n", [basename(path)]]);
    const done = await command(["export", "--all", "--out", path], { errorColumns: 80 });
    expect([done.exitCode, done.output, done.errors]).toEqual([0, "", expect.stringContaining("1 session exported.")]);
    expect(done.errors).toMatch(/ 0 % {2}0 of 4 messages {2}\S+ left/);
    const { output } = await command(["export", "--all"]);
    expect([readFileSync(path, "utf8"), beside()]).toEqual([output, [basename(path)]]);
    const imported = await place().command(["import", path], { errorColumns: 80 });
    expect(imported.errors).toMatch(/ 0 % {2}0 B of [\d.]+ k?B {2}\S+ left/);
    for (const wrong of [dirname(path), join(path, "none")]) {
      expect((await command(["export", "--all", "--out", wrong])).exitCode).toBe(2);
    }
  });

  it("leave an earlier export where there is nothing to export, with an exit code of its own", async () => {
    const { memory, command, keyPrefix } = place();
    const sealed = new RedisChatMemory({ client, redis: { keyPrefix }, encryption: { current: commandKey } });
    await sealed.history("bob", { owner: "bob" }).addMessages(talk);
    const path = file("an earlier export\n");
    for (const [exitCode, ...args] of [
      [5, "--owner", "nobody"],
      [1, "nope"],
      [1, "bob"],
      [1, "--all"],
    ] as const) {
      const done = await command(["export", ...args, "--out", path]);
      expect([args, done.exitCode]).toEqual([args, exitCode]);
      expect(done.errors).toContain("which stays as it was");
      expect(readFileSync(path, "utf8")).toBe("an earlier export\n");
    }
    await memory.history("ann").addMessages(talk);
    const part = await command(["export", "--all", "--out", path]);
    expect([part.exitCode, part.errors]).toEqual([1, expect.stringContaining("holds what could be exported")]);
    expect(readFileSync(path, "utf8")).toContain('"ann"');
    expect((await command(["migrate", "--pattern", "nobody-wrote:*"])).exitCode).toBe(5);
    expect((await command(["delete", "--owner", "nobody", "--yes"])).exitCode).toBe(5);
  });

  it("write into pipes and devices, and into no file that is write-protected", async () => {
    const { memory, command } = place();
    await memory.history("ann").addMessages(talk);
    const pipe = `${file("")}.pipe`;
    execFileSync("mkfifo", [pipe]);
    const reader = readFile(pipe, "utf8");
    expect((await command(["export", "ann", "--out", pipe])).exitCode).toBe(0);
    expect(await reader).toContain('"ann"');
    expect(lstatSync(pipe).isFIFO()).toBe(true);
    const device = `${file("")}.device`;
    symlinkSync("/dev/null", device);
    expect((await command(["export", "ann", "--out", device])).exitCode).toBe(0);
    expect(lstatSync(device).isSymbolicLink()).toBe(true);
    const kept = file("kept\n");
    chmodSync(kept, 0o444);
    expect((await command(["export", "ann", "--out", kept])).exitCode).toBe(2);
    expect(readFileSync(kept, "utf8")).toBe("kept\n");
  });

  it("export to a file that stays as it was where the export was killed, and is complete after the next", async () => {
    const { memory, command, keyPrefix } = place();
    const ids = Array.from({ length: 400 }, (_, index) => `s${index}`);
    await Promise.all(ids.map((id) => memory.history(id).addMessages(talk)));
    const path = file("an earlier export\n");
    const part = () => readdirSync(dirname(path)).find((name) => name.startsWith(`${basename(path)}.`)) ?? "none";
    const running = startCommand(["export", "--all", "--out", path, "--url", sharedRedisUrl(), "--prefix", keyPrefix]);
    while ((statSync(join(dirname(path), part()), { throwIfNoEntry: false })?.size ?? 0) === 0) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    running.kill("SIGKILL");
    await once(running, "exit");
    expect(readFileSync(path, "utf8")).toBe("an earlier export\n");
    expect(await command(["export", "--all", "--out", path])).toMatchObject({
      ...{ exitCode: 0, errors: "400 sessions exported.\n" },
    });
    const again = await place().command(["import", path]);
    expect(again.output).toContain("400 sessions imported with 1,600 messages");
  });

  it("say of sealed sessions that a key is missing, in every command, and take no wrong key", async () => {
    const { keyPrefix, command } = place();
    const sealed = new RedisChatMemory({ client, redis: { keyPrefix }, encryption: { current: commandKey } });
    await sealed.history("bob", { title: "secret title" }).addMessages(talk);
    const listed = await command(["sessions", "--json"]);
    expect([listed.exitCode, jsonLines(listed.output)]).toEqual([0, [expect.objectContaining({ locked: true })]]);
    expect(listed.output).not.toContain("~");
    for (const args of [
      ["show", "bob"],
      ["check", "bob"],
      ["export", "bob"],
      ["simulate", "bob"],
    ]) {
      const { exitCode, output, errors } = await command(args);
      expect([args[0], exitCode, output + errors]).toEqual([args[0], 1, expect.stringContaining('with the key "k1"')]);
    }
    expect((await command(["check", "bob"], withCommandKey)).exitCode).toBe(0);
    const wrong = await command(["sessions"], { env: { LANGCHAIN_REDIS_MEMORY_KEYS: "k1:secret" } });
    expect(wrong.exitCode).toBe(2);
    expect(wrong.errors).not.toContain("secret");
  });

  it("say once for each key how many sessions need it, and go on with the others", async () => {
    const { keyPrefix, memory, command } = place();
    const sealed = new RedisChatMemory({ client, redis: { keyPrefix }, encryption: { current: commandKey } });
    for (let index = 0; index < 30; index += 1) {
      await sealed.history(`locked-${index}`).addMessages(talk);
    }
    await memory.history("plain").addMessages([human("q"), aiCalls("c1"), human("and?")]);
    const { exitCode, output } = await command(["check", "--all"]);
    expect(exitCode).toBe(1);
    expect(output.split("\n").filter((line) => line.includes('"k1"'))).toEqual([
      '30 sessions need the key "k1", which is not in LANGCHAIN_REDIS_MEMORY_KEYS: not checked',
    ]);
    expect(output).toContain("plain: structure 1:");
    expect(output).toContain("1 session checked, 30 could not be, 31 findings.");
    const each = jsonLines((await command(["check", "--all", "--json"])).output);
    expect(each.filter(({ keyId }) => keyId === "k1")).toHaveLength(30);
  });

  it("give and take OpenAI's format, a conversation a line", async () => {
    const source = place();
    await source.memory.history("ann").addMessages(talk);
    const { output } = await source.command(["export", "ann", "--format", "openai"]);
    const [line] = jsonLines(output) as [{ sessionId: string; messages: { role: string }[] }];
    expect([line.sessionId, line.messages.map(({ role }) => role)]).toEqual([
      "ann",
      ["user", "assistant", "tool", "assistant"],
    ]);
    const target = place();
    const path = file(`${output}{"messages":[{"role":"user","content":"hi"}]}\nsecret {\n`, "chats.jsonl");
    const stopped = await target.command(["import", path, "--format", "openai"]);
    expect([stopped.exitCode, stopped.output.split("\n")[0]]).toEqual([
      1,
      `${path}:3: session "chats-3": the line is no JSON.`,
    ]);
    const going = await target.command(["import", path, "--format", "openai", "--keep-going"]);
    expect(going.exitCode).toBe(1);
    expect(going.output).toContain("0 sessions imported with 0 messages, 2 there already.");
    expect((await target.memory.history("chats-2").getMessages()).map(({ text }) => text)).toEqual(["hi"]);
    await target.memory.history("chats-2").addMessages([ai("more")]);
    const differs = await target.command(["import", path, "--format", "openai"]);
    expect(differs.output).toContain('session "chats-2": the session exists with other messages');
  });

  it("takes a ChatHistory of Semantic Kernel, LangGraph's state, and MessageHistory's JSON", async () => {
    const { memory, command } = place();
    const call = {
      $type: "FunctionCallContent",
      Id: "c1",
      PluginName: "Weather",
      FunctionName: "get",
      Arguments: { city: "Oslo" },
    };
    const net = [
      { Role: { Label: "user" }, Items: [{ $type: "TextContent", Text: "Oslo?" }], AuthorName: "ann" },
      { Role: { Label: "assistant" }, Items: [call] },
      { Role: { Label: "tool" }, Items: [{ $type: "FunctionResultContent", CallId: "c1", Result: { celsius: 4 } }] },
    ];
    const python = {
      messages: [{ role: "user", items: [{ content_type: "text", text: "hi" }] }],
      system_message: "Be brief.",
    };
    const sk = file(`${JSON.stringify(net)}\n${JSON.stringify(python)}\n`, "sk.jsonl");
    expect((await command(["import", sk, "--format", "semantic-kernel"])).errors).toBe("");
    const fromNet = await memory.history("sk-1").getMessages();
    expect(fromNet.map((message) => message.getType())).toEqual(["human", "ai", "tool"]);
    expect(fromNet[1]).toMatchObject({ tool_calls: [{ id: "c1", name: "Weather-get", args: { city: "Oslo" } }] });
    expect((await memory.history("sk-2").getMessages()).map(({ text }) => text)).toEqual(["Be brief.", "hi"]);
    const state = { values: { messages: talk }, config: { configurable: { thread_id: "thread-7" } } };
    const graph = file(JSON.stringify(state, null, 2), "state.json");
    expect((await command(["import", graph, "--format", "langgraph"])).exitCode).toBe(0);
    expect((await memory.history("thread-7").getMessages())[1]).toMatchObject({ tool_calls: [{ id: "c1" }] });
    const history = file(JSON.stringify([{ role: "user", content: "hi", metadata: { a: 1 } }], null, 1), "mine.json");
    expect((await command(["import", history, "--format", "message-history"])).exitCode).toBe(0);
    expect(await memory.history("mine").getMessages()).toHaveLength(1);
  });

  it("stops at a broken line of its own form with what came before, and goes on with --keep-going", async () => {
    const source = place();
    for (const id of ["a", "b", "c"]) {
      await source.memory.history(id).addMessages([human("secret"), ai("text")]);
    }
    const { output } = await source.command(["export", "a", "b", "c"]);
    const path = file(output.split("\n").with(6, "secret {").join("\n"), "own.jsonl");
    const target = place();
    const stopped = await target.command(["import", path]);
    expect([stopped.exitCode, stopped.errors]).toEqual([1, expect.stringContaining("--keep-going")]);
    expect(stopped.output).toContain(`${path}:7: session "b": it is no JSON.`);
    expect(stopped.output).not.toContain("secret");
    const going = await target.command(["import", path, "--keep-going", "--json"]);
    expect([going.exitCode, jsonLines(going.output).map(({ outcome }) => outcome)]).toEqual([
      1,
      ["unchanged", "failed", "imported"],
    ]);
    expect(await target.memory.history("b").getMessages()).toEqual([]);
  });
});
