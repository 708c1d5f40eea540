import { randomUUID } from "node:crypto";
import { HumanMessage } from "@langchain/core/messages";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { startOpenAIServer, type OpenAIServer } from "../../testing/index.js";
import { startRedis, type PrivateRedis } from "../../tools/testkit/servers/redis-server.js";
import { buildGuideServer, type GuideServer, type Instance } from "../support/guide-server.js";
import { ai } from "../support/messages.js";

const owner = "ann";
const json = { "content-type": "application/json" };

interface Event {
  readonly name: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** A conversation as the server shows it. */
interface Shown {
  readonly messages: readonly { readonly role: string; readonly text: string; readonly interrupted: boolean }[];
}

function eventsIn(text: string): Event[] {
  return [...text.matchAll(/^event: (\w+)\ndata: (.*)$/gm)].map(([, name, data]) => ({
    name: name!,
    data: JSON.parse(data!) as Event["data"],
  }));
}

const textOf = (events: readonly Event[]) => events.map(({ data }) => data["text"] ?? "").join("");

describe("The server of the guide docs/agent-api.md, as three instances", () => {
  let redis: PrivateRedis;
  let models: OpenAIServer;
  let server: GuideServer;
  let instances: Instance[];

  beforeAll(async () => {
    [redis, models, server] = await Promise.all([
      startRedis(),
      startOpenAIServer({ reply: replyTo }),
      buildGuideServer("examples/agent-api/server.mts"),
    ]);
    const setting = { REDIS_URL: redis.url, OPENAI_BASE_URL: models.url, OPENAI_API_KEY: "none" };
    instances = await Promise.all([1, 2, 3].map(() => server.start(setting)));
  });
  afterAll(async () => {
    await server?.stop();
    await models?.close();
    await redis?.stop();
  });

  /** The reply to a question; "long" streams slowly, and "weather" calls the tool first. */
  function replyTo(body: Record<string, unknown>) {
    const said = body["messages"] as readonly { readonly role: string; readonly content: string }[];
    const asked: unknown = said.findLast(({ role }) => role === "user")!.content;
    const question = typeof asked === "string" ? asked : "a picture";
    if (question.startsWith("weather") && said.at(-1)!.role === "user") {
      return { toolCalls: [{ name: "weather", arguments: { city: "Oslo" } }] };
    }
    const content = `${String(body["model"])} says: ${question}`;
    return question.startsWith("long")
      ? { content: `${content} ${"and so on ".repeat(40)}`, chunkDelayMs: 20 }
      : content;
  }

  const call = async (at: number, path: string, init: RequestInit & { readonly user?: string } = {}) =>
    fetch(`${instances[at]!.url}/chats${path}`, { ...init, headers: { ...json, "x-user": init.user ?? owner } });
  const said = (body: object) => ({ method: "POST", headers: json, body: JSON.stringify(body) });
  const ask = async (at: number, chat: string, body: object) =>
    eventsIn(await (await call(at, `/${chat}/messages`, said(body))).text());
  const shown = async (at: number, chat: string) => ((await (await call(at, `/${chat}`)).json()) as Shown).messages;

  it("streams an answer with its tools, and shows the conversation on another instance", async () => {
    const chat = randomUUID();
    const events = await ask(0, chat, { messageId: "m1", text: "weather?" });
    expect(events[0]).toEqual({ name: "tool", data: { name: "weather" } });
    expect(textOf(events)).toBe("gpt-4o-mini says: weather?");
    expect(events.at(-1)).toEqual({ name: "end", data: { state: "done" } });
    // Neither the call, which has no text, nor what the tool returned.
    expect((await shown(1, chat)).map(({ role, text }) => [role, text])).toEqual([
      ["human", "weather?"],
      ["ai", "gpt-4o-mini says: weather?"],
    ]);
  });

  it("answers a retry on another instance from the store, without the model", async () => {
    const chat = randomUUID();
    const question = { messageId: "m1", text: "Hi" };
    const first = await ask(0, chat, question);
    const before = models.requests.length;
    expect(textOf(await ask(1, chat, question))).toBe(textOf(first));
    expect(models.requests).toHaveLength(before);
    expect(await shown(2, chat)).toHaveLength(2);
  });

  /** The events of a response, one piece after the other; leaves after the first that holds one of this name. */
  const until = async (response: Response, name: string) => {
    let text = "";
    for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) {
      text += piece;
      if (text.includes(`event: ${name}\n`) && text.endsWith("\n\n")) {
        return text;
      }
    }
    return text;
  };

  it("keeps what was said before Stop, and answers the retry in full", async () => {
    const chat = randomUUID();
    const question = { messageId: "m1", text: "long story" };
    const answer = await call(0, `/${chat}/messages`, said(question));
    await until(answer, "text");
    const follower = call(1, `/${chat}/run`);
    const stopped = await call(2, `/${chat}/stop`, { method: "POST" });
    expect(await stopped.json()).toEqual({ stopped: true });
    const events = eventsIn(await (await follower).text());
    expect(events.at(-1)).toEqual({ name: "end", data: { state: "stopped" } });
    expect(await shown(1, chat)).toMatchObject([{}, { text: textOf(events), interrupted: true }]);
    const whole = textOf(await ask(2, chat, question));
    expect(whole).toHaveLength("gpt-4o-mini says: long story ".length + 400);
    expect((await shown(1, chat)).map(({ text }) => text)).toEqual(["long story", whole]);
    expect((await call(1, `/${chat}/run`)).status).toBe(204);
  });

  it("goes on without its client, and is read on another instance behind what came before", async () => {
    const chat = randomUUID();
    const begin = await until(await call(0, `/${chat}/messages`, said({ messageId: "m1", text: "long way" })), "text");
    const after = [...begin.matchAll(/^id: (.*)$/gm)].at(-1)![1]!;
    const headers = { "x-user": owner, "last-event-id": after };
    const rest = await (await fetch(`${instances[1]!.url}/chats/${chat}/run`, { headers })).text();
    const whole = textOf([...eventsIn(begin), ...eventsIn(rest)]);
    expect((await shown(2, chat)).map(({ text }) => text)).toEqual(["long way", whole]);
    // A position of a run that is gone.
    const gone = { "x-user": owner, "last-event-id": "1700000000000-3:1" };
    const nothing = await fetch(`${instances[1]!.url}/chats/${chat}/run`, { headers: gone });
    expect(await nothing.text()).toBe("event: reset\ndata: {}\n\nevent: end\ndata: {}\n\n");
    expect(whole).toHaveLength("gpt-4o-mini says: long way ".length + 400);
  });

  it("takes what is said meanwhile, on any instance, into the turn, or makes it the next one", async () => {
    const chat = randomUUID();
    const first = ask(0, chat, { messageId: "m1", text: "long walk" });
    while ((await call(1, `/${chat}`)).status === 404) {
      // Its question is stored when the agent is at work.
    }
    const second = await ask(1, chat, { messageId: "m2", text: "and more" });
    expect(textOf(second)).toContain("gpt-4o-mini says: and more");
    await first;
    const texts = (await shown(2, chat)).map(({ text }) => text);
    expect([texts.length, texts[0], texts[2], texts[3]]).toEqual([
      4,
      "long walk",
      "and more",
      "gpt-4o-mini says: and more",
    ]);
  });

  it("edits a question, and regenerates its answer with another model", async () => {
    const chat = randomUUID();
    await ask(0, chat, { messageId: "m1", text: "One" });
    await ask(1, chat, { messageId: "m2", text: "Two" });
    const edit = { method: "PUT", body: JSON.stringify({ text: "Three" }) };
    expect(textOf(eventsIn(await (await call(2, `/${chat}/messages/m2`, edit)).text()))).toContain("Three");
    const again = await call(0, `/${chat}/messages/m2/again`, said({ model: "gpt-4o" }));
    expect(textOf(eventsIn(await again.text()))).toBe("gpt-4o says: Three");
    const firstAgain = await call(1, `/${chat}/messages/m1/again`, said({}));
    expect(textOf(eventsIn(await firstAgain.text()))).toBe("gpt-4o-mini says: One");
    expect((await shown(1, chat)).map(({ text }) => text)).toEqual(["One", "gpt-4o-mini says: One"]);
  });

  it("lists conversations by their titles, renames and erases them", async () => {
    const [chat, user] = [randomUUID(), randomUUID()];
    await (await call(0, `/${chat}/messages`, { ...said({ messageId: "m1", text: "Trip" }), user })).text();
    const titles = async () => {
      const { chats } = (await (await call(1, "", { user })).json()) as { chats: { title: string }[] };
      return chats.map(({ title }) => title);
    };
    expect(await titles()).toEqual(["Trip"]);
    const rename = { method: "PATCH", body: JSON.stringify({ title: "Oslo" }), user };
    expect((await call(2, `/${chat}`, rename)).status).toBe(204);
    expect(await titles()).toEqual(["Oslo"]);
    expect((await call(0, `/${chat}`, { method: "DELETE", user })).status).toBe(204);
    expect(await titles()).toEqual([]);
    expect((await call(1, `/${chat}`, { user })).status).toBe(404);
  });

  it.each<[string, string, object | undefined]>([
    ["GET", "", undefined],
    ["GET", "/run", undefined],
    ["POST", "/stop", undefined],
    ["PATCH", "", { title: "Mine" }],
    ["DELETE", "", undefined],
    ["PUT", "/messages/m1", { text: "New" }],
    ["POST", "/messages/m1/again", {}],
  ])("answers %s %s alike for somebody else's conversation and for none", async (method, path, body) => {
    const chat = randomUUID();
    await ask(0, chat, { messageId: "m1", text: "Mine" });
    const answers = [chat, randomUUID()].map(async (id) => {
      const answer = await call(1, `/${id}${path}`, {
        method,
        user: "eve",
        ...(body && { body: JSON.stringify(body) }),
      });
      return [answer.status, await answer.text()];
    });
    const none = [404, JSON.stringify({ error: "no_such_chat" })];
    expect(await Promise.all(answers)).toEqual([none, none]);
    expect((await shown(2, chat)).map(({ text }) => text)).toEqual(["Mine", "gpt-4o-mini says: Mine"]);
  });

  it("answers alike behind a position in an answer", async () => {
    const chat = randomUUID();
    const begin = await until(await call(0, `/${chat}/messages`, said({ messageId: "m1", text: "long" })), "text");
    const headers = { "x-user": "eve", "last-event-id": /^id: (.*)$/m.exec(begin)![1]! };
    const answers = [chat, randomUUID()].map(async (id) =>
      (await fetch(`${instances[1]!.url}/chats/${id}/run`, { headers })).text(),
    );
    const none = JSON.stringify({ error: "no_such_chat" });
    expect(await Promise.all(answers)).toEqual([none, none]);
  });

  it("asks again with the pictures of a question, and edits no answer", async () => {
    const chat = randomUUID();
    const url = "data:image/png;base64,iVBORw0KGgo=";
    const content = [
      { type: "text", text: "look" },
      { type: "image_url", image_url: { url } },
    ];
    const client = new RedisChatMemory({ url: redis.url });
    const history = client.history(chat, { owner });
    await history.addMessages([new HumanMessage({ id: "m1", content }), ai("A cat.", { id: "a1" })]);
    await client.close();
    await (await call(0, `/${chat}/messages/m1/again`, said({}))).text();
    expect(JSON.stringify(models.requests.at(-1))).toContain(url);
    const [, answer] = (await shown(1, chat)) as readonly { readonly id?: string }[];
    const edit = { method: "PUT", body: JSON.stringify({ text: "New" }) };
    for (const made of [
      call(0, `/${chat}/messages/${answer!.id}`, edit),
      call(1, `/${chat}/messages/${answer!.id}/again`, said({})),
    ]) {
      const refused = await made;
      expect([refused.status, await refused.json()]).toEqual([400, { error: "no_question" }]);
    }
    expect((await shown(1, chat)).map(({ role }) => role)).toEqual(["human", "ai"]);
  });

  it("answers 503 with the time of the next try where Redis is away", async () => {
    const away = await server.start({
      REDIS_URL: "redis://127.0.0.1:1",
      OPENAI_BASE_URL: models.url,
      OPENAI_API_KEY: "x",
    });
    for (const [path, init] of [
      ["", {}],
      ["/c1", {}],
      ["/c1/messages", said({ messageId: "m1", text: "Hi" })],
    ] as const) {
      const answer = await fetch(`${away.url}/chats${path}`, init);
      expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "1"]);
      expect(await answer.json()).toEqual({ error: "unavailable" });
    }
  });

  it.each<[string, number, (chat: string) => Promise<Response>]>([
    ["a request without text", 400, async (chat) => call(0, `/${chat}/messages`, said({ messageId: "m9" }))],
    ["a body that is no object", 400, async (chat) => call(0, `/${chat}/messages`, { method: "POST", body: "null" })],
    ["a malformed path", 400, async () => call(0, "/%E0%A4%A")],
    ["a path of slashes", 404, async () => fetch(`${instances[0]!.url}//`)],
    ["a page before nothing", 400, async (chat) => call(0, `/${chat}?before=x`)],
    [
      "a text over a megabyte",
      413,
      async (chat) => call(0, `/${chat}/messages`, said({ messageId: "m9", text: "x".repeat(3_000_000) })),
    ],
    [
      "a text that only the memory refuses",
      413,
      async (chat) => call(0, `/${chat}/messages`, said({ messageId: "m9", text: "x".repeat(999_940) })),
    ],
    ["no JSON", 400, async (chat) => call(0, `/${chat}/messages`, { method: "POST", body: "{" })],
    ["a model that is not offered", 400, async (chat) => call(0, `/${chat}/messages/m1/again`, said({ model: "o" }))],
    [
      "another text under a stored id",
      409,
      async (chat) => call(0, `/${chat}/messages`, said({ messageId: "m1", text: "No" })),
    ],
    [
      "a page of another site",
      403,
      async (chat) => {
        const headers = { "x-user": owner, "sec-fetch-site": "cross-site" };
        return fetch(`${instances[0]!.url}/chats/${chat}/stop`, { method: "POST", headers });
      },
    ],
    ...["messages", "messages/m1/again"].map((path): [string, number, (chat: string) => Promise<Response>] => [
      `a form's text to ${path}`,
      415,
      async (chat) => {
        const headers = { "x-user": owner, "content-type": "text/plain" };
        const body = JSON.stringify({ messageId: "m2", text: "Planted" });
        return fetch(`${instances[0]!.url}/chats/${chat}/${path}`, { method: "POST", headers, body });
      },
    ]),
    [
      "a question into somebody else's conversation",
      404,
      async (chat) => call(0, `/${chat}/messages`, { ...said({ messageId: "e", text: "Hi" }), user: "eve" }),
    ],
    [
      "an edit of a message that is not there",
      404,
      async (chat) => call(0, `/${chat}/messages/m7`, { method: "PUT", body: '{"text":"Hi"}' }),
    ],
    ["a conversation that is not there", 404, async () => call(0, `/${randomUUID()}`)],
    ["another path", 404, async () => call(0, "/a/b/c/d/e")],
  ])("answers %s with %i, and changes nothing", async (_name, status, request) => {
    const chat = randomUUID();
    await ask(0, chat, { messageId: "m1", text: "Yes" });
    const answer = await request(chat);
    expect([answer.status, await answer.text()]).toEqual([status, expect.stringMatching(/^(\{"error":"\w+"\})?$/)]);
    expect((await shown(1, chat)).map(({ text }) => text)).toEqual(["Yes", "gpt-4o-mini says: Yes"]);
  });
});
