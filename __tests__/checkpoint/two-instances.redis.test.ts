import { randomUUID } from "node:crypto";
import { buildGuideServer, type GuideServer } from "../support/guide-server.js";
import { sharedRedisUrl } from "../support/shared-redis.js";

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
      const post = { method: "POST", body: JSON.stringify(body) };
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
});
