import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { Redis } from "ioredis";
import { buildPrograms, type BuiltPrograms } from "./support/built-programs.js";
import { documentBlocks } from "./support/code-blocks.js";
import { sharedRedisUrl } from "./support/shared-redis.js";

const root = join(__dirname, "..");
mkdirSync(join(root, ".cache"), { recursive: true });
const folder = mkdtempSync(join(root, ".cache", "runnable-"));
// A database of its own: the programs use the default key prefix.
const url = `${sharedRedisUrl()}/9`;

/** A program of a document, and what the document says that it prints. */
interface Program {
  readonly path: string;
  readonly title: string;
  readonly code: string;
  readonly prints: string | undefined;
}

const blocks = documentBlocks(root);
const programs: readonly Program[] = blocks.flatMap(({ path, line, marks, code }, index) => {
  const next = blocks[index + 1];
  const prints = next?.path === path && next.language === "text" ? next.code.trim() : undefined;
  return marks.includes("runnable") ? [{ path, title: `${path}:${line}`, code, prints }] : [];
});

describe("the programs in the documents", () => {
  let built: BuiltPrograms;
  const pathOf = (index: number) => join(folder, `program-${index}.mts`);

  beforeAll(async () => {
    programs.forEach(({ code }, index) => writeFileSync(pathOf(index), code.replaceAll("redis://localhost:6379", url)));
    built = await buildPrograms(
      programs.map((_, index) => pathOf(index)),
      { withPackages: true },
    );
  });
  afterAll(() => {
    built?.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  const outputOf = async (path: string) => {
    const { OPENAI_API_KEY: _, ...env } = process.env;
    const { stdout } = await promisify(execFile)(process.execPath, [built.pathOf(path)], { cwd: root, env });
    return stdout.trim();
  };

  it("begin with one of twelve lines or fewer, on the first screen of the README", () => {
    const first = blocks.find(({ path, language }) => path === "README.md" && language === "ts")!;
    expect(first.marks).toEqual(["runnable"]);
    expect(first.line).toBeLessThan(15);
    expect(first.code.split("\n").filter((line) => line.trim() !== "").length).toBeLessThanOrEqual(12);
  });

  it("run without a key, each behind those before it on its page, print what stands below them, and end", async () => {
    expect(programs.length).toBeGreaterThan(5);
    const client = new Redis(url);
    for (const [index, { path, title, prints }] of programs.entries()) {
      if (programs[index - 1]?.path !== path) {
        await client.flushdb();
      }
      const output = await outputOf(pathOf(index));
      expect({ title, output }).toEqual({ title, output: prints ?? expect.stringMatching(/./) });
    }
    await client.quit();
  });

  it("end, those too that need a server of another kind: they close what they open", () => {
    const opening = blocks.filter(
      ({ code }) => /^(const|let) .*new (RedisChat|RedisTool|Redis\(|Cluster)/m.test(code) && !/^export /m.test(code),
    );
    const left = opening.filter(({ code }) => !/\.(close|quit)\(\)/.test(code));
    expect(opening.length).toBeGreaterThan(20);
    expect(left.map(({ path, line }) => `${path}:${line}`)).toEqual([]);
  });

  it("have a first one that remembers when it is run again", async () => {
    const client = new Redis(url);
    await client.flushdb();
    await client.quit();
    const outputs = [await outputOf(pathOf(0)), await outputOf(pathOf(0))];
    expect(outputs).toEqual(["Hello Ann! (2 messages are stored)", "Hello Ann! (4 messages are stored)"]);
  });

  it("have a second one that stops at an interrupt, and goes on in another process", async () => {
    const client = new Redis(url);
    await client.flushdb();
    await client.quit();
    const outputs = [await outputOf(pathOf(1)), await outputOf(pathOf(1))];
    expect(outputs).toEqual(["The graph waits for a human.", "Booked? Yes."]);
  });
});
