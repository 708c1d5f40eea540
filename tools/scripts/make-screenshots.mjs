/**
 * Makes the pictures of docs/development/inspector.md: `npm run docs:screenshots`. Plays recorded conversations into a
 * private Redis server, opens the inspector on them, and takes pictures with Chromium: CHROMIUM_BIN, or Debian's.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { playScenes } from "./inspector-scenes.ts";
import { buildCommand } from "./build-command.mjs";
import { startRedis } from "./smoke-redis.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const pictures = join(root, "docs", "images");
const folder = mkdtempSync(join(tmpdir(), "screenshots-"));

/** The pictures: the file, the size of the window, and what is done before each is taken. */
const all = [
  {
    ...{ name: "inspector-why", width: 1280, height: 800, session: "travel-rebooking" },
    async prepare(page) {
      await page.getByRole("button", { name: /left the view at reduction 1/ }).click();
      await showRow(page, /It's NLJ-48213/);
    },
  },
  {
    ...{ name: "inspector-time", width: 1280, height: 800, session: "travel-rebooking", scheme: "dark" },
    async prepare(page) {
      await page.getByRole("slider").fill("34");
      await page
        .getByRole("button", { name: /tool calls?: / })
        .last()
        .click();
    },
  },
  {
    ...{ name: "inspector-what-if", width: 1280, height: 800, session: "it-stoerung" },
    async prepare(page) {
      await page.getByRole("tab", { name: "What if" }).click();
      await page.getByLabel("At most, in tokens").fill("1200");
      await page.getByLabel("Cut to, in tokens").fill("800");
      await page.getByRole("columnheader", { name: "token:1200/800" }).waitFor();
      await page
        .getByRole("button", { name: /left the view at reduction/ })
        .first()
        .click();
    },
  },
  {
    ...{ name: "inspector-narrow", width: 390, height: 844, session: "parcel-investigation" },
    async prepare(page) {
      await page.getByRole("button", { name: /left the view at reduction 1/ }).click();
      await page.locator(".card-left .card-top").first().click();
      await page.getByRole("region", { name: "Why" }).evaluate((why) => why.scrollIntoView({ block: "end" }));
    },
  },
];

async function showRow(page, text) {
  await page.locator(".row").filter({ hasText: text }).first().click();
}

const redis = startRedis(folder);
try {
  await playScenes(redis.socket);
  await buildCommand(root, join(root, "dist", "cli"));
  const command = join(root, "dist", "cli", "main.js");
  const args = [command, "inspect", "--json", "--url", `unix://${redis.socket}`];
  const inspector = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  try {
    const [line] = await once(createInterface({ input: inspector.stdout }), "line");
    await takePictures(JSON.parse(line).url);
  } finally {
    inspector.kill("SIGINT");
  }
} finally {
  redis.stop();
  rmSync(folder, { recursive: true, force: true });
}

async function takePictures(url) {
  mkdirSync(pictures, { recursive: true });
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM_BIN ?? "/usr/bin/chromium",
    args: ["--no-sandbox"],
  });
  for (const { name, width, height, session, scheme = "light", prepare } of all) {
    const page = await browser.newPage({ viewport: { width, height }, colorScheme: scheme });
    // The private server has an address of its own each time.
    await page.route("**/api/server?", (route) =>
      route.fulfill({ json: { address: "localhost:6379", prefix: "lcmem" } }),
    );
    await page.goto(`${url}#session=${session}`);
    await page.locator(".row .text").first().waitFor();
    await prepare(page);
    await page.waitForLoadState("networkidle").catch(() => undefined);
    await page.screenshot({ path: join(pictures, `${name}.png`), animations: "disabled" });
    await page.close();
  }
  await browser.close();
}
