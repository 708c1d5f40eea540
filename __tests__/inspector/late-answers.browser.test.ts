import { EventEmitter, once } from "node:events";
import type { Page } from "playwright-core";
import { inspectedPlaces } from "../support/inspectors.js";
import { aiCalls, human } from "../support/messages.js";
import { quietPages } from "../support/shared-browser.js";

const place = inspectedPlaces();
const open = quietPages();

const messagesOf = (words: string) =>
  Array.from({ length: 225 }, (_, at) => human(`${words} ${at}.`, `${words} ${at}`));

/** Opens a session, beside another one, in a page that gets the first answer to such a request late. */
async function opened(request: RegExp, fields = "") {
  const here = await place();
  await here.add("rome", messagesOf("about Rome"));
  await here.add("oslo", [human("about Oslo")]);
  const { page } = await open({ viewport: { width: 1_000, height: 800 } });
  const late = await heldAnswer(page, request);
  await page.goto(`${here.inspector.url}#session=rome${fields}`);
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

/** Shows a message of which the page has nothing yet, and the request for it. */
const [toMiddle, ofMiddle] = ["location.hash = '#session=rome&message=112'", /api\/messages\?.*from=100&/] as const;

describe("the inspector's page, where an answer comes late,", () => {
  it.each(["before", "after"])("shows what replaced messages that it asked for %s they were replaced", async (time) => {
    const { here, page, late } = await opened(ofMiddle);
    const outline = await heldAnswer(page, /api\/outline/);
    const ask = async () => (await page.evaluate(toMiddle), late.fetched);
    await (time === "before" && ask());
    await here.memory().history("rome").replaceFrom("about Rome 0", messagesOf("other words"));
    await outline.fetched;
    await (time === "after" && ask());
    await late.give();
    await outline.give();
    await page.locator(".row").getByText("other words 112.").waitFor();
  });

  it("draws messages that come before its effects have run, and folds its list before them", async () => {
    const { page, late } = await opened(ofMiddle);
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

  it("keeps newer findings", async () => {
    const { here, page, late } = await opened(/api\/findings/, "&tab=Findings");
    await late.fetched;
    await here.add("rome", [aiCalls("c1"), human("x")]);
    const errors = page.locator(".panel .finding-error");
    await errors.first().waitFor();
    await late.give();
    expect(await errors.count()).toBeGreaterThan(0);
  });

  it("keeps the code of the newer choice", async () => {
    const { page, late } = await opened(/api\/test-case/, "&before=7");
    await page.getByRole("button", { name: "Copy as a test case" }).click();
    await late.fetched;
    await page.getByLabel("All messages").check();
    await page.getByText("225 messages as TypeScript").waitFor();
    await late.give();
    expect(await page.getByText("225 messages as TypeScript").isVisible()).toBe(true);
  });

  it("finds sessions with the words that are searched, and no others", async () => {
    const { page, late } = await opened(/api\/search\?text=oslo/);
    await page.getByRole("button", { name: "Sessions" }).click();
    for (const words of ["oslo", "rome"]) {
      await page.getByLabel("Search owner, title or id").fill(words);
      await page.getByRole("button", { name: "Search in messages" }).click();
      await (words === "oslo" && late.fetched);
    }
    const matches = page.locator("section", { hasText: "In messages" }).getByRole("link");
    await matches.getByText("rome").waitFor();
    await late.give();
    expect(await matches.allTextContents()).toEqual(["rome"]);
  });
});

it("keeps in the address what is chosen right behind a link, and does not scroll back behind its reader", async () => {
  const { page } = await opened(/nothing/);
  await page.evaluate(`(async () => {
    document.querySelector("#tab-Findings").click();
    location.hash = "#session=rome&find=words";
    await new Promise((resolve) => addEventListener("hashchange", () => setTimeout(resolve), { once: true }));
    document.querySelector("#tab-What-if").click();
  })()`);
  await page.waitForURL(/find=words&tab=What-if/);
  const top = page.evaluate<number>(`(async () => {
    const scroller = document.querySelector(".scroller");
    const frame = () => new Promise(requestAnimationFrame);
    [...document.querySelectorAll(".row")].at(-1).click();
    await new Promise(queueMicrotask).then().then().then();
    // The page's own observer is called first, and waits for a frame.
    await new Promise((resolve) => new ResizeObserver(resolve).observe(scroller));
    scroller.dispatchEvent(new WheelEvent("wheel"));
    scroller.scrollTop = 0;
    await frame().then(frame).then(frame);
    return scroller.scrollTop;
  })()`);
  expect(await top).toBe(0);
});
