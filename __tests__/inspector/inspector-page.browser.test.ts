import { text } from "node:stream/consumers";
import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { RunnableLambda } from "@langchain/core/runnables";
import {
  ChatHistorySummarizationReducer,
  ChatHistoryTokenReducer,
  ChatHistoryTruncationReducer,
} from "langchain-redis-memory";
import { simulateReducers } from "../../cli/simulation/simulate-reducers.js";
import type { Page } from "playwright-core";
import { stampAnswer, walkLedger } from "../../src/entries/structure.js";
import { until } from "../../tools/testkit/servers/until.js";
import { addInRounds, inspectedPlaces, type InspectedPlace } from "../support/inspectors.js";
import { ai, aiCalls, human, system, tool } from "../support/messages.js";
import { recordedConversations } from "../support/real-conversations.js";
import { accessibilityFindings, browserPages, quietPages, resize } from "../support/shared-browser.js";

const place = inspectedPlaces();
const open = quietPages();
/** For a page whose questions are refused. */
const openRefused = browserPages();
const [travel] = recordedConversations();

/** A session of six rounds that a summary was made of; its first question is no longer seen. */
async function summarized({ memory }: InspectedPlace, sessionId: string): Promise<void> {
  const model = RunnableLambda.from(() => "They spoke of trains.");
  const reducer = new ChatHistorySummarizationReducer({ model, targetCount: 4, thresholdCount: 2 });
  const app = memory({ reducer });
  for (let round = 0; round < 6; round += 1) {
    const first = round === 0 ? [system("Be brief.")] : [];
    await app
      .history(sessionId, { owner: "ann" })
      .addMessages([...first, human(`question ${round}`), ai(`answer ${round}`)]);
  }
  await app.drain();
}

/** An answer with a thought that is bound to a system prompt. */
function thoughtful(prompt: string, ...calls: readonly string[]): BaseMessage {
  const content = [{ type: "thinking", thinking: "hm", signature: "EqQB" }];
  const answer = new AIMessage({ content, tool_calls: aiCalls(...calls).tool_calls ?? [] });
  return stampAnswer(answer, walkLedger([], { system: prompt }).prefix);
}

async function show({ inspector }: InspectedPlace, page: Page, sessionId: string): Promise<void> {
  await page.goto(`${inspector.url}#session=${encodeURIComponent(sessionId)}`);
  await page.locator(".row").first().waitFor();
}

const row = (page: Page, text: string | RegExp) => page.locator(".row").filter({ hasText: text });

/** What axe finds; in the dark only of the rules on colours, for nothing else is different there. */
async function findingsInLightAndDark(page: Page): Promise<string[]> {
  const light = await accessibilityFindings(page);
  await page.emulateMedia({ colorScheme: "dark" });
  const dark = await accessibilityFindings(page, ["color-contrast", "link-in-text-block"]);
  await page.emulateMedia({ colorScheme: "light" });
  return [...light, ...dark.map((finding) => `dark: ${finding}`)];
}

const reason = (page: Page) => page.getByRole("region", { name: "Why" });

const textsOf = (messages: readonly { readonly text: string }[]) => messages.map(({ text: words }) => words);

/** True if a tenth of what an element shows is red: its pixels are read on a page without a content security policy. */
async function hasRed(page: Page, selector: string): Promise<boolean> {
  const picture = (await page.locator(selector).screenshot()).toString("base64");
  const reader = await page.context().newPage();
  try {
    const share = await reader.evaluate(`(async () => {
      const image = new Image();
      image.src = "data:image/png;base64,${picture}";
      await image.decode();
      const canvas = new OffscreenCanvas(image.width, image.height).getContext("2d");
      canvas.drawImage(image, 0, 0);
      const { data } = canvas.getImageData(0, 0, image.width, image.height);
      let red = 0;
      for (let at = 0; at < data.length; at += 4) {
        red += data[at] > data[at + 1] + 60 && data[at] > data[at + 2] + 60 ? 1 : 0;
      }
      return red / (data.length / 4);
    })()`);
    return Number(share) > 0.1;
  } finally {
    await reader.close();
  }
}

