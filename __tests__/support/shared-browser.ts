import axe from "axe-core";
import { chromium, type Browser, type BrowserContextOptions, type Page } from "playwright-core";

/** A page, and what it did that a page of the inspector must not do. */
export interface WatchedPage {
  readonly page: Page;
  /** Addresses that it asked for, in order. */
  readonly requests: readonly string[];
  /** Errors of scripts, refused scripts, dialogs. */
  readonly complaints: readonly string[];
}

/** Opens pages in the browser of this run; they are closed after the test. */
export function browserPages(): (options?: BrowserContextOptions) => Promise<WatchedPage> {
  let browser: Browser;
  beforeAll(async () => {
    browser = await chromium.connect(process.env["TEST_BROWSER_URL"]!);
  });
  afterEach(() => Promise.all(browser.contexts().map((context) => context.close())));
  afterAll(() => browser.close());
  return async (options = {}) => {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
    // The longest wait of a page on a machine of any speed; the test's own limit ends what hangs.
    context.setDefaultTimeout(200_000);
    const page = await context.newPage();
    const [requests, complaints]: [string[], string[]] = [[], []];
    page.on("request", (request) => requests.push(request.url()));
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on(
      "console",
      (message) => message.type() === "error" && complaints.push(`${message.text()} ${message.location().url}`),
    );
    page.on("dialog", (dialog) => {
      complaints.push(`dialog ${dialog.message()}`);
      void dialog.dismiss();
    });
    return { page, requests, complaints };
  };
}

/** Opens pages as `browserPages` does; a test fails whose pages complain of anything but that its server has gone. */
export function quietPages(): ReturnType<typeof browserPages> {
  const open = browserPages();
  const opened: WatchedPage[] = [];
  afterEach(() => {
    const complaints = opened.splice(0).flatMap((watched) => watched.complaints);
    expect(complaints.filter((complaint) => !complaint.includes("net::ERR_"))).toEqual([]);
  });
  return async (options) => {
    opened.push(await open(options));
    return opened.at(-1)!;
  };
}

/** Gives a page another size, and waits until it is drawn in it. */
export async function resize(page: Page, width: number, height = 900): Promise<void> {
  await page.setViewportSize({ width, height });
  const drawn = "await new Promise(requestAnimationFrame)";
  await page.evaluate(`(async () => { while (innerWidth !== ${width}) { ${drawn}; } ${drawn}; ${drawn}; })()`);
}

/** What axe finds on the page as it is, each as a rule and the elements; by these rules, or by all. */
export async function accessibilityFindings(page: Page, rules?: readonly string[]): Promise<string[]> {
  // By the protocol of the browser, which the page's policy does not bind.
  if (!(await page.evaluate("'axe' in globalThis"))) {
    await page.evaluate(axe.source);
  }
  const options = rules === undefined ? {} : { runOnly: rules };
  const { violations } = await page.evaluate((given) => {
    return (globalThis as unknown as { axe: { run(options: object): Promise<AxeResults> } }).axe.run(given);
  }, options);
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 120)}`));
}

interface AxeResults {
  readonly violations: readonly { readonly id: string; readonly nodes: readonly { readonly html: string }[] }[];
}
