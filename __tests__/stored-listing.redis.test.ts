import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { Redis } from "ioredis";
import { buildPrograms } from "./support/built-programs.js";
import { readDocument } from "./support/markdown.js";
import { sharedRedisUrl, uniquePrefix } from "./support/shared-redis.js";

const root = join(__dirname, "..");
const page = readDocument(root, "docs/development/stored-format.md");
const program = /```ts\n(import [\s\S]*?)```/.exec(page)![1]!;
const listing = /```console\n([\s\S]*?)```/.exec(page)![1]!;

/** Fields that differ each time. */
const random = new Set(["epoch", "rev", "sum", "updated", "created"]);

describe("the session that docs/development/stored-format.md shows", () => {
  const folder = mkdtempSync(join(root, ".cache-readme-"));
  const client = new Redis(sharedRedisUrl());
  const keyPrefix = uniquePrefix();
  const key = (part: string) => `${keyPrefix}:{ann-1}:${part}`;

  beforeAll(async () => {
    const path = join(folder, "session.mts");
    const connected = program.replace(
      'url: "redis://localhost:6379"',
      `url: "${sharedRedisUrl()}", redis: { keyPrefix: "${keyPrefix}" }`,
    );
    writeFileSync(path, connected);
    const programs = await buildPrograms([path]);
    await promisify(execFile)(process.execPath, [programs.pathOf(path)], { cwd: root }).finally(programs.remove);
  });
  afterAll(() => {
    client.disconnect();
    rmSync(folder, { recursive: true, force: true });
  });

  it("has the keys that are listed", async () => {
    const keys = (await client.keys(`${keyPrefix}:*`)).sort();
    expect(linesOf("--scan")).toEqual(keys.map((name) => name.replace(keyPrefix, "lcmem")));
  });

  it("has the records that are listed", async () => {
    const records = await client.lrange(key("log"), 0, -1);
    const shown = linesOf("LRANGE");
    expect(shown).toHaveLength(records.length);
    expect(records.filter((record, index) => !isShown(record, shown[index]!))).toEqual([]);
  });

  it("has the ids that are listed", async () => {
    expect(fieldsOf("HGETALL 'lcmem:{ann-1}:ids'")).toEqual(await client.hgetall(key("ids")));
  });

  it("has the state that is listed, but for what is random", async () => {
    const state = await client.hgetall(key("state"));
    const shown = fieldsOf("HGETALL 'lcmem:{ann-1}:state'");
    expect(Object.keys(shown).sort()).toEqual(Object.keys(state).sort());
    const wrong = Object.keys(shown).filter((name) => !random.has(name) && !isShown(state[name]!, shown[name]!));
    expect(wrong).toEqual([]);
  });
});

/** The output below the command that holds this text. */
function linesOf(command: string): string[] {
  const block = listing.split(/^\$ /m).find((text) => text.split("\n")[0]!.includes(command))!;
  return block.trim().split("\n").slice(1);
}

function fieldsOf(command: string): Record<string, string> {
  return Object.fromEntries(linesOf(command).map((line) => line.split("\t") as [string, string]));
}

/** Whether the text is what is shown, where `…` stands for anything. */
function isShown(text: string, shown: string): boolean {
  const [begin, ...others] = shown.split("…");
  return others.length === 0 ? text === shown : text.startsWith(begin!) && text.endsWith(others.at(-1)!);
}
