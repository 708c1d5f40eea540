import { once } from "node:events";
import { mapChatMessagesToStoredMessages, type BaseMessage } from "@langchain/core/messages";
import { ownerOf } from "../../cli/migrate/list-source.js";
import { jsonLines, runCommand, startCommand } from "../support/built-command.js";
import { commandPlaces } from "../support/command-places.js";
import { hostedCommands } from "../support/hosted-commands.js";
import { ai, aiCalls, human, tool } from "../support/messages.js";
import { sharedRedisUrl } from "../support/shared-redis.js";

const { client, file, ...places } = commandPlaces("migrate");
const run = hostedCommands();
let count = 0;

/** Prefixes of a test's own: of the lists, and of this package's keys. */
function place() {
  count += 1;
  const { keyPrefix: prefix, memory, command } = places.place();
  const from = `from-${process.pid}-${count}:`;
  const migrate = (...args: readonly string[]) => command(["migrate", "--json", "--pattern", `${from}*`, ...args]);
  return { from, prefix, memory, migrate };
}

/** A list as @langchain/community, @langchain/redis and LangChain in Python write it: the newest message first. */
async function pushAll(key: string, messages: readonly BaseMessage[]): Promise<void> {
  const stored = mapChatMessagesToStoredMessages([...messages]).map((message) => JSON.stringify(message));
  for (let first = 0; first < stored.length; first += 1_000) {
    await client.lpush(key, ...stored.slice(first, first + 1_000));
  }
}

const conversation = [human("Oslo?"), aiCalls("c1"), tool("c1", "4 °C"), ai("4 °C.")];
const texts = (messages: readonly BaseMessage[]) => messages.map((message) => message.text);
const summaryOf = (output: string) => jsonLines(output).at(-1);

