import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { buildPrograms, type BuiltPrograms } from "../support/built-programs.js";
import { sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";

const source = "__tests__/support/list-worker.ts";
const root = join(__dirname, "../..");

describe("a process that is killed while it begins sessions", () => {
  let programs: BuiltPrograms;
  beforeAll(async () => {
    programs = await buildPrograms([source], { withPackages: true });
  });
  afterAll(() => programs.remove());

  /** Kills the process right after it has said so many sessions; returns all that it said. */
  async function writtenUntilKilled(keyPrefix: string, name: string, least: number): Promise<string[]> {
    const args = [programs.pathOf(source), sharedRedisUrl(), keyPrefix, name];
    const worker = spawn(process.execPath, args, { cwd: root, stdio: ["ignore", "pipe", "inherit"] });
    const said: string[] = [];
    const lines = createInterface({ input: worker.stdout });
    lines.on("line", (line) => {
      said.push(line);
      if (said.length === least) {
        worker.kill("SIGKILL");
      }
    });
    await Promise.all([once(worker, "exit"), once(lines, "close")]);
    // The last line may be torn.
    return said.slice(0, -1);
  }

  it("leaves none of them out of the owner's list", async () => {
    const keyPrefix = uniquePrefix();
    const killed = await Promise.all(
      [150, 201, 260].map((least, index) => writtenUntilKilled(keyPrefix, `worker${index}`, least)),
    );
    const memory = new RedisChatMemory({ url: sharedRedisUrl(), redis: { keyPrefix } });
    try {
      const listed = new Set<string>();
      let cursor: string | null | undefined;
      do {
        const page = await memory.sessions.list({ owner: "ann", limit: 100, cursor });
        page.sessions.forEach(({ sessionId, messages }) => {
          expect(listed.has(sessionId)).toBe(false);
          expect(messages).toBe(1);
          listed.add(sessionId);
        });
        cursor = page.next;
      } while (cursor !== null);
      expect(killed.flat().filter((session) => !listed.has(session))).toEqual([]);
      expect(killed.flat().length).toBeGreaterThan(600);
    } finally {
      await memory.close();
    }
  });
});
