import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import type { ReducerSimulation } from "../../cli/simulation/simulate-reducers.js";
import { jsonLines, runCommand } from "../support/built-command.js";
import { hostedCommands } from "../support/hosted-commands.js";
import { ai, human } from "../support/messages.js";
import { sharedRedisUrl } from "../support/shared-redis.js";

const folder = mkdtempSync(join(tmpdir(), "lcmem-simulate-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function file(name: string, ...lines: readonly string[]): string {
  const path = join(folder, name);
  writeFileSync(path, lines.map((line) => `${line}\n`).join(""));
  return path;
}

const run = hostedCommands();
const long = file("long.txt", "You help travellers. ".repeat(100));

describe("the command simulate", () => {
  it("plays the conversations of the package where nothing else is named, in 80 columns without colour", async () => {
    const { exitCode, output, errors } = await runCommand(["simulate"]);
    expect(errors).toBe("");
    expect(exitCode).toBe(0);
    expect(output).toContain("4 conversations from the package, 63 requests to the model.");
    expect(output).toMatch(/^none +138,396/m);
    expect(output).not.toContain("\u001b");
    const table = output.split("\n").slice(2, 6);
    expect(Math.max(...table.map((line) => line.length))).toBeLessThanOrEqual(80);
  });

  it("prints one JSON object a reducer with --json, and nothing else", async () => {
    const reducers = ["none", "tools:3,token:8000/4000", "summarize:20+10"];
    const { exitCode, output } = await runCommand([
      ...["simulate", "--json", "--price", "2,1"],
      ...reducers.flatMap((reducer) => ["--reducer", reducer]),
    ]);
    expect(exitCode).toBe(0);
    const results = jsonLines(output);
    expect(results.map(({ reducer }) => reducer)).toEqual(reducers);
    expect(Object.keys(results[0]!)).toEqual(
      expect.arrayContaining([
        ...["reducer", "sent", "cached", "billed", "reductions", "prefixBreaks", "questionsSeen", "toolResultsSeen"],
      ]),
    );
    const { sent, cached, billed } = results[0] as Record<string, number>;
    expect(billed).toBe((sent! - cached!) * 2 + cached!);
  });

  it("plays a file, and sessions in Redis without writing to them", async () => {
    const messages = [
      { role: "user", content: "hello" },
      { role: "assistant", content: "hi" },
    ];
    const path = file("one.jsonl", JSON.stringify({ messages }), "", JSON.stringify(messages));
    const fromFile = await run(["simulate", "--json", "--file", path, "--reducer", "none"]);
    expect(jsonLines(fromFile.output)[0]).toMatchObject({ requests: 2 });

    const prefix = `simulate-${process.pid}`;
    await using memory = new RedisChatMemory({ url: sharedRedisUrl(), redis: { keyPrefix: prefix } });
    await memory.history("ann").addMessages([human("hello"), ai("hi"), human("bye"), ai("bye")]);
    const server = ["--url", sharedRedisUrl(), "--prefix", prefix];
    const fromRedis = await run(["simulate", "ann", ...server, "--json", "--reducer", "truncate:1"]);
    expect(jsonLines(fromRedis.output)[0]).toMatchObject({ requests: 2, questionsSeen: 2 / 3 });
    expect(await memory.history("ann").getMessages()).toHaveLength(4);
    const unknown = await run(["simulate", "bob", ...server]);
    expect(unknown).toMatchObject({ exitCode: 1, errors: 'simulate: the session "bob" holds no messages.\n' });
  });

  it("compares all ways to keep such requests within a room, cached and uncached", async () => {
    const system = file("prompt.txt", "You help travellers. ".repeat(100));
    const definition = { type: "function", function: { name: "search", description: "Finds flights. ".repeat(40) } };
    const parts = ["--system", system, "--tools", file("list.json", JSON.stringify([definition]))];
    const { output } = await runCommand(["simulate", ...parts, "--room", "3000", "--price", "2,1", "--json"]);
    const rows = jsonLines(output) as unknown as ReducerSimulation[];
    expect(rows.map(({ reducer }) => reducer)).toEqual([
      "none",
      "token:3000/2400",
      "tools:4@1500,token:2400/1500",
      "tools:3@1500,token:3000/2400",
      "tools:3@1500+300,token:3000/2400",
      "tools:3,token:3000/2400",
      ...["summarize:3000/2400", "summarize:3000/1800"],
      ...["window:3000/2400", "window:3000/1800", "window+summary:3000/2400", "window+summary:3000/1800"],
    ]);
    const of = (name: string) => rows.find(({ reducer }) => reducer === name)!;
    const [never, cut, window] = [of("none"), of("token:3000/2400"), of("window:3000/2400")];
    expect(rows.every(({ sent, billedUncached }) => billedUncached === 2 * sent)).toBe(true);
    expect(never).toMatchObject({ questionsSeen: 1, toolResultsSeen: 1, reductions: 0 });
    expect(window.questionsSeen).toBeGreaterThan(cut.questionsSeen);
    expect(window.sent / window.requests).toBeLessThan(3_000);
    expect(of("tools:4@1500,token:2400/1500").reductions).toBeGreaterThan(of("tools:3,token:3000/2400").reductions);
    const small = ["tools:1@800", "tools:1@800+600"].flatMap((spec) => ["--reducer", spec]);
    const [gated, rare] = jsonLines((await runCommand(["simulate", "--json", ...small])).output);
    expect(Number(rare!["reductions"])).toBeGreaterThan(0);
    expect(Number(rare!["reductions"])).toBeLessThan(Number(gated!["reductions"]));
    // Room is what the parts leave of it.
    const { output: without } = await runCommand(["simulate", "--room", "3000", "--json"]);
    const plain = (jsonLines(without) as unknown as ReducerSimulation[]).find(
      ({ reducer }) => reducer === cut.reducer,
    )!;
    expect(plain.questionsSeen).toBeGreaterThan(cut.questionsSeen);
    expect(never.sent - Number(jsonLines(without)[0]!["sent"])).toBeGreaterThan(500 * never.requests);
    const table = (await runCommand(["simulate", ...parts])).output;
    expect(table).toMatch(/^window:8000\/6400 /m);
    expect(table).toMatch(/^reducer +sent +cached +billed +uncached +cuts/m);
  });

  it("writes a picture with --svg", async () => {
    const path = join(folder, "picture.svg");
    expect((await runCommand(["simulate", "--svg", path])).exitCode).toBe(0);
    expect(existsSync(path)).toBe(true);
    const svg = readFileSync(path, "utf8");
    expect(svg).toMatch(/^<svg /);
    expect(svg).toContain("truncate:20+10");
  });

  it.each<[string, readonly string[], number, RegExp]>([
    ["a missing file", ["simulate", "--file", "/missing.jsonl"], 2, /^\/missing\.jsonl: .*\(ENOENT\)\.$/],
    ["a folder", ["simulate", "--file", folder], 2, /\(EISDIR\)\.$/],
    ["a line that is no JSON", ["simulate", "--file", file("a.jsonl", "[]x")], 1, /a\.jsonl:1: the line is no JSON\.$/],
    ["an empty file", ["simulate", "--file", file("b.jsonl")], 1, /holds no conversation\.$/],
    ["no messages", ["simulate", "--file", file("c.jsonl", "", "[]")], 1, /c\.jsonl:2: .*no messages\.$/],
    ["a message that is none", ["simulate", "--file", file("d.jsonl", '[{"role":"x"}]')], 1, /d\.jsonl:1: /],
    [
      "a room that the tools fill",
      ["simulate", "--room", "20", "--system", long],
      2,
      /^--reducer token:20\/16: .*maxTokens/,
    ],
    ["a reducer with a part too much", ["simulate", "--reducer", "token:8000/6400+5"], 2, /is no reducer; see --help/],
    ["a reducer that is none", ["simulate", "--reducer", "tokens:5"], 2, /"tokens:5" is no reducer; see --help/],
    [
      "a reducer's wrong number",
      ["simulate", "--reducer", "token:10/20"],
      2,
      /^--reducer token:10\/20: .*targetTokens/,
    ],
    ["tools that are none", ["simulate", "--tools", long], 2, /^--tools: the file must hold/],
    ["a price that is none", ["simulate", "--price", "free"], 2, /two numbers of 0 or more/],
    ["an unknown option", ["simulate", "--fiel", "x"], 2, /unknown option '--fiel'[^]*--file/],
    ["an unknown command", ["simulat"], 2, /unknown command 'simulat'[^]*simulate/],
    ["a server that is not there", ["simulate", "s", "--url", "redis://u:secret@127.0.0.1:1"], 3, /refused/],
    ["a cluster that is not there", ["simulate", "s", "--cluster", "--url", "redis://127.0.0.1:1"], 3, /refused/],
    ["a URL that is none", ["simulate", "s", "--url", "http://localhost"], 2, /"--url" must be a URL that begins/],
  ])("answers %s with a sentence and the exit code", async (_, args, exitCode, sentence) => {
    const result = await run(args);
    expect(result).toMatchObject({ exitCode, output: "" });
    expect(result.errors.trim()).toMatch(sentence);
    expect(result.errors).not.toMatch(/secret|\n +at /);
  });
});
