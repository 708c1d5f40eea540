import { inspectedPlaces } from "../support/inspectors.js";
import { ai, human } from "../support/messages.js";
import { accessibilityFindings, browserPages } from "../support/shared-browser.js";

const place = inspectedPlaces();
const open = browserPages();

describe("two sessions, and a report, on the inspector's page", () => {
  it("stand side by side, on a narrow screen one under the other, and each follows what is written", async () => {
    const here = await place();
    const app = here.memory();
    await app.history("a", { owner: "ann" }).addMessages([human("question of a"), ai("answer of a")]);
    await app.history("b & c", { owner: "ben", title: "Second" }).addMessages([human("question of b")]);
    await app.drain();
    const watched = await open();
    const { page } = watched;
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
    await page.setViewportSize({ width: 390, height: 844 });
    const [above, below] = await tops();
    expect(below).toBeGreaterThan(above! + 100);
    expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth")).toBe(0);
    await page.getByRole("link", { name: "Close the left one" }).click();
    await page.getByRole("heading", { name: "Second" }).waitFor();
    expect(watched.complaints).toEqual([]);
  });

  it("is opened from the session, printed without the rest of the page, and downloaded", async () => {
    const here = await place();
    await here
      .memory()
      .history("s")
      .addMessages([human("words that stay here", "id-of-it")]);
    const watched = await open();
    const { page } = watched;
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
    expect(watched.complaints).toEqual([]);
  });
});