/** How many lines the text of the first such element takes. */
async function linesOf(page: Page, selector: string): Promise<unknown> {
  return page.evaluate(`{
    const range = document.createRange();
    range.selectNodeContents(document.querySelector(${JSON.stringify(selector)}));
    new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size;
  }`);
}

describe("the inspector's page", () => {
  it("says by keyboard alone why a message is no longer seen", async () => {
    const here = await place();
    await summarized(here, "trains");
    const { page } = await open();
    await page.goto(here.inspector.url);
    await page.getByRole("link", { name: /trains/ }).waitFor();
    await page.keyboard.press("Tab");
    expect(await page.locator(":focus").textContent()).toBe("Skip to the conversation");
    await page.keyboard.press("Tab");
    await page.keyboard.type("ann");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await row(page, "answer 5").waitFor();
    for (let tries = 0; tries < 30 && (await page.locator(".row:focus").count()) === 0; tries += 1) {
      await page.keyboard.press("Tab");
    }
    await page.keyboard.press("Home");
    await page.keyboard.press("ArrowDown");
    await page.locator(".row:focus", { hasText: "question 0" }).waitFor();
    await reason(page).getByText("The model no longer sees this message.").waitFor();
    const words = await reason(page).textContent();
    expect(words).toMatch(
      /It left the view at reduction 1 of \d, on 20\d\d-.*: the view held 7 messages.* was cut to \d/,
    );
    expect(words).toMatch(/A summary covers it, together with \d+ other messages: the model reads that summary/);
    expect(words).toContain("They spoke of trains.");
    const outline = await page.evaluate("getComputedStyle(document.querySelector('.row:focus .card')).outline");
    expect(outline).toMatch(/solid 3px/);
    await page.getByRole("button", { name: "Show the summary" }).focus();
    await page.keyboard.press("Enter");
    await reason(page).getByText("The model sees this message.").waitFor();
    await page.getByRole("button", { name: /Show the \d+ messages behind it/ }).focus();
    await page.keyboard.press("Enter");
    await reason(page)
      .getByText(/^Message 1, User/)
      .waitFor();
    await page.getByRole("tab", { name: "Message" }).focus();
    await page.keyboard.press("ArrowRight");
    await page.getByText("The view keeps all of these rules.").waitFor();
  });

  it("grows while the session is written to, says so to a screen reader, and follows a rewind", async () => {
    const here = await place();
    const history = here.memory().history("live");
    await history.addMessages([human("first question"), ai("first answer")]);
    const { page, requests } = await open();
    await show(here, page, "live");
    await row(page, "first answer").waitFor();
    await history.addMessages([human("second question", "q2"), ai("second answer")]);
    await row(page, "second answer").waitFor();
    await page.getByRole("log").getByText("2 new messages, the last from: Assistant").waitFor({ state: "attached" });
    await history.rewind("q2");
    await row(page, "second answer").waitFor({ state: "detached" });
    expect(await page.getByRole("link", { name: /live/ }).textContent()).toContain("messages");
    expect(requests.filter((url) => url.endsWith("/app.js"))).toHaveLength(1);
  });

  it("shows hostile messages as text, runs nothing of them, and asks nobody else for anything", async () => {
    const here = await place();
    const image = "https://attacker.example/pixel.png";
    const hostile = [
      human("<script>alert(1)</script><img src=x onerror=alert(2)>"),
      human("null \u0000 byte, half \ud83d character, \u202eturned"),
      human("שלום עולם, مرحبا"),
      new HumanMessage({ content: [{ type: "image_url", image_url: { url: image } }] }),
      new HumanMessage({ content: [{ type: "image_url", image_url: { url: "javascript:alert(3)" } }] }),
      aiCalls("<b>c1</b>"),
      tool("<b>c1</b>", '</textarea><svg onload="alert(4)">'),
      human("0123456789".repeat(200_000)),
    ];
    const sessionId = '"><img src=x onerror=alert(5)>';
    const app = here.memory({ redis: { limits: { maxMessageBytes: 20_000_000, maxAppendBytes: 40_000_000 } } });
    await app.history(sessionId, { owner: "<b>owner</b>", title: "<script>alert(6)</script>" }).addMessages(hostile);
    await app.drain();
    const { page, requests } = await open();
    await show(here, page, sessionId);
    await row(page, "0123456789").getByRole("button", { name: "Show all 2,000,000 characters" }).click();
    await page.getByRole("button", { name: /^Show more: 1,996,000 of/ }).click();
    await page.getByRole("button", { name: /^Show more: 1,900,000 of/ }).waitFor();
    await page.locator(".row[tabindex='0']").focus();
    await page.keyboard.press("Home");
    await row(page, "<script>alert(1)</script><img src=x onerror=alert(2)>").waitFor();
    await row(page, "null \\u0000 byte, half \\ud83d character, \\u202eturned").waitFor();
    await row(page, image).getByText(`${image}, not loaded`).waitFor();
    await page.getByRole("button", { name: "1 tool call: lookup" }).click();
    await page.getByText('</textarea><svg onload="alert(4)">').waitFor();
    expect(await page.getByRole("heading", { level: 1 }).textContent()).toBe("<script>alert(6)</script>");
    await page.getByRole("button", { name: "Copy as a test case" }).click();
    await page.getByText("8 messages as TypeScript").waitFor();
    const { origin } = new URL(here.inspector.url);
    expect(requests.filter((url) => !url.startsWith(origin) && !url.startsWith("data:,"))).toEqual([]);
  });

  it("has nothing that axe finds, in light and dark, from 320 to 2560 pixels", async () => {
    const here = await place();
    await summarized(here, "trains");
    await here.add("trains", [human("x"), thoughtful("brief"), thoughtful("kind", "c1", "c2"), tool("c1"), human("y")]);
    const { page } = await open({ colorScheme: "light" });
    await show(here, page, "trains");
    await row(page, /2 tool calls/)
      .getByText("The prefix broke here: the system prompt is not the one")
      .waitFor();
    await page.getByRole("button", { name: /2 tool calls/ }).click();
    await row(page, "y").last().click();
    for (const [width, tab] of [
      [320, "Message"],
      [1_280, "Findings"],
      [2_560, "What if"],
    ] as const) {
      await resize(page, width);
      await page.getByRole("tab", { name: tab }).click();
      if (tab === "Findings") {
        await page.getByLabel("Rules of").selectOption("openai");
      }
      const shown = { Message: "What is stored", Findings: "S10", "What if": "Tokens sent" }[tab];
      await page.getByRole("tabpanel").getByText(shown).first().waitFor();
      expect([width, await findingsInLightAndDark(page)]).toEqual([width, []]);
      const overflow = await page.evaluate("document.documentElement.scrollWidth - innerWidth");
      expect([width, overflow]).toEqual([width, 0]);
    }
    await page.getByRole("button", { name: "Copy as a test case" }).click();
    expect(await findingsInLightAndDark(page)).toEqual([]);
  });

  it("shows a session of 50,000 messages with few elements and few requests", async () => {
    const here = await place();
    const history = here.memory({ redis: { limits: { maxAppendBytes: 40_000_000 } } }).history("long");
    for (let part = 0; part < 10; part += 1) {
      await history.addMessages(Array.from({ length: 5_000 }, (_, index) => human(`message ${part * 5_000 + index}.`)));
    }
    const { page, requests } = await open();
    await show(here, page, "long");
    await row(page, "message 49999.").waitFor();
    await page.locator(".row[tabindex='0']").focus();
    await page.keyboard.press("Home");
    await row(page, "message 0.").waitFor();
    // A reader who moves is not brought back to what was chosen.
    await page.locator(".scroller").dispatchEvent("wheel");
    await page.locator(".scroller").evaluate((scroller) => scroller.scrollTo({ top: scroller.scrollHeight / 2 }));
    await row(page, /message 2\d{4}\./)
      .first()
      .waitFor();
    expect(await page.locator("*").count()).toBeLessThan(1_200);
    // 25 pages of the outline, what is in sight at three places, and what every session needs.
    expect(requests.length).toBeLessThan(60);
  });

  it("shows what the model saw when a message was written, and copies it as a test case", async () => {
    const here = await place();
    const app = here.memory({ reducer: new ChatHistoryTruncationReducer({ targetCount: 6, thresholdCount: 2 }) });
    const seen = new Map<number, string[]>();
    for (let round = 0; round < 12; round += 1) {
      await app.history("s").addMessages([human(`question ${round}.`), ai(`answer ${round}.`)]);
      seen.set(2 * round + 2, textsOf(await app.history("s").getMessages()));
    }
    const { page } = await open();
    await show(here, page, "s");
    for (const [stored, texts] of [...seen].slice(2, -1)) {
      await page.getByRole("slider").fill(String(stored));
      await page.getByText(`At message ${stored} it saw ${texts.length} messages`).waitFor();
      await page.getByRole("button", { name: "Copy as a test case" }).click();
      await page.getByText(`${texts.length} messages as TypeScript`).waitFor();
      const code = await page.getByRole("textbox", { name: "as TypeScript" }).inputValue();
      expect(code.match(/(question|answer) \d+\./g)).toEqual(texts);
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "hidden" });
    }
    await page.getByRole("button", { name: "One message earlier" }).click();
    await page.getByText("Message 21 was written next. Later messages are not shown.").waitFor();
    await page.getByRole("button", { name: "Now" }).click();
    await row(page, "answer 11").waitFor();
    await page.getByRole("button", { name: /^Messages 0 to \d+ left the view at reduction 1,/ }).click();
    await reason(page).getByText("No summary covers it, so the model knows nothing of it.").waitFor();
  });

  it.each(["light", "dark"] as const)("shows a budget that is exceeded in red, and no other, in %s", async (scheme) => {
    const here = await place();
    await here.add("s", [human("question one"), ai("answer two")]);
    const { page } = await open({ colorScheme: scheme });
    await show(here, page, "s");
    const reds: boolean[] = [];
    for (const [budget, share] of [
      ["1000", /^[1-9] % of|: [1-9] % of/],
      ["2", /: \d{3,} % of/],
    ] as const) {
      await page.getByRole("spinbutton", { name: "Budget in tokens" }).fill(budget);
      await page.getByRole("meter", { name: share }).waitFor();
      reds.push(await hasRed(page, "meter"));
    }
    expect(reds).toEqual([false, true]);
  });

  it("compares another reducer with today as simulateReducers does, and shows its cut", async () => {
    const here = await place();
    await addInRounds(here.memory(), "s", travel!);
    const reducer = new ChatHistoryTokenReducer({ maxTokens: 2_000, targetTokens: 1_000 });
    const transcript = await here.memory().history("s").getTranscript();
    const [none, cut] = await simulateReducers([transcript], [{ name: "none" }, { name: "cut", reducer }]);
    const { page } = await open();
    await show(here, page, "s");
    await page.getByRole("tab", { name: "What if" }).click();
    await page.getByLabel("Cut to, in tokens").fill("1000");
    await page.getByLabel("At most, in tokens").fill("2000");
    await page.getByRole("columnheader", { name: "token:2000/1000" }).waitFor();
    const cells = async (name: string) => page.getByRole("row", { name }).getByRole("cell").allTextContents();
    const figures = (key: "sent" | "cached" | "billed") =>
      [none![key], cut![key]].map((n) => Math.round(n).toLocaleString("en-US"));
    expect(await cells("Tokens sent")).toEqual(figures("sent"));
    expect(await cells("… of which cached")).toEqual(figures("cached"));
    expect(await cells("Billed")).toEqual(figures("billed"));
    expect(await page.getByText("what-if: seen").count()).toBeGreaterThan(0);
    await page.locator(".row[tabindex='0']").focus();
    await page.keyboard.press("Home");
    await page.keyboard.press("ArrowDown");
    await row(page, "what-if: gone").first().waitFor();
  });

  it("shows message, time, tab and what-if of its address, after a reload and to a colleague", async () => {
    const here = await place();
    await addInRounds(here.memory(), "a+b & c", travel!);
    const { page } = await open();
    await show(here, page, "a+b & c");
    await page.getByRole("tab", { name: "What if" }).click();
    await page.getByLabel("Reducer").selectOption("truncate");
    await page.getByLabel("Messages to keep").fill("6");
    await page.getByRole("columnheader", { name: "truncate:6+10" }).waitFor();
    await page.getByRole("slider").fill("20");
    await page.locator(".row[tabindex='0']").focus();
    await page.keyboard.press("Home");
    await page.waitForURL(/tab=What-if.*reducer=truncate.*before=20.*message=0/);
    const colleague = await open();
    await colleague.page.goto(page.url());
    await page.reload();
    for (const shown of [page, colleague.page]) {
      await shown.getByRole("columnheader", { name: "truncate:6+10" }).waitFor();
      await shown.locator(".row[aria-current=true][data-index='0']").waitFor();
      await shown.getByText("When message 20 was written").waitFor();
      const isAtTop = () => shown.evaluate<boolean>("document.querySelector('.scroller').scrollTop === 0");
      await until("the first message is in sight", isAtTop);
      await shown.getByRole("tab", { name: "Message" }).click();
      await reason(shown).getByText("Message 0,").waitFor();
      await shown.getByRole("link", { name: /a\+b/ }).click();
      await shown.getByText("Now", { exact: true }).first().waitFor();
      await shown.locator(".row[aria-current=true]").waitFor({ state: "detached" });
    }
  });

  it("names its bands, and keeps figures on one line, from 400 to 1400 pixels", async () => {
    const here = await place();
    await summarized(here, "trains");
    const { page } = await open();
    await show(here, page, "trains");
    const legend = page.getByRole("list", { name: "What the bands mean" });
    const words = ["in the view", "left the view", "left the view, and a summary covers it", "a reduction"];
    expect(await legend.getByRole("listitem").allTextContents()).toEqual(words);
    await page.getByLabel("Budget in tokens").fill("5000");
    await page.getByRole("tab", { name: "What if" }).click();
    // Cut to more than at most is refused, if what is typed first is tried.
    await page.getByLabel("Cut to, in tokens").fill("800");
    await page.getByLabel("At most, in tokens").fill("1200");
    await page.getByRole("columnheader", { name: "token:1200/800" }).waitFor();
    await legend.getByText("seen with the reducer that you try").waitFor();
    for (const width of [400, 800, 1_081, 1_400]) {
      await resize(page, width);
      const lines = [await linesOf(page, "thead th:last-child"), await linesOf(page, ".share")];
      expect([width, ...lines]).toEqual([width, 1, 1]);
    }
    await page.getByText("without the calls that wrote its summaries").waitFor();
  });

  it("exports the session, and gives its messages as code", async () => {
    const here = await place();
    await addInRounds(here.memory(), "s/1 …", travel!);
    const { page } = await open();
    await show(here, page, "s/1 …");
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("link", { name: "Export" }).click(),
    ]);
    const lines: string[] = [];
    for await (const line of here.memory().sessions.export("s/1 …")) {
      lines.push(`${line}\n`);
    }
    expect(download.suggestedFilename()).toBe("s_1_.jsonl");
    expect(await text(await download.createReadStream())).toBe(lines.join(""));
    await page.getByRole("button", { name: "Copy as a test case" }).click();
    await page.getByText(`${travel!.length} messages as TypeScript`).waitFor();
    expect(await page.getByRole("textbox", { name: "as TypeScript" }).inputValue()).toContain("new HumanMessage({");
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "hidden" });
  });

  it("names the key that an encrypted session needs", async () => {
    const here = await place();
    const encryption = { current: { id: "2026-11", key: new Uint8Array(32).fill(7) } };
    await here
      .memory({ encryption })
      .history("sealed")
      .addMessages([human("secret words")]);
    const { page } = await openRefused();
    await page.goto(`${here.inspector.url}#session=sealed`);
    const sentence = 'encrypted with the key "2026-11", which is not in LANGCHAIN_REDIS_MEMORY_KEYS';
    await page.getByRole("alert").getByText(sentence).waitFor();
    expect(await page.content()).not.toContain("secret words");
    await page.getByLabel("Which sessions").selectOption("damaged");
    await page.getByText("0 sessions, newest first").waitFor();
  });
});
