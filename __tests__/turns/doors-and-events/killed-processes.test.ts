import { RedisChatMemory } from "../../../src/memory/histories/redis-chat-memory.js";
import { InMemorySessionStore } from "../../../src/store/in-memory/in-memory-session-store.js";
import type { SessionStore } from "../../../src/store/contract/session-store.js";
import { lookupCall } from "../../support/agents.js";
import { doors, type DoorName } from "./doors.js";
import { DyingStore } from "./dying-store.js";
import type { Happening } from "./events.js";
import { overflows, refusals } from "./provider-errors.js";
import { Scene } from "./scene.js";

const refusal = refusals["openai, content filter"]!;

/** What the model says while the process dies, the question, and the transcript of its turn when it is finished. */
const lives: Readonly<Record<string, Happening & { question: string; finished: string }>> = {
  "an answer": { question: "Q", finished: "Q A" },
  "a tool's step": { question: "look", replies: [() => lookupCall("word")], finished: "look call found A" },
  "a refusal": { question: "Q", poison: { Q: refusal }, finished: "Q A" },
  "a refusal of a tool's result": {
    question: "look",
    replies: [() => lookupCall("word")],
    poison: { found: refusal },
    finished: "look call found A",
  },
};

/** A scene whose process dies behind some writes of its question, and goes on in another one. */
async function died(door: DoorName, persist: "step" | "turn", { life, writes }: { life: string; writes: number }) {
  let now = Date.now();
  const store = new InMemorySessionStore({ now: () => now });
  const dying = new DyingStore(store);
  const scene = new Scene(new RedisChatMemory({ profile: "openai", store: dying.store }), { door, persist });
  await scene.ask("hi");
  const { question, replies = [], poison = {} } = lives[life]!;
  [scene.model.replies, scene.model.poison] = [[...replies], poison];
  dying.diesBehind(writes);
  const outcome = await scene.ask(question, { turnId: "t-1" });
  // The hold of a dead process expires.
  now += 60_000;
  scene.restart(new RedisChatMemory({ profile: "openai", store }));
  scene.model.replies = [];
  scene.takeSent();
  return { scene, outcome };
}

/** Where the next question is refused with what has no mark yet, and both are marked. */
const marksTwo = new Set(["hi hello Q", "hi hello look call found"]);

const cells = (Object.keys(doors) as DoorName[]).flatMap((door) =>
  Object.keys(lives).map((life) => [door, life] as const),
);

/** Doors that make no request again, so that two questions are marked: others call the model, or may have acted. */
const asksOnce = new Set<string>(["chain over agent", "HistoryManager"]);

describe("a refused question whose process died before it was marked", () => {
  // In a loop of one's own that appends by itself nobody knows of refusals.
  const others = (Object.keys(doors) as DoorName[]).filter((door) => door !== "withTurn, own append");

  const refusedAs = { "for its words": refusal, "as too long": Object.values(overflows)[0]! };
  const cases = Object.entries(refusedAs).flatMap(([words, error]) =>
    others.map((door) => [words, door, error] as const),
  );

  it.each(cases)("%s is left out at the door %s, behind one error at most", async (_, door, refuse) => {
    let now = Date.now();
    const store = new InMemorySessionStore({ now: () => now });
    const dying = new DyingStore(store);
    const memoryOn = (base: SessionStore) => new RedisChatMemory({ profile: "openai", store: base });
    const first = new Scene(memoryOn(dying.store), { door: "chain", persist: "step" });
    await first.ask("hi");
    first.model.poison = { Q: refuse };
    dying.diesBehind(1);
    expect((await first.ask("Q")).error?.message).toBe(refuse().message);
    // The hold of a dead process expires.
    now += 60_000;
    const scene = new Scene(memoryOn(store), { door, persist: "step" });
    scene.model.poison = { Q: refuse };
    expect(await scene.stored()).toBe("hi hello Q");
    const next = await scene.ask("next");
    expect(next.error?.message).toBe(asksOnce.has(door) ? refuse().message : undefined);
    // Also behind a retry that succeeds, which clears its own question only.
    for (const question of ["later", "next", "more"]) {
      expect({ question, error: (await scene.ask(question)).error }).toEqual({ question });
    }
  });
});

describe("a process that dies behind any of its writes", () => {
  it.each(cells)("at the door %s with %s leaves a session that goes on", async (door, life) => {
    const isImpossible = door === "chain" && life.includes("tool");
    for (const persist of isImpossible ? [] : (["step", "turn"] as const)) {
      for (let writes = 0; writes <= 3; writes += 1) {
        const { question, finished } = lives[life]!;
        const cell = { persist, writes };
        const first = await died(door, persist, { life, writes });
        const before = await first.scene.stored();
        const next = await first.scene.ask("next");
        const requests = first.scene.takeSent().length;
        const isRefused = door === "chain over agent" && life.startsWith("a refusal") && marksTwo.has(before);
        const found = { ...cell, isAnswered: next.error === undefined, isExtra: requests > 2 };
        expect(found).toEqual({ ...cell, isAnswered: !isRefused, isExtra: false });
        const stored = `${before} next ${isRefused ? "refused" : "fine"}`;
        expect({ ...cell, stored: await first.scene.stored() }).toEqual({ ...cell, stored });
        if (isRefused) {
          expect((await first.scene.ask("later")).error).toBeUndefined();
        }
        const second = await died(door, persist, { life, writes });
        second.scene.model.poison = {};
        const retried = await second.scene.ask(question, { turnId: "t-1" });
        const turn = (await second.scene.stored()).replace(" refused", "");
        const whole = turn.includes("call") ? finished : `${question} A`;
        expect({ ...cell, error: retried.error, turn }).toEqual({ ...cell, turn: `hi hello ${whole}` });
        expect(second.outcome.error === undefined && !retried.texts.has("A is all.")).toBe(false);
      }
    }
  });
});
