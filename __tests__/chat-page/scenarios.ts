import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { Locator, Page } from "playwright-core";
import type { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { slowAnswer } from "./scripted-answers.js";

/** A running chat page, and what stands behind it. */
export interface ChatPageSetting {
  /** Where the page is served, without a slash at its end. */
  readonly url: string;
  /** The sessions that the page's route keeps. */
  readonly memory: RedisChatMemory;
  /** Opens one more tab with the page, 1,280 pixels wide if nothing is said. */
  openTab(width?: number): Promise<Page>;
  /** Breaks all connections to the servers of the page, where the setting can. */
  readonly breakConnections?: () => void;
}

/** Something that the guide promises of its page; it rejects where that does not hold. */
export interface ChatPageScenario {
  readonly title: string;
  run(setting: ChatPageSetting): Promise<void>;
}

const shown = (page: Page) => page.locator("section p:not([role])");
const button = (page: Page, name: string | RegExp) =>
  page.getByRole("button", { name, exact: typeof name === "string" });

async function ask(page: Page, text: string): Promise<void> {
  await page.getByLabel("Message").fill(text);
  await button(page, "Send").click();
}

async function idle(page: Page): Promise<void> {
  await button(page, "Retry").waitFor();
}

/** The messages that the page shows, without spaces around them. */
async function messagesOn(page: Page): Promise<string[]> {
  return (await shown(page).allTextContents()).map((text) => text.trim());
}

const showsNone = (page: Page) => shown(page).first().waitFor({ state: "detached" });

const answered = (...questions: string[]) =>
  questions.flatMap((question) => [`human ${question}`, `ai Answer to ${question}.`]);

const holding = (page: Page, text: string): Locator => shown(page).filter({ hasText: text }).first();

/** Every text that the page shows during so many frames. */
async function textsDuring(page: Page, frames: number): Promise<string[]> {
  return page.evaluate(async (count) => {
    const texts = new Set<string>();
    const { document, requestAnimationFrame } = globalThis as unknown as {
      document: { querySelector(selector: string): { textContent: string } };
      requestAnimationFrame(callback: () => void): void;
    };
    for (let frame = 0; frame < count; frame += 1) {
      texts.add(document.querySelector("section").textContent);
      await new Promise<void>((resolve) => requestAnimationFrame(() => resolve()));
    }
    return [...texts];
  }, frames);
}

const json = { "content-type": "application/json" };

/** The status of the route's answer to each of these requests. */
async function statuses(url: string, requests: readonly (readonly [string, string, unknown?])[]): Promise<number[]> {
  const answers: number[] = [];
  for (const [method, query, body] of requests) {
    const text = typeof body === "string" ? body : JSON.stringify(body);
    const init = body === undefined ? { method } : { method, headers: json, body: text };
    const answer = await fetch(`${url}/api/chats${query}`, init);
    await answer.text();
    answers.push(answer.status);
  }
  return answers;
}

/** What docs/chat-page.md promises. */
export const chatPageScenarios: readonly ChatPageScenario[] = [
  {
    title: "keeps two chats apart when one is left while it streams",
    async run({ openTab }) {
      const name = randomUUID();
      const page = await openTab();
      await ask(page, `long ${name}`);
      await holding(page, `The beginning of long ${name}`).waitFor();
      await button(page, "New chat").click();
      await showsNone(page);
      await ask(page, `short ${name}`);
      await idle(page);
      const texts = await textsDuring(page, 30);
      assert.deepEqual(await messagesOn(page), answered(`short ${name}`));
      assert.deepEqual(
        texts.filter((text) => text.includes(`long ${name}`)),
        [],
      );
      await button(page, `long ${name}`).click();
      await shown(page)
        .nth(1)
        .filter({ hasText: `The beginning of long ${name}` })
        .waitFor();
      await button(page, "Stop").click();
      await idle(page);
      await button(page, `short ${name}`).click();
      await holding(page, `Answer to short ${name}.`).waitFor();
      assert.deepEqual(await messagesOn(page), answered(`short ${name}`));
    },
  },
  {
    title: "keeps what was said before Stop, and puts the whole answer in its place on Retry, in every tab",
    async run({ openTab, memory }) {
      const question = `long ${randomUUID()}`;
      const page = await openTab();
      await ask(page, question);
      await holding(page, `The beginning of ${question}`).waitFor();
      await button(page, "Stop").click();
      await holding(page, "… (stopped)").waitFor();
      await button(page, "Retry").click();
      await holding(page, `Answer to ${question}.`).waitFor();
      await idle(page);
      assert.deepEqual(await messagesOn(page), answered(question));
      const other = await openTab();
      await button(other, question).click();
      await holding(other, `Answer to ${question}.`).waitFor();
      assert.deepEqual(await messagesOn(other), answered(question));
      const { sessions } = await memory.sessions.list({ owner: "guest" });
      assert.equal(sessions.filter(({ title }) => title === question).length, 1);
    },
  },
  {
    title: "goes on with an answer after a reload and in a second tab, which stops it for both",
    async run({ openTab, memory }) {
      const question = `long ${randomUUID()}`;
      const [first, second] = [await openTab(), await openTab()];
      await ask(first, question);
      await holding(first, `The beginning of ${question}`).waitFor();
      await first.reload();
      await holding(first, `The beginning of ${question}`).waitFor();
      await second.reload();
      await button(second, question).click();
      await holding(second, `The beginning of ${question}`).waitFor();
      await button(second, "Stop").click();
      await Promise.all([first, second].map((page) => holding(page, "… (stopped)").waitFor()));
      const { sessions } = await memory.sessions.list({ owner: "guest" });
      const { sessionId } = sessions.find(({ title }) => title === question)!;
      const { items } = await memory.history(sessionId, { owner: "guest" }).getPage({ limit: 10 });
      const stored = items.map(({ message }) => `${message.getType()} ${message.text.trim()}`);
      for (const page of [first, second]) {
        const texts = await messagesOn(page);
        assert.deepEqual(
          texts.map((text) => text.replace(/ … \(stopped\)$/, "").trim()),
          stored,
        );
      }
    },
  },
  {
    title: "shows each part of an answer once and in order, also where connections break",
    async run({ openTab, breakConnections }) {
      const question = `slow ${randomUUID()}`;
      const page = await openTab();
      await ask(page, question);
      await holding(page, `The beginning of ${question}`).waitFor();
      const texts = textsDuring(page, 120);
      breakConnections?.();
      for (const text of await texts) {
        const [, said = ""] = /ai (.*?)\s*Send/s.exec(text) ?? [];
        assert.ok(slowAnswer(question).startsWith(said), said);
      }
      await idle(page);
      assert.deepEqual(await messagesOn(page), [`human ${question}`, `ai ${slowAnswer(question)}`]);
    },
  },
  {
    title: "tells an idle tab what another one asks, retries, stops and deletes",
    async run({ openTab }) {
      const name = randomUUID();
      const [first, second] = [await openTab(), await openTab()];
      await ask(first, `short ${name}`);
      await button(second, `short ${name}`).click();
      await holding(second, `Answer to short ${name}.`).waitFor();
      await ask(first, `long ${name}`);
      await holding(second, `The beginning of long ${name}`).waitFor();
      await button(first, "Stop").click();
      await holding(second, "… (stopped)").waitFor();
      await button(first, "Retry").click();
      await holding(second, `Answer to long ${name}.`).waitFor();
      for (const page of [first, second]) {
        await idle(page);
        assert.deepEqual(await messagesOn(page), answered(`short ${name}`, `long ${name}`));
      }
      await button(first, `Delete short ${name}`).click();
      await second.getByRole("alert").getByText("This chat was deleted.").waitFor();
      await button(second, `short ${name}`).waitFor({ state: "detached" });
      await Promise.all([first, second].map(showsNone));
      assert.equal(await button(second, /Retry|Send|Stop/).count(), 0); // none could succeed
      await button(second, "New chat").click();
      await ask(second, `next ${name}`);
      await holding(second, `Answer to next ${name}.`).waitFor();
    },
  },
  {
    title: "is used on a phone, beside a wide tab, with all of it in reach",
    async run({ openTab }) {
      const name = randomUUID();
      const [phone, wide] = [await openTab(390), await openTab()];
      const [list, chats] = [button(phone, "New chat"), button(phone, "Chats")];
      const isInReach = async (place: Locator) => {
        const { x, y, width, height } = (await place.boundingBox())!;
        const screen = phone.viewportSize()!;
        assert.ok(x >= 0 && y >= 0 && x + width <= screen.width && y + height <= screen.height, String(place));
      };
      await list.waitFor({ state: "hidden" });
      await ask(phone, `short ${name} ${"w".repeat(200)}`);
      await idle(phone);
      await ask(phone, `slow ${name}`); // longer than the screen
      await idle(phone);
      await Promise.all([chats, button(phone, "Send"), button(phone, "Retry")].map(isInReach));
      await isInReach(phone.getByLabel("Message"));
      const last = shown(phone).last();
      assert.ok((await last.boundingBox())!.y + (await last.boundingBox())!.height < phone.viewportSize()!.height);
      await chats.click();
      await isInReach(list);
      const hidden = "[...document.querySelectorAll('html, .log')].map((one) => one.scrollWidth - one.clientWidth)";
      assert.deepEqual(await phone.evaluate(hidden), [0, 0]);
      await ask(wide, `wide ${name}`);
      await button(phone, `wide ${name}`).click();
      await list.waitFor({ state: "hidden" });
      await holding(phone, `Answer to wide ${name}.`).waitFor();
      assert.ok(await button(wide, "New chat").isVisible());
      await button(wide, "Chats").waitFor({ state: "hidden" });
    },
  },
  {
    title: "answers two tabs that ask at once in one chat, each its own question",
    async run({ openTab, memory }) {
      const name = randomUUID();
      const [first, second] = [await openTab(), await openTab()];
      await ask(first, `short ${name}`);
      await idle(first);
      await second.reload();
      await button(second, `short ${name}`).click();
      await holding(second, `Answer to short ${name}.`).waitFor();
      const [one, other] = [`one ${name}`, `other ${name}`];
      await Promise.all([ask(first, one), ask(second, other)]);
      await Promise.all([
        holding(first, `Answer to ${one}.`).waitFor(),
        holding(second, `Answer to ${other}.`).waitFor(),
      ]);
      await Promise.all([idle(first), idle(second)]);
      const { sessions } = await memory.sessions.list({ owner: "guest" });
      const { sessionId } = sessions.find(({ title }) => title === `short ${name}`)!;
      const { items } = await memory.history(sessionId, { owner: "guest" }).getPage({ limit: 10 });
      const stored = items.map(({ message }) => `${message.getType()} ${message.text}`);
      const orders = [answered(`short ${name}`, one, other), answered(`short ${name}`, other, one)];
      assert.ok(
        orders.some((order) => order.join() === stored.join()),
        stored.join(),
      );
      for (const page of [first, second]) {
        await page.reload();
        await button(page, `short ${name}`).click();
        await holding(page, `Answer to ${other}.`).waitFor();
        assert.deepEqual(await messagesOn(page), stored);
      }
    },
  },
  {
    title: "answers a user alike for somebody else's chat and for none, on every route",
    async run({ url, memory }) {
      const foreign = randomUUID();
      await memory.history(foreign, { owner: "ann" }).addUserMessage("Mine");
      const answersFor = async (id: string) => {
        const post = (body: object) => ({ method: "POST", body: JSON.stringify({ id, messageId: "m", ...body }) });
        const requests: readonly (readonly [string, RequestInit])[] = [
          [`?id=${id}`, {}],
          [`?id=${id}&run=m`, {}],
          [`?id=${id}`, { method: "DELETE" }],
          ["", post({ stop: true })],
        ];
        const answers = requests.map(async ([query, init]) => {
          const answer = await fetch(`${url}/api/chats${query}`, { ...init, headers: { ...json, "x-user": "eve" } });
          return [answer.status, await answer.text()];
        });
        return Promise.all(answers);
      };
      const answers = await answersFor(foreign);
      assert.deepEqual(answers, await answersFor(randomUUID()));
      const none = [404, JSON.stringify({ error: "no_such_chat" })];
      assert.deepEqual(answers, [none, [200, "event: end\ndata: {}\n\n"], none, none]);
      assert.equal((await memory.history(foreign, { owner: "ann" }).getMessages()).length, 1);
    },
  },
  {
    title: "answers 400, 404 and 409 for what it knows",
    async run({ url, memory }) {
      const [own, foreign, deleted] = [randomUUID(), randomUUID(), randomUUID()];
      await memory.history(foreign, { owner: "somebody else" }).addUserMessage("Hi");
      const message = (id: string, text = "short", messageId = `q-${id}`) => ({ id, messageId, text });
      const wrong = [
        "no JSON",
        "null",
        {},
        message(""),
        message(own, " "),
        message(own, "short", ""),
        { ...message(own), id: 7 },
      ];
      const posted = await statuses(
        url,
        wrong.map((body) => ["POST", "", body] as const),
      );
      assert.deepEqual(
        posted,
        wrong.map(() => 400),
      );
      const body = JSON.stringify(message(own));
      for (const [status, headers] of [
        [415, { "content-type": "text/plain" }],
        [403, { ...json, "sec-fetch-site": "cross-site" }],
      ] as const) {
        assert.equal((await fetch(`${url}/api/chats`, { method: "POST", headers, body })).status, status);
      }
      const tooLong = "x".repeat(5_000);
      assert.deepEqual(
        await statuses(url, [
          ["GET", "?id="],
          ["DELETE", ""],
          ["GET", `?id=${tooLong}`],
        ]),
        [400, 400, 400],
      );
      assert.deepEqual(await statuses(url, [["POST", "", message(foreign)]]), [404]);
      const large = message(own, "x".repeat(1_000_000));
      assert.deepEqual(await statuses(url, [["POST", "", large]]), [413]);
      const gone = [
        ["POST", "", message(deleted)],
        ["DELETE", `?id=${deleted}`],
        ["POST", "", message(deleted)],
        ["GET", `?id=${deleted}`],
        ["DELETE", `?id=${deleted}`],
      ] as const;
      assert.deepEqual(await statuses(url, gone), [202, 204, 404, 404, 404]);
      const run = ["GET", `?id=${own}&run=q-${own}`] as const; // to its end
      const twice = [
        ["POST", "", message(own)],
        run,
        ["POST", "", message(own)],
        run,
        ["POST", "", message(own, "another text")],
        ["GET", `?id=${own}`],
      ] as const;
      // With the same text it is a retry, and gets the stored answer; an edited text must not get that of the old.
      assert.deepEqual(await statuses(url, twice), [202, 200, 202, 200, 409, 200]);
    },
  },
];
