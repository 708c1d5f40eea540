// Finds code and tables of the built site that a window of 1400 pixels cuts. Looks with Chromium: CHROMIUM_BIN, or
// Debian's; without one it says so, and looks at nothing.
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const site = fileURLToPath(new URL("../../.cache/site", import.meta.url));
const pages = ["index.html", ...readdirSync(join(site, "documents")).map((name) => join("documents", name))];
const executablePath = process.env.CHROMIUM_BIN ?? "/usr/bin/chromium";

if (existsSync(executablePath)) {
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
  const page = await browser.newPage({ viewport: { width: 1400, height: 900 } });
  await page.setContent("<pre style='width: 50px; overflow: auto'>a line that is cut</pre>");
  if ((await cutIn(page)).length !== 1) {
    throw new Error("The check does not notice a line that is cut.");
  }
  const cut = [];
  for (const name of pages) {
    await page.goto(pathToFileURL(join(site, name)).href);
    cut.push(...(await cutIn(page)).map((text) => `${name}: ${text}`));
  }
  await browser.close();
  cut.forEach((line) => console.error(line));
  console.log(`${pages.length} pages at 1400 pixels, ${cut.length} cut pieces of code and tables`);
  process.exitCode = cut.length === 0 ? 0 : 1;
} else {
  console.log("No Chromium: whether pages are cut was not looked at.");
}

/** The beginnings of what is wider than its place. */
function cutIn(page) {
  return page.evaluate(() =>
    [document.documentElement, ...document.querySelectorAll("pre, table")]
      .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth + 1)
      .map(({ textContent }) => textContent.trim().slice(0, 60)),
  );
}
