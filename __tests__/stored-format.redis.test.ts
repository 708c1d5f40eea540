import { execFile, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { AIMessage, HumanMessage, SystemMessage } from "@langchain/core/messages";
import { Redis } from "ioredis";
import { ChatHistoryTruncationReducer, RedisChatMemory } from "../src/entries/index.js";
import { fencedBlocks } from "./support/code-blocks.js";
import { readDocument } from "./support/markdown.js";
import { canInstall, installDebianPackage } from "../tools/testkit/servers/redis-binary.js";
import { sharedRedisUrl, uniquePrefix } from "./support/shared-redis.js";
import { buildPrograms } from "./support/built-programs.js";

const page = "docs/development/stored-format.md";
const reader = fencedBlocks(page, readDocument(join(__dirname, ".."), page)).find(
  ({ language }) => language === "python",
)!;
const folder = mkdtempSync(join(tmpdir(), "lcmem-reader-"));
const program = join(folder, "reader.py");

beforeAll(() => {
  const isMissing = () => spawnSync("python3", ["--version"]).status !== 0;
  if (isMissing() && canInstall()) {
    installDebianPackage("python3", "python3");
  }
  if (isMissing()) {
    throw new Error("This test runs a program in Python: install python3, for example by `apt-get install python3`.");
  }
  writeFileSync(program, reader.code);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("the reader in Python", () => {
  it("has about twenty lines", () => {
    expect(reader.code.split("\n").filter((line) => line.trim() !== "").length).toBeLessThan(25);
  });

  it.each([
    ["a view with a head", { reducer: new ChatHistoryTruncationReducer({ targetCount: 3 }) }],
    ["a view that is the whole log", {}],
    [
      "a view of which the older part was discarded",
      { reducer: new ChatHistoryTruncationReducer({ targetCount: 3 }), retention: "discard" as const },
    ],
  ])("sees %s as a model does", async (title, options) => {
    const memory = new RedisChatMemory({ url: sharedRedisUrl(), ...options });
    const sessionId = `reader/${title} é`;
    const history = memory.history(sessionId);
    await history.addMessages([new SystemMessage("Be brief."), new HumanMessage("Oslo?"), new AIMessage("4 °C.")]);
    await history.addMessages([new HumanMessage([{ type: "text", text: "日本?" }]), new AIMessage("18 °C.")]);
    const view = await history.getMessages();
    const { hostname, port } = new URL(sharedRedisUrl());
    const { stdout } = await promisify(execFile)("python3", [program, hostname, port, sessionId]);
    const seen = stdout
      .trim()
      .split("\n")
      .map((line) => line.split(" | "));
    expect(seen.map(([type, content]) => [type, JSON.parse(content!) as unknown])).toEqual(
      view.map((message) => [message.getType(), message.content]),
    );
    expect(view.length).toBeGreaterThanOrEqual(3);
    await history.clear();
    await memory.close();
  });
});

const root = join(__dirname, "..");
const shownPage = readDocument(root, "docs/development/stored-format.md");
const listedProgram = /```ts\n(import [\s\S]*?)```/.exec(shownPage)![1]!;
const listing = /```console\n([\s\S]*?)```/.exec(shownPage)![1]!;

/** Fields that differ each time. */
const random = new Set(["epoch", "rev", "sum", "updated", "created"]);

describe("the session that docs/development/stored-format.md shows", () => {
  const folder = mkdtempSync(join(root, ".cache-readme-"));
  const client = new Redis(sharedRedisUrl());
  const keyPrefix = uniquePrefix();
  const key = (part: string) => `${keyPrefix}:{ann-1}:${part}`;

  beforeAll(async () => {
    const path = join(folder, "session.mts");
    const connected = listedProgram.replace(
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
