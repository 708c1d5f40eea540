import { askingThread } from "../support/inspected-thread.js";
import { inspectedPlaces } from "../support/inspectors.js";
import { accessibilityFindings, browserPages } from "../support/shared-browser.js";

const place = inspectedPlaces();
const open = browserPages();

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
