import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { buildSync } from "esbuild";
import { RedisChatMemory } from "langchain-redis-memory";
import type { OpenAIServer } from "langchain-redis-memory/testing";
import { buildPrograms, type BuiltPrograms } from "../support/built-programs.js";
import { browserPages, type WatchedPage } from "../support/shared-browser.js";
import { sharedRedisUrl } from "../support/shared-redis.js";
import { filesOfGuide } from "./guide.js";
import { chatPageScenarios } from "./scenarios.js";
import { startScriptedModel } from "./scripted-answers.js";

const root = join(__dirname, "../..");
mkdirSync(join(root, ".cache"), { recursive: true });
const folder = mkdtempSync(join(root, ".cache", "chat-page-"));
// A database of its own: the guide's route uses the default key prefix.
const redisUrl = `${sharedRedisUrl()}/8`;
const open = browserPages();

/** The guide's page as a script, with Preact in place of React. */
function pageScript(): string {
  const contents = `import Page from "./app/page"; import { render } from "preact";
    render(<Page />, document.querySelector("#page"));`;
  const { outputFiles } = buildSync({
    stdin: { contents, resolveDir: folder, loader: "tsx" },
    ...{ bundle: true, write: false, format: "iife", target: "es2022" },
    ...{ jsx: "automatic", jsxImportSource: "preact", alias: { react: "preact/compat" } },
  });
  return outputFiles[0]!.text;
}

/** Writes the files of the guide, and a program that serves them. */
function writeProgram(): string {
  for (const [path, code] of Object.entries(filesOfGuide(root))) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), code);
  }
  const program = join(folder, "serve.mts");
  const host = join(root, "__tests__/chat-page/page-host.ts");
  writeFileSync(
    program,
    `import * as route from "./app/api/chats/route.ts";\nimport { servePage } from ${JSON.stringify(host)};\n` +
      `servePage(route, ${JSON.stringify(pageScript())});\n`,
  );
  return program;
}

describe("the chat page of the guide", () => {
  let model: OpenAIServer;
  let memory: RedisChatMemory;
  let built: BuiltPrograms;
  let server: ChildProcess;
  let url: string;
  const tabs: WatchedPage[] = [];

  beforeAll(async () => {
    const program = writeProgram();
    [model, built] = await Promise.all([startScriptedModel(), buildPrograms([program])]);
    memory = new RedisChatMemory({ url: redisUrl });
    const env = { ...process.env, REDIS_URL: redisUrl, OPENAI_API_KEY: "none", OPENAI_BASE_URL: model.url };
    server = spawn(process.execPath, [built.pathOf(program)], { env, stdio: ["ignore", "pipe", "inherit"] });
    const [line] = (await once(server.stdout!, "data")) as [Buffer];
    url = line.toString().trim();
  });
  afterEach(() => tabs.splice(0));
  afterAll(async () => {
    server?.kill("SIGKILL");
    built?.remove();
    rmSync(folder, { recursive: true, force: true });
    await Promise.all([memory?.close(), model?.close()]);
  });

  const openTab = async () => {
    const tab = await open();
    tabs.push(tab);
    await tab.page.goto(url);
    return tab.page;
  };

  it.each(chatPageScenarios)("$title", async ({ run }) => {
    await run({ url, memory, openTab });
    const [page] = tabs.map(({ complaints }) => complaints.filter((said) => !/status of 4\d\d/.test(said)));
    expect(page ?? []).toEqual([]);
  });
});
