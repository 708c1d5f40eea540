import fc from "fast-check";
import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";
import type { SessionStore } from "../../src/store/contract/session-store.js";
import { anyScene, LateAnswers, type Scene } from "../support/late-answer-scenes.js";
import { propertyRuns } from "../support/property-runs.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";

async function seenIn(scene: Scene, store: SessionStore): Promise<unknown[]> {
  const session = new LateAnswers(scene, store);
  const seen: unknown[] = [];
  for (const command of scene.commands) {
    await session.run(command);
    seen.push(await session.check());
  }
  return seen;
}

describe("a session with late answers that is reduced, rewound and copied", () => {
  const client = sharedClient();

  it("shows each message from the start on once, and summaries stand for all before it", async () => {
    const property = fc.asyncProperty(anyScene, async (scene) => {
      await seenIn(scene, new InMemorySessionStore());
    });
    await fc.assert(property, { numRuns: propertyRuns(60) });
  });

  it("shows the same in Redis", async () => {
    const property = fc.asyncProperty(anyScene, async (scene) => {
      const store = new RedisSessionStore({ client, keyPrefix: uniquePrefix() });
      expect(await seenIn(scene, store)).toEqual(await seenIn(scene, new InMemorySessionStore()));
    });
    await fc.assert(property, { numRuns: propertyRuns(15) });
  });
});
