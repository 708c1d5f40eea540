import { get, inspectedPlaces, pageFiles } from "../support/inspectors.js";
import { human } from "../support/messages.js";

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
