import { AIMessage, ToolMessage } from "@langchain/core/messages";
import type { Page } from "playwright-core";
import { inspectedPlaces, type InspectedPlace } from "../support/inspectors.js";
import { aiCalls, human, tool } from "../support/messages.js";
import { accessibilityFindings, browserPages, type WatchedPage } from "../support/shared-browser.js";

const place = inspectedPlaces();
const open = browserPages();

async function show({ inspector }: InspectedPlace, { page }: WatchedPage, sessionId: string): Promise<void> {
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
    await here
      .memory()
      .history("s")
      .addMessages([human("1"), calling, answer]);
    const watched = await open();
    const { page } = watched;
    await show(here, watched, "s");
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
    expect(watched.complaints).toEqual([]);
  });

  it("shows few elements of deep and of huge JSON, and more as the reader asks", async () => {
    const here = await place();
    const wide = JSON.stringify(Array.from({ length: 20_000 }, (_, index) => index));
    const deep = "[".repeat(1_000) + "]".repeat(1_000);
    await here
      .memory()
      .history("s")
      .addMessages([human("1"), aiCalls("c1", "c2"), tool("c1", wide), tool("c2", deep)]);
    const watched = await open();
    const { page } = watched;
    await show(here, watched, "s");
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
    expect(watched.complaints).toEqual([]);
  });
});
