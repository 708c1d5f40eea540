import { EventEmitter, once } from "node:events";
import type { Page } from "playwright-core";
import { inspectedPlaces } from "../support/inspectors.js";
import { human } from "../support/messages.js";
import { quietPages } from "../support/shared-browser.js";

const place = inspectedPlaces();
const open = quietPages();

const all = (words: string) => Array.from({ length: 225 }, (_, at) => human(`${words} ${at}.`, `${words} ${at}`));

/** Opens a session in a page that gets the answer with those in its middle late. */
async function opened() {
  const here = await place();
  await here.add("rome", all("about Rome"));
  const { page } = await open({ viewport: { width: 1_000, height: 800 } });
  const late = await heldAnswer(page, /api\/messages\?.*from=100&/);
  await page.goto(`${here.inspector.url}#session=rome`);
  await page.locator(".row").first().waitFor();
  return { here, page, late };
}

/** Holds the next answer to such a request, from when the server has given it until the page gets it. */
async function heldAnswer(page: Page, url: RegExp) {
  const steps = new EventEmitter();
  const [fetched, given, taken] = [once(steps, "fetched"), once(steps, "given"), once(steps, "taken")];
  const hold: Parameters<Page["route"]>[1] = async (route) => {
    const response = await route.fetch();
    steps.emit("fetched");
    await given;
    await route.fulfill({ response });
    // What is asked now is answered behind it.
    await page.evaluate("fetch('api/server').then((answer) => answer.text())");
    steps.emit("taken");
  };
  await page.route(url, hold, { times: 1 });
  return { fetched, give: () => (steps.emit("given"), taken) };
}

/** Shows a message whose answer is held. */
const toMiddle = "location.hash = '#session=rome&message=112'";

describe("the inspector's page, where an answer comes late,", () => {
  it.each(["before", "after"])("shows what replaced messages that it asked for %s they were replaced", async (time) => {
    const { here, page, late } = await opened();
    const outline = await heldAnswer(page, /api\/outline/);
    const ask = async () => (await page.evaluate(toMiddle), late.fetched);
    await (time === "before" && ask());
    await here.memory().history("rome").replaceFrom("about Rome 0", all("other words"));
    await outline.fetched;
    await (time === "after" && ask());
    await late.give();
    await outline.give();
    await page.locator(".row").getByText("other words 112.").waitFor();
  });

  it("draws messages that come before its effects have run, and folds its list before them", async () => {
    const { page, late } = await opened();
    await page.evaluate(toMiddle);
    await late.fetched;
    await page.getByRole("button", { name: "Sessions" }).click();
    // No timers run from here on, and no effects that wait for what is drawn.
    await page.clock.install();
    await page.clock.pauseAt(Date.now() + 3_600_000);
    await page.evaluate(`${toMiddle} + '&text=raw'`);
    await page.getByRole("navigation").waitFor({ state: "hidden" });
    await late.give();
    await page.getByText("about Rome 112.").waitFor();
  });
});
