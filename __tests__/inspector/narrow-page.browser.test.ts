import { AIMessage } from "@langchain/core/messages";
import { ChatHistoryTokenReducer } from "langchain-redis-memory";
import type { Page } from "playwright-core";
import { inspectedPlaces } from "../support/inspectors.js";
import { human } from "../support/messages.js";
import { accessibilityFindings, browserPages } from "../support/shared-browser.js";

const place = inspectedPlaces();
const open = browserPages();

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
    const [row, tabs] = [await boxOf(page, ".row[aria-current=true]"), await boxOf(page, ".panel")];
    expect(row.y + row.height).toBeLessThanOrEqual(tabs.y + 1);
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
    expect(await page.getByRole("navigation").isVisible()).toBe(false);
  });

  it("keeps the panel beside the conversation at 1024 pixels, and the list a button away", async () => {
    const page = await narrowPage(1_024, 768);
    await page.getByRole("tab", { name: "What if" }).click();
    await page.getByRole("columnheader", { name: "token:8000/6400" }).waitFor();
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