describe("the command migrate", () => {
  it("copies every list of a pattern, names sessions without the prefix, and leaves the lists alone", async () => {
    const { from, memory, migrate } = place();
    await pushAll(`${from}ann`, conversation);
    await pushAll(`${from}bob`, [human("hi"), ai("hello")]);
    const { exitCode, output, errors } = await migrate("--verify");
    expect(errors).toBe("");
    expect(exitCode).toBe(0);
    expect(summaryOf(output)).toMatchObject({ sessions: 2, messages: 6, stored: 6, different: 0, skipped: 0 });
    const copied = await memory.history("ann").getMessages();
    expect(texts(copied)).toEqual(texts(conversation));
    expect(copied[1]).toMatchObject({ tool_calls: [{ id: "c1", name: "lookup" }] });
    expect(await client.llen(`${from}ann`)).toBe(4);
  });

  it("puts copies into the list of an owner that it names, or that is a part of the key", async () => {
    const { from, memory, prefix } = place();
    for (const name of ["ann:1:x", "ann:2", "bob:1"]) {
      await pushAll(`${from}${name}`, conversation);
    }
    const command = (...args: string[]) =>
      run(["migrate", "--url", sharedRedisUrl(), "--prefix", prefix, "--pattern", `${from}*:*`, ...args]);
    expect(await command("--owner", "user $1", "--verify")).toMatchObject({ exitCode: 0, errors: "" });
    const listed = async (owner: string) =>
      (await memory.sessions.list({ owner })).sessions.map(({ sessionId }) => sessionId).sort();
    expect(await listed("user ann")).toEqual(["ann:1:x", "ann:2"]);
    expect(await listed("user bob")).toEqual(["bob:1"]);
    await expect(memory.history("bob:1", { owner: "user ann" }).getMessages()).rejects.toMatchObject({
      code: "other_owner",
    });
    const { exitCode, output } = await command("--owner", "user ann");
    expect([exitCode, output]).toEqual([
      1,
      expect.stringMatching(/bob:1: was not copied: .* belongs to another owner/),
    ]);
  });

  it("gives sessions that it copied before an owner", async () => {
    const { from, memory, migrate } = place();
    await pushAll(`${from}ann`, conversation);
    await migrate();
    expect(summaryOf((await migrate("--owner", "ann")).output)).toMatchObject({ duplicates: 4, failed: 0 });
    expect(await memory.sessions.count({ owner: "ann" })).toBe(1);
  });

  it.each([
    ["chat:*:*", "chat:ann:1:2", "$1", "ann"],
    ["chat:*:*", "chat:ann:1:2", "$2-$1", "1:2-ann"],
    ["c?at:*", "chat:ann", "$1$2$3", "hann"],
    ["[a-c]+(.*", "b+(.x", "$1/$2", "b/x"],
    ["a\\*b:*", "a*b:ann", "$1", "ann"],
    ["*", "line\nfeed", "$1", "line\nfeed"],
    ["*", "ann", "one", "one"],
  ])("takes an owner from a key: %s, %j", (pattern, key, owner, expected) => {
    expect(ownerOf(key, pattern, owner)).toBe(expected);
  });

  it("refuses a part of the key as an owner of documents of a file", async () => {
    const { exitCode, errors } = await run(["migrate", "--file", "none", "--owner", "$1"]);
    expect([exitCode, errors]).toEqual([2, expect.stringContaining("$1 to $9")]);
  });

  it("adds nothing when run again, and only what is new when the list has grown", async () => {
    const { from, memory, migrate } = place();
    await pushAll(`${from}ann`, conversation);
    await migrate();
    expect(summaryOf((await migrate()).output)).toMatchObject({ stored: 0, duplicates: 4 });
    await pushAll(`${from}ann`, [human("And Rome?")]);
    expect(summaryOf((await migrate()).output)).toMatchObject({ stored: 1, duplicates: 4 });
    expect(texts(await memory.history("ann").getTranscript()).at(-1)).toBe("And Rome?");
    await memory.history("ann").addMessages([human("more"), ai("yes")]);
    // Later messages of the copy are no difference.
    expect(await migrate("--verify")).toMatchObject({ exitCode: 0 });
  });

  it("names a session that the old and the new package wrote to, and stores nothing behind what is there", async () => {
    const { from, memory, migrate } = place();
    const long = Array.from({ length: 1_200 }, (_, index) => human(`old ${index}`));
    for (const [name, messages] of [
      ["ann", conversation],
      ["bob", conversation],
      ["long", long],
    ] as const) {
      await pushAll(`${from}${name}`, messages);
    }
    await migrate();
    await memory.history("ann").addMessages([human("New?"), ai("New.")]);
    await memory.history("long").addMessages([human("New?")]);
    for (const name of ["ann", "bob", "long"]) {
      await pushAll(`${from}${name}`, [human("Old?"), ai("Old.")]);
    }
    const namedIn = (output: string, problem: string) =>
      jsonLines(output)
        .filter((line) => line["problem"] === problem)
        .map(({ place: key, reason }) => [key, /^session "(\w+)" holds .*stop the/.exec(String(reason))?.[1]])
        .sort();
    const refused = [
      [`${from}ann`, "ann"],
      [`${from}long`, "long"],
    ];
    const dry = await migrate("--in-place", "--dry-run");
    expect(namedIn(dry.output, "cannot be copied")).toEqual(refused);
    expect(jsonLines(dry.output).filter((line) => line["wouldRemove"] === true)).toEqual([
      { place: `${from}bob`, wouldRemove: true },
    ]);
    const { exitCode, output } = await migrate();
    expect(namedIn(output, "was not copied")).toEqual(refused);
    expect(exitCode).toBe(1);
    expect(summaryOf(output)).toMatchObject({ failed: 2, stored: 2 });
    expect(texts(await memory.history("ann").getTranscript()).slice(-2)).toEqual(["New?", "New."]);
    expect(texts(await memory.history("long").getTranscript()).slice(-2)).toEqual(["old 1199", "New?"]);
    expect(texts(await memory.history("bob").getTranscript()).slice(-2)).toEqual(["Old?", "Old."]);
  });

  it("says how many of each in words that agree with the number", async () => {
    const { from, prefix } = place();
    await pushAll(`${from}ann`, [human("Hi")]);
    await client.rpush(`${from}ann`, "no JSON");
    const args = ["migrate", "--url", sharedRedisUrl(), "--prefix", prefix, "--pattern", `${from}*`, "--verify"];
    const { output } = await run(args);
    expect(output).toContain("1 session, 1 message,");
    expect(output).not.toMatch(/\b1 \w+s\b|\b1 (were|differ)\b/);
  });

  it("writes nothing with --dry-run, and compares with --dry-run --verify", async () => {
    const { from, memory, migrate } = place();
    await pushAll(`${from}ann`, conversation);
    const dry = await migrate("--dry-run");
    expect(summaryOf(dry.output)).toMatchObject({ messages: 4, stored: 0, dryRun: true });
    expect(await memory.history("ann").getTranscript()).toEqual([]);
    const compared = await migrate("--dry-run", "--verify");
    expect(compared.exitCode).toBe(1);
    expect(jsonLines(compared.output)[0]).toMatchObject({ problem: "differs", index: 0, reason: "missing" });
  });

  it("reports what cannot be read with key, number and reason, copies the rest, and exits with 1", async () => {
    const { from, memory, migrate } = place();
    await pushAll(`${from}ann`, [human("one")]);
    await client.lpush(`${from}ann`, "no json");
    await pushAll(`${from}ann`, [ai("two")]);
    const { exitCode, output } = await migrate("--verify");
    expect(exitCode).toBe(1);
    const damaged = { place: `${from}ann`, index: 1, problem: "cannot be read", reason: "it is not JSON." };
    expect(jsonLines(output)[0]).toEqual(damaged);
    expect(output).not.toContain("no json");
    expect(summaryOf(output)).toMatchObject({ stored: 2, skipped: 1, different: 0 });
    expect(texts(await memory.history("ann").getMessages())).toEqual(["one", "two"]);
  });

  it("gives the copy the expiry of the list", async () => {
    const { from, prefix, migrate } = place();
    await pushAll(`${from}ann`, conversation);
    await client.expire(`${from}ann`, 500);
    await migrate();
    const left = await client.ttl(`${prefix}:{ann}:log`);
    expect(left).toBeGreaterThan(300);
    expect(left).toBeLessThanOrEqual(501);
  });

  it("copies flat records, and keeps a list of which something was not read", async () => {
    const { from, memory, migrate } = place();
    const flat = [
      { content: "Balance?", type: "human" },
      { role: "assistant", content: "7" },
    ].map((one) => JSON.stringify(one));
    await client.rpush(`${from}ann`, ...[...flat].reverse());
    await client.rpush(`${from}bob`, '{"type":"human","content":"Balance?","text":"Another text"}');
    await client.rpush(`${from}cy`, '{"type":"human","body":"Balance?"}');
    const long =
      '{"type":"ai","data":{"content":"","tool_calls":[{"id":"c","name":"q","args":{"n":2512292042121000001}}]}}';
    await client.rpush(`${from}dan`, long);
    const { exitCode, output } = await migrate("--in-place", "--verify");
    expect([exitCode, summaryOf(output)]).toMatchObject([1, { stored: 4, skipped: 1, different: 1, removed: 2 }]);
    expect(jsonLines(output)).toContainEqual({
      ...{ place: `${from}bob`, problem: "differs", index: 0, reason: "not all of its source was read" },
    });
    expect(texts(await memory.history("ann").getMessages())).toEqual(["Balance?", "7"]);
    expect(await memory.history("dan").getMessages()).toMatchObject([
      { tool_calls: [{ args: { n: "2512292042121000001" } }] },
    ]);
    expect(await client.exists(`${from}ann`, `${from}bob`, `${from}cy`, `${from}dan`)).toBe(2);
  });

  it("names keys of the pattern that are no lists, with their type, copies the rest, and exits with 1", async () => {
    const { from, prefix, memory, migrate } = place();
    await pushAll(`${from}ann`, conversation);
    await client.set(`${from}text`, "secret");
    await client.hset(`${from}hash`, "field", "secret");
    const { exitCode, output, errors } = await migrate();
    expect(exitCode).toBe(1);
    expect(errors.split("\n").sort()).toEqual([
      "",
      `${from}hash: is no list (hash): not copied`,
      `${from}text: is no list (string): not copied`,
    ]);
    expect(summaryOf(output)).toMatchObject({ sessions: 1, stored: 4, foreign: 2 });
    expect(texts(await memory.history("ann").getMessages())).toEqual(texts(conversation));
    const own = ["migrate", "--pattern", `${prefix}*`, "--url", sharedRedisUrl(), "--prefix", prefix];
    expect(await run(own)).toMatchObject({ exitCode: 5, errors: "" });
  });

  it("gives the same after it was killed in the middle and run again", async () => {
    const { from, prefix, memory, migrate } = place();
    const many = Array.from({ length: 3_000 }, (_, index) => (index % 2 === 0 ? human(`q${index}`) : ai(`a${index}`)));
    await pushAll(`${from}ann`, many);
    const server = ["--url", sharedRedisUrl(), "--prefix", prefix, "--pattern", `${from}*`];
    const running = startCommand(["migrate", ...server, "--rate", "500"]);
    while ((await client.llen(`${prefix}:{ann}:log`)) === 0) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    running.kill("SIGKILL");
    await once(running, "exit");
    const stored = await client.llen(`${prefix}:{ann}:log`);
    expect(stored).toBeLessThan(3_000);
    expect(summaryOf((await migrate("--verify")).output)).toMatchObject({ stored: 3_000 - stored, different: 0 });
    expect(texts(await memory.history("ann").getTranscript())).toEqual(texts(many));
  });

  it("reads exported RedisJSON documents of langchain-redis for Python, in the order of their times", async () => {
    const { prefix, memory } = place();
    const document = (id: string, timestamp: number, type: string, content: string) => ({
      ...{ type, message_id: id, session_id: "py", timestamp },
      data: { content, additional_kwargs: {}, type },
    });
    const lines = [
      JSON.stringify(document("01B", 2.5, "ai", "hello")),
      JSON.stringify([document("01A", 1.5, "human", "hi")]),
      "{",
    ];
    const path = file(lines.join("\n"));
    const args = ["migrate", "--json", "--file", path, "--url", sharedRedisUrl(), "--prefix", prefix, "--verify"];
    const { exitCode, output } = await runCommand(args);
    expect(exitCode).toBe(1);
    expect(jsonLines(output)[0]).toMatchObject({ place: path, index: 3, reason: "the line is no JSON" });
    expect(summaryOf(output)).toMatchObject({ sessions: 1, stored: 2, skipped: 1, different: 0 });
    const messages = await memory.history("py").getMessages();
    expect(messages.map(({ id, text }) => [id, text])).toEqual([
      ["01A", "hi"],
      ["01B", "hello"],
    ]);
  });

  it("finds the documents of a session wherever they stand in a file larger than what is read at once", async () => {
    const { prefix, memory } = place();
    const text = (session: number, time: number) => `${session}.${time} é ${"x".repeat(2_000)}`;
    const documents = Array.from({ length: 450 }, (_, index) => {
      const [session, timestamp] = [index % 3, 1_000 - Math.floor(index / 3)];
      const data = { content: text(session, timestamp), type: "human" };
      return JSON.stringify({ type: "human", session_id: `s${session}`, timestamp, data });
    });
    const path = file(`\ufeff${documents.join("\r\n\r\n")}\n`);
    const args = ["migrate", "--json", "--file", path, "--url", sharedRedisUrl(), "--prefix", prefix, "--verify"];
    expect(summaryOf((await run(args)).output)).toMatchObject({ sessions: 3, stored: 450, skipped: 0, different: 0 });
    for (const session of [0, 1, 2]) {
      const expected = Array.from({ length: 150 }, (_, index) => text(session, 851 + index));
      expect(texts(await memory.history(`s${session}`).getTranscript())).toEqual(expected);
    }
    expect(summaryOf((await run(args)).output)).toMatchObject({ stored: 0, duplicates: 450 });
  });

  it.each<[string, readonly string[], RegExp]>([
    ["neither pattern nor file", [], /either --pattern .* or --file/],
    ["both", ["--pattern", "a*", "--file", "b"], /either --pattern .* or --file/],
    ["--in-place with a file", ["--file", "b", "--in-place"], /cannot be combined with --file/],
    ["a rate of 0", ["--pattern", "a*", "--rate", "0"], /whole number of at least 1/],
    ["a missing file", ["--file", "/missing"], /cannot be read \(ENOENT\)/],
    ["standard input", ["--file", "-"], /cannot be read twice/],
  ])("refuses %s with a sentence and 2", async (_, args, sentence) => {
    const result = await run(["migrate", "--url", sharedRedisUrl(), ...args]);
    expect(result.exitCode).toBe(2);
    expect(result.errors).toMatch(sentence);
  });
});
