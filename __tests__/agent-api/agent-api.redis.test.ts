import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { startOpenAIServer, type OpenAIServer } from "../../testing/index.js";
import { startRedis, type PrivateRedis } from "../../testkit/servers/redis-server.js";
import { buildPrograms, type BuiltPrograms } from "../support/built-programs.js";
import { fencedBlocks } from "../support/code-blocks.js";
import { readDocument } from "../support/markdown.js";

const root = join(__dirname, "../..");
const owner = "ann";

interface Event {
  readonly name: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** A conversation as the server shows it. */
interface Shown {
  readonly messages: readonly { readonly role: string; readonly text: string; readonly interrupted: boolean }[];
}

/** Starts one instance of the guide's server; resolves with its address. */
async function instance(program: string, env: NodeJS.ProcessEnv): Promise<{ url: string; child: ChildProcess }> {
  const child = spawn(process.execPath, [program], { env, stdio: ["ignore", "pipe", "inherit"] });
  const [url] = (await once(createInterface(child.stdout), "line")) as [string];
  return { url, child };
}

function eventsIn(text: string): Event[] {
  return [...text.matchAll(/^event: (\w+)\ndata: (.*)$/gm)].map(([, name, data]) => ({
    name: name!,
    data: JSON.parse(data!) as Event["data"],
  }));
}

const textOf = (events: readonly Event[]) => events.map(({ data }) => data["text"] ?? "").join("");

describe("The server of the guide docs/agent-api.md, as three instances", () => {
  let folder: string;
  let redis: PrivateRedis;
  let models: OpenAIServer;
  let built: BuiltPrograms;
  let instances: { url: string; child: ChildProcess }[];

  beforeAll(async () => {
    mkdirSync(join(root, ".cache"), { recursive: true });
    folder = mkdtempSync(join(root, ".cache", "agent-api-"));
    const block = fencedBlocks("docs/agent-api.md", readDocument(root, "docs/agent-api.md")).find(
      ({ language }) => language === "ts",
    );
    const path = join(folder, "server.mts");
    writeFileSync(path, block!.code);
    [redis, models, built] = await Promise.all([
      startRedis(),
      startOpenAIServer({ reply: replyTo }),
      buildPrograms([path], { withPackages: true }),
    ]);
    const setting = { REDIS_URL: redis.url, OPENAI_BASE_URL: models.url, OPENAI_API_KEY: "none", PORT: "0" };
    const env = { ...process.env, ...setting };
    instances = await Promise.all([1, 2, 3].map(async () => instance(built.pathOf(path), env)));
  });
  afterAll(async () => {
    const ended = (instances ?? []).map(async ({ child }) => {
      child.kill("SIGTERM");
      await once(child, "exit");
    });
    await Promise.all(ended);
    await models?.close();
    await redis?.stop();
    built?.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  /** The reply to a question; "long" streams slowly, and "weather" calls the tool first. */
  function replyTo(body: Record<string, unknown>) {
    const said = body["messages"] as readonly { readonly role: string; readonly content: string }[];
    const question = said.findLast(({ role }) => role === "user")!.content;
    if (question.startsWith("weather") && said.at(-1)!.role === "user") {
      return { toolCalls: [{ name: "weather", arguments: { city: "Oslo" } }] };
    }
    const content = `${String(body["model"])} says: ${question}`;
    return question.startsWith("long")
      ? { content: `${content} ${"and so on ".repeat(40)}`, chunkDelayMs: 20 }
      : content;
  }

  const call = async (at: number, path: string, init: RequestInit & { readonly user?: string } = {}) =>
    fetch(`${instances[at]!.url}/chats${path}`, { ...init, headers: { "x-user": init.user ?? owner } });
  const said = (body: object) => ({ method: "POST", body: JSON.stringify(body) });
  const ask = async (at: number, chat: string, body: object) =>
    eventsIn(await (await call(at, `/${chat}/messages`, said(body))).text());
  const shown = async (at: number, chat: string) => ((await (await call(at, `/${chat}`)).json()) as Shown).messages;

  it("streams an answer with its tools, and shows the conversation on another instance", async () => {
    const chat = randomUUID();
    const events = await ask(0, chat, { messageId: "m1", text: "weather?" });
    expect(events[0]).toEqual({ name: "tool", data: { name: "weather" } });
    expect(textOf(events)).toBe("gpt-4o-mini says: weather?");
    expect(events.at(-1)).toEqual({ name: "end", data: {} });
    expect((await shown(1, chat)).map(({ role, text }) => [role, text])).toEqual([
      ["human", "weather?"],
      ["ai", ""],
      ["tool", "4 °C in Oslo"],
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

  it("keeps what was said before Stop, and answers the retry in full", async () => {
    const chat = randomUUID();
    const question = { messageId: "m1", text: "long story" };
    const stop = new AbortController();
    const answer = await call(0, `/${chat}/messages`, { ...said(question), signal: stop.signal });
    const reader = answer.body!.getReader();
    await reader.read();
    stop.abort();
    await reader.closed.catch(() => undefined);
    const partial = async (): Promise<Shown["messages"][number]> =>
      (await shown(1, chat)).find(({ interrupted }) => interrupted) ?? partial();
    expect((await partial()).text.length).toBeLessThan(400);
    const whole = textOf(await ask(2, chat, question));
    expect(whole).toHaveLength("gpt-4o-mini says: long story ".length + 400);
    expect((await shown(1, chat)).map(({ text }) => text)).toEqual(["long story", whole]);
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

  it.each<[string, number, (chat: string) => Promise<Response>]>([
    ["a request without text", 400, async (chat) => call(0, `/${chat}/messages`, said({ messageId: "m9" }))],
    ["no JSON", 400, async (chat) => call(0, `/${chat}/messages`, { method: "POST", body: "{" })],
    ["a model that is not offered", 400, async (chat) => call(0, `/${chat}/messages/m1/again`, said({ model: "o" }))],
    [
      "another text under a stored id",
      409,
      async (chat) => call(0, `/${chat}/messages`, said({ messageId: "m1", text: "No" })),
    ],
    ["somebody else's conversation", 404, async (chat) => call(0, `/${chat}`, { user: "eve" })],
    [
      "a question into it",
      404,
      async (chat) => call(0, `/${chat}/messages`, { ...said({ messageId: "e", text: "Hi" }), user: "eve" }),
    ],
    ["its erasure", 404, async (chat) => call(0, `/${chat}`, { method: "DELETE", user: "eve" })],
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
