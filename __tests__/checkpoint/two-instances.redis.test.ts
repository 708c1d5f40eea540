import { randomUUID } from "node:crypto";
import { buildGuideServer, type GuideServer } from "../support/guide-server.js";
import { sharedRedisUrl } from "../support/shared-redis.js";

const json = { "content-type": "application/json" };

/** A thread as the service shows it. */
interface Shown {
  readonly messages: readonly { readonly text: string }[];
  readonly questions: readonly { readonly id: string; readonly value: string }[];
}

describe("The service of the guide docs/checkpoints.md, as two instances", () => {
  let server: GuideServer;
  beforeAll(async () => {
    server = await buildGuideServer("examples/threads/server.mts");
  });
  afterAll(() => server?.stop());

  it("asks a human on one, which is killed, and takes the answer on the other, once", async () => {
    const [first, second] = await Promise.all([1, 2].map(() => server.start({ REDIS_URL: sharedRedisUrl() })));
    const path = `/threads/${randomUUID()}`;
    const call = async (to: typeof first, suffix: string, body?: object) => {
      const post = { method: "POST", headers: json, body: JSON.stringify(body) };
      const response = await fetch(`${to!.url}${path}${suffix}`, body && post);
      return { status: response.status, ...((await response.json()) as Shown) };
    };
    const asked = await call(first, "", { text: "Delete my files." });
    expect(asked.questions.map(({ value }) => value)).toEqual(["Shall I?"]);
    await first!.stop("SIGKILL");
    expect(await call(second, "")).toEqual(asked);
    expect((await call(second, "", { text: "And then?" })).status).toBe(409);
    const answer = { question: asked.questions[0]!.id, answer: "yes" };
    const { messages, questions } = await call(second, "/answers", answer);
    expect(messages.map(({ text }) => text)).toEqual(["Delete my files.", "My plan: Delete my files.", "yes", "Done."]);
    expect(questions).toEqual([]);
    expect((await call(second, "/answers", answer)).status).toBe(409);
  });

  it("refuses a question that a thread could not continue from, and Redis away is 503", async () => {
    const service = await server.start({ REDIS_URL: sharedRedisUrl() });
    const id = randomUUID();
    const status = async (path: string, body: string, headers: Record<string, string> = json) =>
      (await fetch(`${service.url}/threads/${path}`, { method: "POST", headers, body })).status;
    for (const body of ["", "{", "null", "5", "{}", '{"text":5}', '{"text":" "}', '{"text":["x"]}']) {
      expect([body, await status(id, body)]).toEqual([body, 400]);
    }
    expect(await status(`${id}/answers`, '{"question":"none"}')).toBe(400);
    expect(await status(`${id}/answers`, '{"question":"none","answer":"yes"}')).toBe(409);
    expect(await status(id, JSON.stringify({ text: "x".repeat(200_000) }))).toBe(413);
    expect(await status("%E0%A4%A", "{}")).toBe(404);
    expect(await status(id, '{"text":"Planted"}', { "content-type": "text/plain" })).toBe(415);
    expect(await status(id, '{"text":"Planted"}', { ...json, "sec-fetch-site": "cross-site" })).toBe(403);
    expect(await (await fetch(`${service.url}/threads/${id}`)).json()).toEqual({ messages: [], questions: [] });
    expect(await status(id, '{"text":"Go on."}')).toBe(200);
    const alone = await server.start({ REDIS_URL: "redis://127.0.0.1:1" });
    const away = await fetch(`${alone.url}/threads/${id}`);
    expect([away.status, away.headers.get("retry-after")]).toEqual([503, "1"]);
  });
});
