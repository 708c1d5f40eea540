import fc from "fast-check";
import { get, inspectedPlaces, pageFiles, type InspectedPlace } from "../support/inspectors.js";
import { human, ai } from "../support/messages.js";
import { inputsFrom } from "../../tools/faults/fuzzing/inputs.js";
import { sessionKeys } from "../../src/store/redis/keys.js";
import { forAllAsync } from "../support/property-runs.js";

const place = inspectedPlaces();

describe("the inspector's server", () => {
  it("answers only those who know the token, under the names of this computer, and reads only", async () => {
    const { inspector } = await place();
    const { origin, host, pathname } = new URL(inspector.url);
    const status = async (...request: Parameters<typeof get>) => (await get(...request)).status;
    expect(pathname).toMatch(/^\/[\w-]{32}\/$/);
    expect(await status(inspector.url)).toBe(200);
    expect(await status(inspector.url, { headers: { host: host.replace("127.0.0.1", "localhost") } })).toBe(200);
    expect(await status(inspector.url, { headers: { "sec-fetch-site": "none" } })).toBe(200);
    expect(await status(`${origin}/`)).toBe(403);
    expect(await status(`${origin}/${"A".repeat(32)}/`)).toBe(403);
    expect(await status(`${origin}/app.js`)).toBe(403);
    expect(await status(inspector.url, { headers: { host: "attacker.example" } })).toBe(421);
    expect(await status(inspector.url, { headers: { host: `attacker.example:${new URL(origin).port}` } })).toBe(421);
    expect(await status(inspector.url, { headers: { "sec-fetch-site": "cross-site" } })).toBe(403);
    expect(await status(inspector.url, { headers: { "sec-fetch-site": "same-site" } })).toBe(403);
    for (const method of ["POST", "PUT", "DELETE", "OPTIONS"]) {
      expect(await status(inspector.url, { method })).toBe(405);
    }
    expect(await status(`${inspector.url}../../etc/passwd`)).not.toBe(200);
    expect(await status(`${inspector.url}api/constructor`)).toBe(404);
  });

  it("listens on the loopback interface only, and gives another inspector another token", async () => {
    const [first, second] = [(await place()).inspector.url, (await place()).inspector.url];
    expect(new URL(first).hostname).toBe("127.0.0.1");
    expect(new URL(first).pathname).not.toBe(new URL(second).pathname);
    const other = new URL(first);
    other.hostname = "127.0.0.2";
    await expect(get(other.href)).rejects.toThrow("ECONNREFUSED");
  });

  it("sends every answer with a policy that allows nothing but the page's own files", async () => {
    const { inspector } = await place();
    for (const path of ["", "app.js", "app.css", "api/sessions", "api/session?id=none", "nothing"]) {
      const { headers } = await get(inspector.url + path);
      const policy = String(headers["content-security-policy"]);
      expect(policy).toContain("default-src 'none'");
      expect(policy).not.toContain("unsafe");
      expect(policy).not.toContain("http");
      expect(headers).toMatchObject({ "x-content-type-options": "nosniff", "referrer-policy": "no-referrer" });
      expect(headers).toMatchObject({ "cache-control": "no-store", "x-frame-options": "DENY" });
      expect(headers).not.toHaveProperty("access-control-allow-origin");
    }
  });

  it("serves a page of less than 200 kB that names no other place", () => {
    const files = pageFiles();
    const size = Object.values(files).reduce((sum, text) => sum + Buffer.byteLength(text), 0);
    expect(size).toBeLessThan(200_000);
    expect(files["index.html"]).not.toMatch(/https?:|style=|<script>/);
    expect(files["app.css"]).not.toMatch(/https?:|@import|url\(/);
  });

  it("says what is wrong, and never what a message says", async () => {
    const { ask, add } = await place();
    await add("s", [human("secret words")]);
    expect(await ask("session", { id: "none" })).toEqual({
      error: "There is no session with this id. Check --prefix.",
    });
    expect(await ask("session")).toEqual({ error: '"id" must be the id of a session.' });
    expect(await ask("messages", { id: "s", from: "x" })).toEqual({ error: '"from" must be a whole number.' });
    expect(await ask("what-if", { id: "s", reducer: "token" })).toHaveProperty("error");
    expect(await ask("findings", { id: "s", profile: "none" })).toHaveProperty("error");
    expect(JSON.stringify(await ask("text", { id: "s", position: 7 }))).not.toContain("secret");
  });
});

/** All but `api/events`, whose answer does not end. */
const paths = [
  ...["server", "sessions", "session", "report", "report.txt", "outline", "messages", "text", "findings", "find"],
  ...["search", "gauge", "threads", "thread", "what-if", "test-case", "export", "constructor", "../", ""],
];
const names = [
  ...["id", "from", "limit", "index", "position", "place", "of", "search", "only", "cursor", "text", "words"],
  ...["reducer", "profile", "q", "at", "edition", "__proto__"],
];
const values = [
  ...["sound", "odd", "bare", "none", "call", "0", "1", "2", "999999999999999", "-1", "1e9", "NaN", "", "*", "["],
  ...["truncation", "tokens:1", "count=0", "langchain", "openai", "MTA", "\ud800", "%", "\u0000", "{}", '{"type":'],
];
const pair = fc.tuple(
  fc.oneof({ arbitrary: fc.constantFrom(...names), weight: 6 }, fc.string({ maxLength: 5 })),
  fc.oneof({ arbitrary: fc.constantFrom(...values), weight: 6 }, fc.string({ unit: "binary", maxLength: 40 })),
);
const session = fc.constantFrom("sound", "odd", "odd", "bare").map((id): [string, string] => ["id", id]);
const asked = fc.record({
  path: fc.constantFrom(...paths),
  query: fc.tuple(fc.array(pair, { maxLength: 4 }), session).map(([pairs, id]) => [id, ...pairs]),
  isRaw: fc.constantFrom(false, false, false, true),
});

/** A session whose records and head somebody else wrote. */
async function writeOdd(
  { client, keyPrefix, memory, add }: InspectedPlace,
  odd: { readonly records: readonly string[]; readonly head: string },
): Promise<void> {
  const { log, state } = sessionKeys(keyPrefix, "odd");
  await client.unlink(log);
  await memory().history("odd").clear();
  await add("odd", [human("hi"), ai("there")]);
  await client.rpush(log, ...odd.records);
  await client.hset(state, { next: 2 + odd.records.length, head: odd.head, headCount: 1 });
}

async function openPlace(): Promise<InspectedPlace> {
  const opened = await place();
  const { client, keyPrefix, add } = opened;
  await add("sound", [human("hi"), ai("there"), human("again")]);
  // No key of this session says anything else of it.
  await client.rpush(sessionKeys(keyPrefix, "bare").log, "no record", "");
  return opened;
}

describe("the inspector's routes", () => {
  it("answer in time whatever is asked of whatever is stored, and never by an unknown error", async () => {
    const opened = await openPlace();
    const stored = fc.record({ records: fc.array(inputsFrom("record"), { minLength: 1 }), head: inputsFrom("head") });
    const statuses = new Set<number>();
    const requests = fc.array(asked, { minLength: 4, maxLength: 8 });
    await forAllAsync(60, fc.tuple(stored, requests), async ([odd, all]) => {
      await writeOdd(opened, odd);
      for (const { path, query, isRaw } of all) {
        const begin = process.cpuUsage();
        const text = new URLSearchParams(query).toString();
        const { status } = await get(`${opened.inspector.url}api/${path}?${isRaw ? text.replaceAll("=", "%") : text}`);
        const { user, system } = process.cpuUsage(begin);
        expect({ path, query, status, isInTime: user + system < 1_000_000 }).toMatchObject({ isInTime: true });
        expect({ path, query, status }).not.toMatchObject({ status: 500 });
        statuses.add(status);
      }
    });
    expect(statuses.size).toBeGreaterThan(2);
    expect((await get(`${opened.inspector.url}api/session?id=sound`)).status).toBe(200);
  });
});
