import { AIMessage, ToolMessage } from "@langchain/core/messages";
import type { Page } from "playwright-core";
import { markdownTags } from "../../cli/inspector/model/markdown.js";
import { inspectedPlaces, type InspectedPlace } from "../support/inspectors.js";
import { ai, aiCalls, human, tool } from "../support/messages.js";
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

  it("lays out Markdown without any HTML of it, and gives the text as it is stored", async () => {
    const here = await place();
    const hostile = [
      "<img src=x onerror=alert(1)> <iframe srcdoc='<script>alert(2)</script>'></iframe>",
      "![seen](https://attacker.example/pixel.png) [go](javascript:alert(3)) [**page**](https://a.example/x?y=1)",
      "<style>*{display:none}</style>\n\n| a | b |\n|---|---|\n| <svg onload=alert(4)> | `c` |",
      "# Title\n\n- one\n- two\n\n```html\n<b>bold</b>\n```\n> said",
    ];
    await here
      .memory()
      .history("s")
      .addMessages([human("Hi **you**"), ai(hostile.join("\n\n")), human("x")]);
    const watched = await open();
    const { page, requests } = watched;
    await show(here, watched, "s");
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
    expect(watched.complaints).toEqual([]);
  });
});
