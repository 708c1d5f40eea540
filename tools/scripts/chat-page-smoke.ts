// The guide of the chat page, followed in a new application of Next.js with the packed package: made, installed, built,
// served, and used in Chromium. Usage: tsx tools/scripts/chat-page-smoke.ts <tarball> <empty folder>
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium, type Browser, type Page } from "playwright-core";
import { filesOfGuide, packagesOfGuide } from "../../__tests__/chat-page/guide.js";
import { chatPageScenarios } from "../../__tests__/chat-page/scenarios.js";
import { startScriptedModel } from "../../__tests__/chat-page/scripted-answers.js";
import { requireChromium } from "../../__tests__/support/chromium-binary.js";
import { freePort, startRedis } from "../testkit/servers/redis-server.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
const [tarball, folder] = process.argv.slice(2);
if (tarball === undefined || folder === undefined) {
  throw new Error("Usage: tsx tools/scripts/chat-page-smoke.ts <tarball> <empty folder>");
}
const place = join(folder, "app");
const quiet = { ...process.env, CI: "1", NEXT_TELEMETRY_DISABLED: "1" };

const ends: (() => unknown)[] = [];
try {
  makeApplication();
  const failed = await useApplication();
  process.exitCode = failed.length === 0 ? 0 : 1;
} finally {
  for (const end of ends.reverse()) {
    await end();
  }
}

function makeApplication(): void {
  // Without fonts, which the template loads from the internet.
  const choices = ["--ts", "--app", "--empty", "--no-tailwind", "--eslint"];
  const setting = ["--yes", "--use-npm", "--skip-install", "--disable-git"];
  run("npx", ["--yes", "create-next-app@latest", "app", ...choices, ...setting], folder!);
  const packages = packagesOfGuide(root).map((name) => (name === "langchain-redis-memory" ? tarball! : name));
  run("npm", ["install", "--no-audit", "--no-fund", "--prefer-offline", "--no-progress", ...packages], place);
  for (const [path, code] of Object.entries(filesOfGuide(root))) {
    mkdirSync(dirname(join(place, path)), { recursive: true });
    writeFileSync(join(place, path), code);
  }
  run("npm", ["run", "lint", "--", "--max-warnings", "0"], place);
  run("npx", ["--no-install", "next", "build"], place);
}

/** Serves the application and plays the scenarios; returns the titles of those that failed. */
async function useApplication(): Promise<string[]> {
  const redis = await startRedis();
  ends.push(() => redis.stop());
  const model = await startScriptedModel();
  ends.push(() => model.close());
  const memory = new RedisChatMemory({ url: redis.url });
  ends.push(() => memory.close());
  const url = await serve({ REDIS_URL: redis.url, OPENAI_API_KEY: "none", OPENAI_BASE_URL: model.url });
  // Where this runs as root, Chromium has no sandbox; it loads nothing but this page.
  const browser = await chromium.launch({ executablePath: requireChromium(), args: ["--no-sandbox"] });
  ends.push(() => browser.close());
  const failed: string[] = [];
  for (const { title, run } of chatPageScenarios) {
    try {
      await run({ url, memory, openTab: (width) => openTab(browser, url, width) });
    } catch (error) {
      failed.push(title);
      process.stderr.write(`${title}: ${(error as Error).message}\n`);
    }
  }
  return failed;
}

async function openTab(browser: Browser, url: string, width = 1_280): Promise<Page> {
  const page = await browser.newPage({ viewport: { width, height: 800 } });
  page.setDefaultTimeout(60_000);
  await page.goto(url);
  return page;
}

/** Starts the built application, and waits until it answers. */
async function serve(env: Readonly<Record<string, string>>): Promise<string> {
  const port = await freePort();
  const program = join(place, "node_modules/next/dist/bin/next");
  const server = spawn(process.execPath, [program, "start", "--port", String(port), "--hostname", "127.0.0.1"], {
    ...{ cwd: place, env: { ...quiet, ...env }, stdio: ["ignore", "pipe", "inherit"] },
  });
  ends.push(() => server.kill("SIGKILL"));
  const stopped = once(server, "exit").then(() => {
    throw new Error("next start stopped at once.");
  });
  const ready = new Promise<void>((resolve) => {
    server.stdout!.on("data", (text: Buffer) => /ready/i.test(String(text)) && resolve());
  });
  await Promise.race([ready, stopped]);
  stopped.catch(() => undefined);
  return `http://127.0.0.1:${port}`;
}

/** Runs a command, and shows what it said where it failed. */
function run(command: string, args: readonly string[], cwd: string): void {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, env: quiet, encoding: "utf8" });
  if (status !== 0) {
    throw new Error(`${command} ${args.join(" ")} failed.\n${stdout}${stderr}`, { cause: error });
  }
}
