import { spawnSync } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { sessionOf } from "../../src/memory/histories/redis-chat-message-history.js";
import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import { drainSession } from "../../src/memory/session/conversation-session.js";
import { buildPrograms } from "../support/built-programs.js";

describe("drain() as the last line of a program", () => {
  it("keeps the process alive until what it waits for is done", async () => {
    const program = "__tests__/support/drained-program.ts";
    const built = await buildPrograms([program]);
    try {
      const { status, stdout, stderr } = spawnSync(process.execPath, [built.pathOf(program)], { encoding: "utf8" });
      expect({ status, lines: stdout.trim().split("\n").at(-1), stderr }).toEqual({
        ...{ status: 0, lines: "drained", stderr: "" },
      });
    } finally {
      built.remove();
    }
  });
});

describe("the background work of a session", () => {
  it("is waited for, and that of other sessions is not", async () => {
    const memory = new RedisChatMemory({ store: new InMemorySessionStore() });
    const [own, other] = ["own", "other"].map((id) => sessionOf("test", memory.history(id)));
    const done: string[] = [];
    let end!: () => void;
    other!.inBackground(new Promise((resolve) => (end = resolve)));
    own!.inBackground(delay(5).then(() => void done.push("own")));
    await drainSession(own!.context, "own");
    expect([done, own!.context.pending.size]).toEqual([["own"], 1]);
    end();
    await memory.drain();
  });
});
