import { AIMessage, ToolMessage } from "@langchain/core/messages";
import { ChatHistoryTokenReducer } from "langchain-redis-memory";
import type { Page } from "playwright-core";
import { markdownTags } from "../../cli/inspector/model/markdown.js";
import { until } from "../../tools/testkit/servers/until.js";
import { askingThread } from "../support/inspected-thread.js";
import { type InspectedPlace, inspectedPlaces } from "../support/inspectors.js";
import { ai, aiCalls, human, tool } from "../support/messages.js";
import { accessibilityFindings, quietPages, resize } from "../support/shared-browser.js";

const place = inspectedPlaces();

const open = quietPages();

async function show({ inspector }: InspectedPlace, page: Page, sessionId: string): Promise<void> {
  await page.goto(`${inspector.url}#session=${encodeURIComponent(sessionId)}`);
  await page.locator(".row").first().waitFor();
}

/** What stands in the document for the JSON of the first element of this kind. */
const jsonIn = async (page: Page, within: string) => page.locator(`${within} .json`).first().innerText();

describe("texts of messages on the inspector's page", () => {
  it("folds JSON of arguments and results by level, by keyboard too, and keeps what is unfolded", async () => {
    const here = await place();
    const result = {
      found: [{ id: 1, tags: ["a", "b"] }, ...Array.from({ length: 30 }, (_, id) => ({ id }))],
      ok: true,
    };
    const call = { type: "tool_call" as const, id: "c1", name: "find", args: { where: { city: "Oslo" } } };
    const calling = new AIMessage({ content: "", tool_calls: [call] });
    const answer = new ToolMessage({ content: JSON.stringify(result), tool_call_id: "c1" });
    await here.add("s", [human("1"), calling, answer]);
    const { page } = await open();
    await show(here, page, "s");
    await page.getByRole("button", { name: "1 tool call: find" }).click();
    expect(await jsonIn(page, ".call")).toContain('"city": "Oslo"');
    const found = page.getByRole("button", { name: '"found": [ 31 values ],' });
    expect(await found.getAttribute("aria-expanded")).toBe("false");
    expect(await jsonIn(page, ".result")).not.toContain('"id": 29');
    await found.focus();
    await page.keyboard.press("Enter");
    await page.locator(".result .json").getByText('"id": 29').waitFor();
    await page.getByRole("tab", { name: "Findings" }).click();
    await page.getByRole("button", { name: "1 tool call: find" }).click();
    await page.getByRole("button", { name: "1 tool call: find" }).click();
    await page.locator(".result .json").getByText('"id": 29').waitFor();
    await page.locator(".result .json-level[aria-expanded=true]").nth(1).press("Enter");
    await found.waitFor();
    expect(await accessibilityFindings(page)).toEqual([]);
  });

  it("shows few elements of deep and of huge JSON, and more as the reader asks", async () => {
    const here = await place();
    const wide = JSON.stringify(Array.from({ length: 20_000 }, (_, index) => index));
    const deep = "[".repeat(1_000) + "]".repeat(1_000);
    await here.add("s", [human("1"), aiCalls("c1", "c2"), tool("c1", wide), tool("c2", deep)]);
    const { page } = await open();
    await show(here, page, "s");
    await page.getByRole("button", { name: "2 tool calls: lookup, lookup" }).click();
    await page.getByRole("button", { name: /^Show more: \d+ of \d+ values are left/ }).waitFor();
    await page
      .getByRole("button", { name: /^Show more: [\d,]+ of [\d,]+ characters are left/ })
      .first()
      .click();
    const more = page.getByRole("button", { name: /^Show more: 1\d,\d{3} of 1\d,\d{3} values are left/ });
    await more.click();
    await page.locator(".json").getByText("199,", { exact: true }).waitFor();
    for (let level = 0; level < 5; level += 1) {
      await page.locator(".json-level[aria-expanded=false]").last().click();
    }
    expect(await page.locator("*").count()).toBeLessThan(1_200);
  });

  it("lays out Markdown without any HTML of it, and gives the text as it is stored", async () => {
    const here = await place();
    const hostile = [
      "<img src=x onerror=alert(1)> <iframe srcdoc='<script>alert(2)</script>'></iframe>",
      "![seen](https://attacker.example/pixel.png) [go](javascript:alert(3)) [**page**](https://a.example/x?y=1)",
      "<style>*{display:none}</style>\n\n| a | b |\n|---|---|\n| <svg onload=alert(4)> | `c` |",
      "# Title\n\n- one\n- two\n\n```html\n<b>bold</b>\n```\n> said",
    ];
    await here.add("s", [human("Hi **you**"), ai(hostile.join("\n\n")), human("x")]);
    const { page, requests } = await open();
    await show(here, page, "s");
    const laidOut = page.locator(".markdown");
    await laidOut.getByText("Title").waitFor();
    const elements = await laidOut.evaluateAll((all) =>
      all.flatMap((one) =>
        [...one.querySelectorAll("*")].map(({ localName, attributes }) => ({
          tag: localName,
          attributes: [...attributes].map(({ name }) => name),
        })),
      ),
    );
    expect(markdownTags).toEqual(expect.arrayContaining(elements.map(({ tag }) => tag)));
    const names = new Set(elements.flatMap(({ attributes }) => attributes));
    expect([...names].sort()).toEqual(["class", "href", "rel", "target"]);
    expect(await laidOut.locator("strong").allTextContents()).toEqual(["you", "page"]);
    await laidOut.getByText("image: seen https://attacker.example/pixel.png").waitFor();
    await laidOut.getByText("[go](javascript:alert(3))").waitFor();
    const link = laidOut.getByRole("link");
    expect(await link.allTextContents()).toEqual(["https://a.example/x?y=1"]);
    expect(await link.getAttribute("rel")).toBe("noreferrer noopener");
    expect(await accessibilityFindings(page)).toEqual([]);
    await page.getByRole("button", { name: "Texts as stored" }).click();
    await page.getByText("Hi **you**").waitFor();
    await page.waitForURL(/text=raw/);
    await page.reload();
    await page.getByText("Hi **you**").waitFor();
    expect(await laidOut.count()).toBe(0);
    const { origin } = new URL(here.inspector.url);
    expect(requests.filter((url) => !url.startsWith(origin) && !url.startsWith("data:,"))).toEqual([]);
  });
});

