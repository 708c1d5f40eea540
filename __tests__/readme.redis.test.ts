import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { startOpenAIServer } from "../src/testing/openai-server.js";
import { buildPrograms } from "./support/built-programs.js";
import { sharedRedisUrl } from "./support/shared-redis.js";

const root = join(__dirname, "..");
const blocks = blocksOf("README.md");
const storeExample = blocksOf("CONTRIBUTING.md")[0]!;

function blocksOf(document: string): string[] {
  const text = readFileSync(join(root, document), "utf8");
  return [...text.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code]) => code!);
}

const run = (args: readonly string[], env = process.env) =>
  promisify(execFile)(process.execPath, [...args], { cwd: root, env });

async function runBuilt(source: string, env = process.env): Promise<{ stdout: string }> {
  const programs = await buildPrograms([source]);
  try {
    return await run([programs.pathOf(source)], env);
  } finally {
    programs.remove();
  }
}

/** What a block may use without importing it. */
const prelude = `
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { ChatPromptTemplate } from "@langchain/core/prompts";
import * as everything from "langchain-redis-memory";
declare global {
  const model: BaseChatModel;
  const prompt: ChatPromptTemplate;
  const history: everything.RedisChatMessageHistory;
  const memory: everything.RedisChatMemory;
}
`;

/** Runs what the store's example gives to a test framework, and says how many cases passed. */
const caseRunner = `
const cases: (() => Promise<void>)[] = [];
const it = (_title: string, run: () => Promise<void>) => void cases.push(run);
`;

describe("the README, and the store in CONTRIBUTING.md", () => {
  const folder = mkdtempSync(join(root, ".cache-readme-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it("has a first example of twelve lines or fewer", () => {
    expect(
      blocks[0]!
        .trim()
        .split("\n")
        .filter((line) => line.trim() !== "").length,
    ).toBeLessThanOrEqual(12);
  });

  it("has only examples that compile", async () => {
    const imported = (code: string) =>
      [...code.matchAll(/^import .*? from "langchain-redis-memory.*";$/gms)].length > 0;
    const names = Object.keys(jest.requireActual<object>("../src/index.js")).join(", ");
    [...blocks, storeExample].forEach((code, index) => {
      const imports = imported(code) ? "" : `import { ${names} } from "langchain-redis-memory";\n`;
      writeFileSync(join(folder, `block-${index}.mts`), `${imports}${code}\nexport {};\n`);
    });
    writeFileSync(join(folder, "globals.mts"), prelude);
    const settings = { extends: "../tsconfig.json", compilerOptions: { noUnusedLocals: false }, include: ["*.mts"] };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(settings));
    // The compiler of `npm run types`, which takes a third of the time of the one that can be imported.
    const compiler = join(root, "node_modules/@local/typescript7/bin/tsc");
    const compiled = run([compiler, "--noEmit", "--project", folder]);
    const found = await compiled.catch(({ stdout }: { stdout: string }) => ({ stdout }));
    expect(found.stdout).toBe("");
  });

  it("has a first example that works unchanged, against a model server and a Redis of the test", async () => {
    const server = await startOpenAIServer({ reply: () => "Hello Ann!" });
    const path = join(folder, "first.mts");
    writeFileSync(path, `${blocks[0]!.replace("redis://localhost:6379", sharedRedisUrl())}\nawait memory.close();\n`);
    const { stdout } = await runBuilt(path, { ...process.env, OPENAI_API_KEY: "none", OPENAI_BASE_URL: server.url });
    await server.close();
    expect(stdout.trim()).toBe("Hello Ann!");
    expect(server.requests).toHaveLength(1);
  });

  it("has a store that keeps the contract", async () => {
    const path = join(folder, "store.mts");
    const run = "await Promise.all(cases.map((run) => run()));\nconsole.log(cases.length);";
    writeFileSync(path, `${caseRunner}${storeExample}\n${run}\n`);
    const { stdout } = await runBuilt(path);
    expect(Number(stdout)).toBeGreaterThan(30);
  });
});
