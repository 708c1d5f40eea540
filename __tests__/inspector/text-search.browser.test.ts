import { inspectedPlaces } from "../support/inspectors.js";
import { ai, human } from "../support/messages.js";
import { accessibilityFindings, browserPages } from "../support/shared-browser.js";

const place = inspectedPlaces();
const open = browserPages();

it("finds words in messages of all sessions and in the open one, and jumps from match to match", async () => {
  const here = await place();
  const rounds = Array.from({ length: 60 }, (_, round) => [
    human(`question ${round}${round % 20 === 0 ? " about Oslo" : ""}`),
    ai(`answer ${round}`),
  ]);
  await here.memory().history("trip").addMessages(rounds.flat());
  await here
    .memory()
    .history("other")
    .addMessages([human("hello")]);
  const watched = await open();
  const { page } = watched;
  await page.goto(here.inspector.url);
  await page.getByLabel("Search owner, title or id").fill("oslo");
  await page.getByRole("button", { name: "Search in messages" }).click();
  await page.getByRole("link", { name: "trip" }).click();
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
  expect(watched.complaints).toEqual([]);
});