describe("two sessions, and a report, on the inspector's page", () => {
  it("stand side by side, on a narrow screen one under the other, and each follows what is written", async () => {
    const here = await place();
    const app = here.memory();
    await app.history("a", { owner: "ann" }).addMessages([human("question of a"), ai("answer of a")]);
    await app.history("b & c", { owner: "ben", title: "Second" }).addMessages([human("question of b")]);
    await app.drain();
    const { page } = await open();
    await page.goto(`${here.inspector.url}#session=a`);
    await page.getByRole("link", { name: "Compare Second with the open session" }).click();
    await page.waitForURL(/#session=a&beside=b%20%26%20c$/);
    const [left, right] = [
      page.getByRole("region", { name: "a", exact: true }),
      page.getByRole("region", { name: "Second" }),
    ];
    await left.getByText("answer of a").waitFor();
    await right.getByText("question of b").waitFor();
    await app.history("b & c").addMessages([ai("answer of b")]);
    await right.getByText("answer of b").waitFor();
    await app.history("a").addMessages([human("more of a")]);
    await left.getByText("more of a").waitFor();
    await right.getByRole("button", { name: "One message earlier" }).click();
    await right.getByText("When message 1 was written").waitFor();
    await left.getByText("more of a").waitFor();
    const tops = async () => Promise.all([left, right].map(async (one) => (await one.boundingBox())!.y));
    const [first, second] = await tops();
    expect(first).toBe(second);
    expect(await accessibilityFindings(page)).toEqual([]);
    await resize(page, 390, 844);
    const [above, below] = await tops();
    expect(below).toBeGreaterThan(above! + 100);
    expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBe(0);
    await page.getByRole("link", { name: "Close the left one" }).click();
    await page.getByRole("heading", { name: "Second" }).waitFor();
  });

  it("is opened from the session, printed without the rest of the page, and downloaded", async () => {
    const here = await place();
    await here.add("s", [human("words that stay here", "id-of-it")]);
    const { page } = await open();
    await page.goto(`${here.inspector.url}#session=s`);
    await page.getByRole("link", { name: "Report" }).click();
    const report = page.getByLabel("Report", { exact: true });
    await report.getByText("id-of-it").waitFor();
    expect(await page.locator("main").textContent()).not.toContain("words that stay here");
    for (const scheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme: scheme });
      expect(await accessibilityFindings(page)).toEqual([]);
    }
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("link", { name: "Download" }).click(),
    ]);
    expect(download.suggestedFilename()).toBe("s-report.txt");
    await page.emulateMedia({ media: "print" });
    expect(await page.getByRole("navigation").isVisible()).toBe(false);
    expect(await page.getByRole("button", { name: "Print" }).isVisible()).toBe(false);
    expect(await report.isVisible()).toBe(true);
  });
});

