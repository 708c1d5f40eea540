import { HumanMessage } from "@langchain/core/messages";
import { Command, interrupt, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { RedisSaver } from "../../src/langgraph/checkpoint/redis-saver.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import type { EncryptionOptions } from "../../src/store/sealed/keys/key-ring.js";
import type { SessionProblem } from "../../src/memory/sessions/stored-sessions.js";
import { closedAfterEach } from "../support/closed-after-each.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";
import { storedBytes } from "../support/stored-bytes.js";
import { testKeys } from "../support/test-keys.js";

const client = sharedClient();
const closed = closedAfterEach();

/** A memory under a prefix of its own, and a graph whose question waits in its thread. */
function place(encryption?: EncryptionOptions, threadTTL?: number) {
  const keyPrefix = uniquePrefix();
  const memory = closed(new RedisChatMemory({ client, redis: { keyPrefix }, ...(encryption && { encryption }) }));
  const saver = new RedisSaver({ memory, ...(threadTTL && { threadTTL }) });
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("a", () => ({ messages: [{ role: "ai", content: `answer ${interrupt("ask")}` }] }))
    .addEdge(START, "a")
    .compile({ checkpointer: saver });
  const ask = (thread_id: string, owner?: string) =>
    graph.invoke(
      { messages: [{ role: "human", content: `question of ${thread_id} `.repeat(30) }] },
      { configurable: { thread_id, ...(owner && { owner }) } },
    );
  const stored = async () => [...(await storedBytes(client, keyPrefix)).entries()].join();
  return { keyPrefix, memory, saver, graph, ask, stored };
}
type Place = ReturnType<typeof place>;

async function linesOf({ memory }: Place, problems?: SessionProblem[]): Promise<string[]> {
  const lines: string[] = [];
  const options = problems === undefined ? {} : { onProblem: (problem: SessionProblem) => problems.push(problem) };
  for await (const line of memory.sessions.exportOwner("ann", options)) {
    lines.push(line);
  }
  return lines;
}

/** Threads of Ann's by each way in which one is theirs, and of others. */
async function writeEach({ memory, ask }: Place) {
  await memory.history("session", { owner: "ann" }).addMessages([new HumanMessage("hi")]);
  await ask("session");
  await ask("alone", "ann");
  await ask("another", "ann");
  await ask("one-more", "ann");
  await memory.history("of-bob", { owner: "bob" }).addMessages([new HumanMessage("hi")]);
  await ask("of-bob");
  await ask("bobs", "bob");
  await ask("nobodys");
  await memory.drain();
}
const anns = ["alone", "another", "one-more", "session"];
const forms: readonly [string, EncryptionOptions | undefined, EncryptionOptions | undefined][] = [
  ["plain", undefined, undefined],
  ["encrypted", testKeys("k1"), testKeys("k2")],
];

describe.each(forms)("an export of an owner, %s", (_, before, after) => {
  it("holds what the erasure removes, and its import reads and goes on as the original did", async () => {
    const [from, to] = [place(before), place(after)];
    await writeEach(from);
    const lines = await linesOf(from);
    const threads = lines.map((line) => JSON.parse(line) as { type: string; threadId: string });
    expect(threads.flatMap(({ type, threadId }) => (type === "thread" ? threadId : [])).sort()).toEqual(anns);
    await from.memory.sessions.deleteOwner("ann", { unlisted: true });
    const left = await from.stored();
    anns.forEach((id) => expect(left).not.toContain(`question of ${id} `));
    expect(await linesOf(from)).toEqual([]);

    const done = await to.memory.sessions.import(lines);
    expect(done).toMatchObject({ sessions: 1, threads: 4, failed: 0 });
    expect((await to.stored()).includes("question of")).toBe(after === undefined);
    for (const thread_id of anns) {
      const config = { configurable: { thread_id } };
      expect((await to.graph.getState(config)).tasks[0]?.interrupts[0]?.value).toBe("ask");
      const { messages } = await to.graph.invoke(new Command({ resume: "yes" }), config);
      expect(messages.at(-1)?.text).toBe("answer yes");
    }
    expect(await to.memory.sessions.deleteOwner("ann", { unlisted: true })).toMatchObject({ sessions: 4 });
  });

  it("is imported once: again it changes nothing, and other content is refused", async () => {
    const [from, to] = [place(before), place(after)];
    await from.ask("alone", "ann");
    const lines = await linesOf(from);
    await to.memory.sessions.import(lines);
    expect(await to.memory.sessions.import(lines)).toMatchObject({ threads: 0, unchanged: 1 });
    await to.graph.invoke(new Command({ resume: "yes" }), { configurable: { thread_id: "alone" } });
    await expect(to.memory.sessions.import(lines)).rejects.toMatchObject({ code: "exists", sessionId: "alone" });
    await to.memory.sessions.delete("alone");
    await expect(to.memory.sessions.import(lines)).rejects.toMatchObject({ code: "erased" });
  });
});

describe("an export of an owner", () => {
  it("keeps the expiry of a thread, and leaves out one that has expired since", async () => {
    const [from, to, late] = [place(undefined, 1_000), place(), place()];
    await from.ask("alone", "ann");
    const [line = ""] = await linesOf(from);
    await to.memory.sessions.import([line]);
    const left = await client.pttl(`${to.keyPrefix}:{alone}:items`);
    expect([left > 900_000, left <= 1_000_000]).toEqual([true, true]);
    const past = line.replace(/"expiresAt":\d+/, `"expiresAt":${Date.now() - 1}`);
    expect(await late.memory.sessions.import([past])).toMatchObject({ threads: 0, expired: 1 });
    expect(await late.memory.sessions.import([past], { sessionTTL: 10 })).toMatchObject({ threads: 1 });
  });

  it("names sessions and threads that cannot be read, and exports the others", async () => {
    const from = place();
    await writeEach(from);
    for (const lost of ["log", "state"]) {
      await client.unlink(`${from.keyPrefix}:{session}:${lost}`);
    }
    await client.unlink(`${from.keyPrefix}:{another}:items`);
    const problems: SessionProblem[] = [];
    const lines = await linesOf(from, problems);
    expect(lines.map((line) => (JSON.parse(line) as { threadId: string }).threadId).sort()).toEqual([
      ...["alone", "one-more", "session"],
    ]);
    expect(problems.map(({ sessionId, kind, error }) => [sessionId, kind, error.code])).toEqual([
      ["session", undefined, "damaged"],
      ["another", "thread", "damaged"],
    ]);
    await expect(linesOf(from)).rejects.toMatchObject({ code: "damaged", sessionId: "session" });
  });

  it.each([
    ["no token", (line: string) => line.replace('"token"', '"taken"')],
    ["a missing item", (line: string) => line.replace('"items":["",', '"items":[')],
    ["items that are no texts", (line: string) => line.replace('"items":["",', '"items":[1,')],
    ["a tombstone", (line: string) => line.replace('"fields":{', '"fields":{"erased":"1",')],
    ["encrypted text", (line: string) => line.replace(/("items":\["",)"/, '$1"~k1 ')],
    ["no id", (line: string) => line.replace('"threadId":"alone"', '"threadId":""')],
  ])("is refused with %s, and nothing is written", async (_, change) => {
    const [from, to] = [place(), place()];
    await from.ask("alone", "ann");
    const [line = ""] = await linesOf(from);
    expect(change(line)).not.toBe(line);
    await expect(to.memory.sessions.import([change(line)])).rejects.toMatchObject({ code: "corrupt" });
    expect(await to.stored()).toBe("");
    const problems: unknown[] = [];
    const onProblem = (problem: unknown) => problems.push(problem);
    const done = await to.memory.sessions.import([change(line), line.replaceAll("alone", "other")], { onProblem });
    expect([done.threads, problems.length]).toEqual([1, 1]);
  });
});
