import { randomUUID } from "node:crypto";
import { AIMessage } from "@langchain/core/messages";
import { emptyCheckpoint } from "@langchain/langgraph-checkpoint";
import { Redis } from "ioredis";
import { RedisSaver } from "../../src/langgraph/checkpoint/redis-saver.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { sessionKeys } from "../../src/store/redis/keys.js";
import { hostedCommands } from "../support/hosted-commands.js";
import { ai, human, tool } from "../support/messages.js";
import { sharedRedisUrl } from "../support/shared-redis.js";

const client = new Redis(sharedRedisUrl());
const keyPrefix = `cli-width-${process.pid}`;
const memory = new RedisChatMemory({ client, redis: { keyPrefix } });
const run = hostedCommands();

const wide = "会話の記録".repeat(12);
const families = "👩‍👩‍👧‍👦".repeat(15);
const hostile = ["new\nline", "esc\u001b[31mred", wide, families, "x".repeat(300), "a b ".repeat(60), "rtl\u202eend"];
const damaged = ["no log", "no state", "no ids", "foreign ids", "foreign log", "junk"];

beforeAll(async () => {
  const talk = () => [human("long words and ".repeat(40)), ai("y".repeat(400)), human(families), ai(wide)];
  for (const id of [...hostile, ...damaged]) {
    const setting = { owner: "Owner ".repeat(30), title: `${"T".repeat(200)}\n${wide}` };
    await memory.history(id, setting).addMessages(talk());
  }
  const call = { id: "c", name: `tool_${"z".repeat(90)}`, args: { city: families } };
  const asking = new AIMessage({ content: "", tool_calls: [call] });
  await memory.history("tools").addMessages([human("?"), asking, tool("c", wide), ai("!")]);
  await memory.drain();
  const key = (id: string) => sessionKeys(keyPrefix, id);
  await client.unlink(key("no log").log, key("no state").state, key("no ids").ids);
  await client.unlink(key("foreign ids").ids, key("foreign log").log);
  await client.mset(key("foreign ids").ids, "x", key("foreign log").log, "x");
  await client.lset(key("junk").log, 1, "junk");
  await client.rpush(`${keyPrefix}-lists:${"l".repeat(120)}`, "junk");
});
afterAll(async () => {
  await memory.close();
  await client.quit();
});

const lists = ["--pattern", `${keyPrefix}-lists:*`, "--dry-run"];
const lines: readonly (readonly string[])[] = [
  ...[["sessions"], ["sessions", "--match", "none"], ["stats"], ["check", "--all", "--warnings"], ["check", "none"]],
  ...[...hostile, ...damaged, "tools", "none"].map((id) => ["show", id, "--content"]),
  ...damaged.map((id) => ["rebuild", id, "--dry-run"]),
  ...[
    ["rebuild", "no log"],
    ["rebuild", wide, "--dry-run"],
    ["delete", ...hostile, "none", "--dry-run"],
  ],
  ...[["delete", wide], ["delete", "--owner", "Owner ".repeat(30), "--dry-run"], ["export", "none"], ["reindex"]],
  ...[["reencrypt"], ["import", "none"], ["migrate", ...lists], ["migrate"], ["simulate"], ["simulate", "none"]],
  ...[["simulate", "tools"], ["doctor"], ["sessions", "--limit", "-7"], ["none"], ["stats", "--sample", "3"]],
  ...[["simulate", "--help"], ["import", "--help"], []],
];

describe.each([60, 80, 120])("In %i columns, no line is wider than the terminal:", (columns) => {
  it.each(lines.map((args) => [args]))("%j", async (args) => {
    const server = args.length < 1 || args.includes("--help") ? [] : ["--url", sharedRedisUrl(), "--prefix", keyPrefix];
    const shown = await run([...args, ...server], { columns, errorColumns: columns, env: { NO_COLOR: "1" } });
    expect([shown.wide, shown.output + shown.errors]).toEqual([[], expect.stringMatching(/./)]);
    expect(shown.output + shown.errors).not.toMatch(/rebuild\(|clear\(|keyPrefix|\n +at |MOVED|WRONGTYPE|option "/);
  });
});

it("A pipe gets each line whole", async () => {
  const { output } = await run(["check", "no log", "--url", sharedRedisUrl(), "--prefix", keyPrefix]);
  expect(output).toMatch(/^no log: damaged: all 4 messages are gone.{60,}\n1 session checked, 1 finding\.\n$/);
});

it("In 80 columns, the ids of sessions and threads can be copied whole", async () => {
  const prefix = `${keyPrefix}-ids`;
  const own = new RedisChatMemory({ client, redis: { keyPrefix: prefix }, sessionTTL: 3_600 });
  const saver = new RedisSaver({ memory: own });
  const ids = ["", "chat:", "a-tenant-of-ours:chat:", "x".repeat(80 - 36)].map((kind) => `${kind}${randomUUID()}`);
  for (const id of ids) {
    await own.history(id, { owner: "Owner ".repeat(9), title: "T".repeat(80) }).addMessages([human("?"), ai("!")]);
    await saver.put(
      { configurable: { thread_id: id } },
      emptyCheckpoint(),
      { source: "input", step: -1, parents: {} },
      {},
    );
  }
  for (const command of ["sessions", "threads"]) {
    const server = ["--url", sharedRedisUrl(), "--prefix", prefix];
    const { output } = await run([command, ...server], { columns: 80, errorColumns: 80, env: { NO_COLOR: "1" } });
    expect([command, ids.filter((id) => !output.includes(id))]).toEqual([command, []]);
  }
  await own.close();
});