/** A session of twelve rounds that was cut, with a gauge, open in a window of this size. */
async function narrowPage(width: number, height: number): Promise<Page> {
  const here = await place();
  const app = here.memory({ reducer: new ChatHistoryTokenReducer({ maxTokens: 120 }) });
  for (let round = 0; round < 12; round += 1) {
    const usage_metadata = { input_tokens: 90, output_tokens: 9, total_tokens: 99 };
    const response_metadata = { model_name: "gpt-4o-mini" };
    const answer = new AIMessage({ content: `answer ${round}`, usage_metadata, response_metadata });
    await app.history("s", { title: "Trains" }).addMessages([human(`question ${round}`), answer]);
  }
  await app.history("other", { title: "Other" }).addMessages([human("1")]);
  await app.drain();
  const { page } = await open({ viewport: { width, height } });
  await page.goto(`${here.inspector.url}#session=s`);
  await page.getByText("answer 11").waitFor();
  return page;
}

const boxOf = async (page: Page, selector: string) => (await page.locator(selector).first().boundingBox())!;

/** Waits until the chosen row is in sight: a frame or two after what it makes room for. */
const chosenAbovePanel = (page: Page) =>
  until("the chosen row is above the panel", async () => {
    const [row, panel] = [await boxOf(page, ".row[aria-current=true]"), await boxOf(page, ".panel")];
    return row.y + row.height <= panel.y + 1;
  });

/** Controls in sight of which another element takes the click. */
function coveredControls(page: Page): Promise<string[]> {
  return page.evaluate(`[...document.querySelectorAll("button, a, input, select, summary")].filter((one) => {
    const { x, y, width, height } = one.getBoundingClientRect();
    const clip = one.closest(".controls, .panel-content, .scroller, .overview")?.getBoundingClientRect();
    const [left, top] = [x + width / 2, y + height / 2];
    const isInSight = width > 0 && left >= 0 && left < innerWidth && top >= 0 && top < innerHeight;
    const isClipped = clip && (top < clip.top || top > clip.bottom || left > clip.right);
    const shown = document.elementFromPoint(left, top);
    return isInSight && !isClipped && !one.contains(shown) && !shown?.contains(one);
  }).map((one) => one.outerHTML.slice(0, 120))`);
}

