import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Redis } from "ioredis";
import { builtExamples, type ExampleSetting } from "../support/run-example.js";
import { sharedRedisUrl } from "../support/shared-redis.js";

const recorded = join(__dirname, "../../../shared/data/airline-trajectories.jsonl");
const allGood = "Everything that was sent to the model is valid, and every transcript is what was sent in.";
const folder = mkdtempSync(join(tmpdir(), "lcmem-demo-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function total(output: string): string[] {
  return output
    .split("\n")
    .find((line) => line.startsWith("total of "))!
    .split(/ {2,}/);
}

describe("the demo", () => {
  const run = builtExamples(["demo/main.ts"]);
  const runDemo = (setting: ExampleSetting) => run("demo/main.ts", setting);

  it("plays the included conversations on REDIS_URL, in 100 columns, and leaves no keys", async () => {
    const { exitCode, output } = await runDemo({ environment: { REDIS_URL: sharedRedisUrl() } });
    expect(output).toContain("the Redis server of REDIS_URL");
    expect(output).toContain(allGood);
    expect(exitCode).toBe(0);
    expect(Math.max(...output.split("\n").map((line) => line.length))).toBeLessThanOrEqual(100);
    expect(total(output).at(-1)).toBe("yes");
    const client = new Redis(sharedRedisUrl());
    expect(await client.keys("lcmem-demo-*")).toEqual([]);
    await client.quit();
  });

  it("plays on the embedded store if no redis-server is found, and says so", async () => {
    const { exitCode, output } = await runDemo({
      environment: { PATH: folder, REDIS_SERVER_BIN: "" },
    });
    expect(output).toMatch(/the embedded in-process store|a private redis-server/);
    expect(output).toContain(allGood);
    expect(exitCode).toBe(0);
  });

  it("plays recorded conversations with valid model input, two round trips per turn, one more to reduce", async () => {
    const file = existsSync(recorded) ? recorded : join(__dirname, "../../examples/data/recorded-conversations.jsonl");
    const { exitCode, output } = await runDemo({
      args: ["--file", file],
      environment: { REDIS_URL: sharedRedisUrl() },
    });
    expect(output).toContain(allGood);
    expect(exitCode).toBe(0);
    expect(Number(total(output)[5])).toBeGreaterThan(0);
  });

  it("exits with 1 and reports the place if a conversation makes the model's input invalid", async () => {
    const file = join(folder, "broken.jsonl");
    const call = { id: "c1", type: "function", function: { name: "lookup", arguments: "{}" } };
    const messages = [
      { role: "user", content: "hi" },
      { role: "assistant", tool_calls: [call] },
      { role: "assistant", content: "I did not wait for the tool." },
    ];
    writeFileSync(file, `${JSON.stringify({ id: "broken", messages })}\n`);
    const { exitCode, output, errors } = await runDemo({
      args: ["--file", file],
      environment: { REDIS_URL: sharedRedisUrl() },
    });
    expect(exitCode).toBe(1);
    expect(errors).toMatch(/problem: broken: model call 2, message \d+ breaks S/);
    expect(output).toContain("NO");
  });

  const written = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };

  it.each<[string, readonly string[], RegExp]>([
    ["a missing file", ["--file", "/missing.jsonl"], /^\/missing\.jsonl: the file cannot be read \(ENOENT\)\.$/],
    ["a line that is no JSON", ["--file", written("a.jsonl", "{}\nx")], /a\.jsonl, line 1: the line must be/],
    ["a file that is no JSON", ["--file", written("b.jsonl", "\nx")], /b\.jsonl, line 2: the line is no JSON\.$/],
    ["no messages", ["--file", written("c.jsonl", '{"messages":[]}')], /c\.jsonl, line 1: .* at least one message\.$/],
    ["an empty file", ["--file", written("d.jsonl", "")], /holds no conversation\.$/],
    ["a message that is none", ["--file", written("e.jsonl", '{"messages":[{"role":"x"}]}')], /e\.jsonl, line 1: /],
    ["an unknown option", ["--fiel", "x"], /^Unknown option '--fiel'\. The options are/],
    ["a target that is no number", ["--target", "many"], /^--target must be a whole number of at least 1\.$/],
  ])("answers %s with one sentence and exit code 2", async (_, args, sentence) => {
    const { exitCode, output, errors } = await runDemo({ args });
    expect(exitCode).toBe(2);
    expect(output).toBe("");
    expect(errors.trim()).toMatch(sentence);
    expect(errors.trim()).not.toContain("\n");
  });
});
