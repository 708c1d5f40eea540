// Jest's own setup files do not go through moduleNameMapper; this finds `./a.ts` where `./a.js` is imported.
import "tsx/cjs";
import { chromium, type BrowserServer } from "playwright-core";
import { requireChromium } from "./chromium-binary.js";
import setupRedis from "./redis-setup.js";

declare global {
  var sharedBrowser: BrowserServer | undefined;
}

/** One browser for all test files of the `browser` project, beside what the `redis` project has. */
export default async function setup(): Promise<void> {
  const executablePath = requireChromium();
  await setupRedis();
  // Where the tests run as root, Chromium has no sandbox; it loads nothing but the page of this package.
  globalThis.sharedBrowser = await chromium.launchServer({ executablePath, args: ["--no-sandbox"] });
  process.env["TEST_BROWSER_URL"] = globalThis.sharedBrowser.wsEndpoint();
}