describe("the inspector's page on a narrow screen", () => {
  it("gives the conversation the screen at 390 pixels; list, controls and panel are folded", async () => {
    const page = await narrowPage(390, 844);
    expect((await boxOf(page, ".conversation")).height).toBeGreaterThan(0.7 * 844);
    expect(await page.getByRole("navigation").isVisible()).toBe(false);
    expect(await page.getByRole("slider").isVisible()).toBe(false);
    expect(await page.getByRole("tabpanel").isVisible()).toBe(false);
    await page.locator(".row").filter({ hasText: "answer 11" }).click();
    await page.getByRole("tabpanel").getByText("The model sees this message.").waitFor();
    await chosenAbovePanel(page);
    // So it does where less room is left later.
    await resize(page, 390, 600);
    await chosenAbovePanel(page);
    await resize(page, 390, 844);
    expect(await accessibilityFindings(page)).toEqual([]);
    await page.getByRole("button", { name: "Details" }).click();
    await page.getByRole("tabpanel").waitFor({ state: "hidden" });
    await page.locator(".controls summary").click();
    await page.getByRole("button", { name: "One message earlier" }).click();
    await page.getByText("When message 23 was written").waitFor();
    expect(await accessibilityFindings(page)).toEqual([]);
    expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBe(0);
    // With all of it open, nothing lies over anything: what is in sight takes the click.
    await page.getByRole("tab", { name: "What if" }).click();
    await page.getByRole("columnheader", { name: "token:8000/6400" }).waitFor();
    const [head, talk] = [await boxOf(page, ".controls"), await boxOf(page, ".conversation")];
    const [overview, panel] = [await boxOf(page, ".overview"), await boxOf(page, ".panel")];
    expect(head.y + head.height).toBeLessThanOrEqual(talk.y + 1);
    expect(overview.y + overview.height).toBeLessThanOrEqual(panel.y + 1);
    expect(talk.height).toBeGreaterThan(100);
    expect(await coveredControls(page)).toEqual([]);
    expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBe(0);
    await page.getByRole("button", { name: "Sessions" }).click();
    await page.getByRole("link", { name: /^Other/ }).click();
    await page.locator(".controls").getByText("Other").first().waitFor();
    await page.getByRole("navigation").waitFor({ state: "hidden" });
  });

  it("keeps the panel beside the conversation at 1024 pixels, and the list a button away", async () => {
    const page = await narrowPage(1_024, 768);
    await page.getByRole("tab", { name: "What if" }).click();
    await page.getByRole("columnheader", { name: "token:8000/6400" }).waitFor();
    // The last that moves them down.
    await page.getByRole("region", { name: "The next request" }).waitFor();
    const [conversation, panel] = [await boxOf(page, ".conversation"), await boxOf(page, ".panel")];
    expect(panel.y).toBe(conversation.y);
    expect(panel.y).toBeLessThanOrEqual(768 / 3);
    expect(await page.locator(".controls").evaluate((head) => head.scrollHeight - head.clientHeight)).toBe(0);
    expect(await page.getByRole("spinbutton", { name: "Budget in tokens" }).inputValue()).toBe("120");
    await page.getByText(/^the reducer’s, at reduction \d+$/).waitFor();
    expect(await coveredControls(page)).toEqual([]);
    expect(panel.x).toBeGreaterThanOrEqual(conversation.x + conversation.width);
    expect(await page.getByRole("navigation").isVisible()).toBe(false);
    await page.getByRole("button", { name: "Sessions" }).click();
    await page.getByRole("link", { name: /^Trains/ }).waitFor();
    expect(await accessibilityFindings(page)).toEqual([]);
  });
});

it("finds words in messages of all sessions and in the open one, and jumps from match to match", async () => {
  const here = await place();
  const rounds = Array.from({ length: 60 }, (_, round) => [
    human(`question ${round}${round % 20 === 0 ? " about Oslo" : ""}`),
    ai(`answer ${round}`),
  ]);
  await here.add("trip", rounds.flat());
  await here.add("other", [human("hello")]);
  const { page } = await open();
  await page.goto(here.inspector.url);
  await page.getByLabel("Search owner, title or id").fill("oslo");
  await page.getByRole("button", { name: "Search in messages" }).click();
  // The session of this name is in the list, too, until it is searched.
  await page.locator("section", { hasText: "In messages" }).getByRole("link", { name: "trip" }).click();
  const chosen = page.locator(".row[aria-current=true]");
  await chosen.getByText("question 40 about Oslo").waitFor();
  await page.getByText("3 of 3").waitFor();
  expect(await accessibilityFindings(page)).toEqual([]);
  await page.getByRole("button", { name: "Match before" }).click();
  await chosen.getByText("question 20 about Oslo").waitFor();
  await page.getByText("2 of 3").waitFor();
  await page.getByLabel("Find in session").fill("answer 7");
  await page.getByText("1 found").waitFor();
  await page.getByLabel("Find in session").press("Enter");
  await chosen.getByText("answer 7").waitFor();
  await page.waitForURL(/find=answer%207/);
});

describe("the inspector's page of a LangGraph thread", () => {
  it("opens from the list, and shows what each checkpoint changed and what waits", async () => {
    const here = await place();
    await askingThread(here, "ann-1");
    const { page } = await open();
    await page.goto(here.inspector.url);
    await page.getByRole("link", { name: /ann-1/ }).click();
    const newest = page.locator(".checkpoint").first();
    await newest.getByText("Step 1, loop").waitFor();
    const words = await newest.textContent();
    expect(words).toContain("next: ask");
    expect(words).toContain('Waits for an answer: {"');
    expect(words).toContain("1 → 2 elements, 1 new");
    // Texts are never markup.
    expect(words).toContain('"<b>a note</b>"');
    expect(await page.locator(".session[aria-current=page]").textContent()).toContain("ann-1");
    expect(await accessibilityFindings(page)).toEqual([]);
  });
});
