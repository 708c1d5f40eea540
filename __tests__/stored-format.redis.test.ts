import { execFile, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { AIMessage, HumanMessage, SystemMessage } from "@langchain/core/messages";
import { ChatHistoryTruncationReducer, RedisChatMemory } from "../src/entries/index.js";
import { fencedBlocks } from "./support/code-blocks.js";
import { readDocument } from "./support/markdown.js";
import { canInstall, installDebianPackage } from "../tools/testkit/servers/redis-binary.js";
import { sharedRedisUrl } from "./support/shared-redis.js";

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
