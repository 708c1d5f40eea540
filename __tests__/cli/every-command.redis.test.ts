import { once } from "node:events";
import { createServer } from "node:net";
import { Redis } from "ioredis";
import { commandEntries } from "../../cli/command-entries.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { hostedCommands } from "../support/hosted-commands.js";
import { ai, human } from "../support/messages.js";
import { freePort } from "../../tools/testkit/servers/redis-server.js";
import { sharedRedisUrl } from "../support/shared-redis.js";

const run = hostedCommands();
const names = commandEntries.map(({ name }) => name);

/** Operands with which each command would do its work. */
const operands: Readonly<Record<string, readonly string[]>> = {
  ...{ show: ["ann"], check: ["--all"], watch: ["ann"], rebuild: ["ann"], delete: ["ann", "--yes"] },
  prune: ["--thread", "ann", "--keep", "1"],
  ...{
    export: ["--all"],
    import: ["package.json"],
    migrate: ["--pattern", "none*"],
    simulate: ["ann"],
    search: ["oslo"],
  },
};

describe.each(["", ...names])("the help of %j", (name) => {
  it("fits 80 columns", async () => {
    const { exitCode, output } = await run([...(name === "" ? [] : [name]), "--help"]);
    expect(exitCode).toBe(0);
    expect(output).toContain("Usage: langchain-redis-memory");
    expect(output.includes("Exit codes:")).toBe(name === "");
    expect(output.split("\n").filter((line) => [...line].length > 80)).toEqual([]);
  });
});

it("A command line without a command shows the commands on standard error, and ends with 2", async () => {
  const { exitCode, output, errors } = await run([]);
  expect([exitCode, output]).toEqual([2, ""]);
  expect(errors).toContain("Usage: langchain-redis-memory");
});

it("The command line says its version", async () => {
  expect(await run(["--version"])).toMatchObject({ exitCode: 0, output: expect.stringMatching(/^\d+\.\d+/) });
});

describe.each(names)("the command %s", (name) => {
  it("says in a sentence what is wrong with an option, where to look, and ends with 2", async () => {
    const { exitCode, output, errors } = await run([name, ...(operands[name] ?? []), "--nonsense"]);
    expect([exitCode, output]).toEqual([2, ""]);
    expect(errors).toMatch(/^error: unknown option '--nonsense'\nAdd --help for the options\.\n$/);
  });

  it("says that nobody answers, and ends with 3", async () => {
    const url = `redis://127.0.0.1:${await freePort()}`;
    const { exitCode, output, errors } = await run([name, ...(operands[name] ?? []), "--url", url]);
    expect([exitCode, output]).toEqual([3, ""]);
    expect(errors).toMatch(/^Redis at 127\.0\.0\.1:\d+ cannot be used: the connection was refused\. Check .*\.\n$/);
  });
});

describe("a command whose Sentinels", () => {
  it.each([
    ["are gone", undefined, /^Redis at \S+ cannot be used: no Sentinel names its master \(.+\)\. Check .*\.\n$/],
    ["know no such master", "*-1\r\n", /^Redis at \S+ cannot be used: no Sentinel names its master\. Check .*\.\n$/],
  ])("%s says so without their password, and ends with 3", async (_, reply, sentence) => {
    const sentinel = createServer((socket) =>
      // A reply for each command: several may arrive at once.
      socket
        .on("data", (data) => socket.write(reply!.repeat(String(data).split(/\*\d+\r\n\$/).length - 1)))
        .on("error", () => undefined),
    );
    const port = await freePort();
    if (reply !== undefined) {
      await once(sentinel.listen(port, "127.0.0.1"), "listening");
    }
    const { exitCode, output, errors } = await run([
      "sessions",
      "--url",
      `redis+sentinel://:sesame@127.0.0.1:${port}/m`,
    ]);
    sentinel.close();
    expect([exitCode, output]).toEqual([3, ""]);
    expect(errors).toMatch(sentence);
    expect(errors).not.toMatch(/sesame/);
  });
});

describe("a command that is interrupted", () => {
  const client = new Redis(sharedRedisUrl());
  const keyPrefix = `cli-every-${process.pid}`;
  const history = new RedisChatMemory({ client, redis: { keyPrefix } }).history("ann");
  beforeAll(() => history.addMessages([human("Oslo?"), ai("4 °C.")]));
  afterAll(() => client.quit());

  it.each([
    ["sessions", "Nothing is listed, because not all sessions were looked at."],
    ["threads", "Nothing is listed, because not all threads were looked at."],
    ["stats", "Nothing is counted, because not all sessions were looked at."],
    ["show", "Not all messages are shown."],
    ["check", "Not all sessions were checked."],
    ["export", "The export holds 0 sessions and is not complete; run the same command again."],
    ["delete", "The sessions that are not named above are still there."],
    ["migrate", "Run the same command again to go on; what is stored is not stored again."],
    ["reindex", "Not all lists were looked at; run the same command again."],
    ["simulate", "Not all reducers were tried."],
    ["doctor", "Not all servers were looked at."],
  ])("%s says what that means, shows no part as if it were all, and ends with 130", async (name, sentence) => {
    const args = [name, ...(operands[name] ?? []), "--json", "--url", sharedRedisUrl(), "--prefix", keyPrefix];
    const { exitCode, output, errors } = await run(args, { isInterrupted: true });
    expect([exitCode, errors]).toEqual([130, `Interrupted. ${sentence}\n`]);
    expect(output.split("\n").filter((line) => line !== "" && !/"interrupted":true|"view":/.test(line))).toEqual([]);
    expect(await history.getMessages()).toHaveLength(2);
  });
});
