import { HumanMessage } from "@langchain/core/messages";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { redisRuns } from "../../src/runs/redis-runs.js";
import { RunStore } from "../../src/runs/run-store.js";
import { SteerStore } from "../../src/runs/steers.js";
import { closedAfterEach } from "../support/closed-after-each.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";
import { storedBytes } from "../support/stored-bytes.js";
import { all, spoken } from "./spoken-source.js";

/*
 * Between a check of a call and its write there is a moment in which others change the world. Each test makes a change
 * there, by the step that comes behind the check.
 */
const client = sharedClient();
const closed = closedAfterEach();
afterEach(() => jest.restoreAllMocks());

const marker = "zebra";

async function place() {
  const keyPrefix = uniquePrefix();
  const memory = closed(new RedisChatMemory({ client, redis: { keyPrefix } }));
  const other = closed(new RedisChatMemory({ client, redis: { keyPrefix } }));
  await memory.history("s", { owner: "ann" }).addMessages([new HumanMessage("hi")]);
  const stored = async () => [...(await storedBytes(client, keyPrefix)).entries()].join();
  return { memory, other, runs: redisRuns(memory), stored };
}

/** Makes a change before the next call of a step. */
function before<Step extends string>(
  steps: Record<Step, (...args: never[]) => unknown>,
  step: Step,
  change: () => Promise<unknown>,
) {
  const made = steps[step];
  jest.spyOn(steps, step as never).mockImplementationOnce(async function (this: object, ...args: never[]) {
    await change();
    return made.apply(this, args);
  } as never);
}

const work = async function* () {
  yield marker;
};

describe("what changes between the check of a call and its write", () => {
  it("is seen by a start: the session was erased", async () => {
    const { other, runs, stored } = await place();
    let begun = 0;
    before(RunStore.prototype as never, "begin", () => other.sessions.delete("s"));
    const starting = runs.start("s", { turnId: "t", owner: "ann" }, () => {
      begun += 1;
      return work();
    });
    await expect(starting).rejects.toMatchObject({ code: "erased" });
    expect([begun, await stored()]).toEqual([0, expect.not.stringContaining(marker)]);
  });

  it("is seen by a message for a run: the session was erased, or the run has ended", async () => {
    const { other, runs, stored } = await place();
    const said = { role: "user" as const, content: marker, id: "m" };
    const first = spoken();
    const run = await runs.start("s", { turnId: "t", owner: "ann" }, first.work);
    before(SteerStore.prototype as never, "add", async () => {
      first.end();
      await all(run);
    });
    expect(await runs.steer("s", said, { owner: "ann" })).toBe("idle");
    const second = spoken();
    const again = await runs.start("s", { turnId: "u", owner: "ann" }, second.work);
    before(SteerStore.prototype as never, "add", () => other.sessions.delete("s"));
    const outcome = await runs.steer("s", said, { owner: "ann" }).catch((error: { code: string }) => error.code);
    expect(["idle", "erased"]).toContain(outcome);
    second.end();
    await all(again).catch(() => undefined);
    expect(await stored()).not.toContain(marker);
  });

  it("is seen by a stop: the session was erased, and nothing of it begins anew", async () => {
    const { other, runs, stored } = await place();
    const { work: speaking, end } = spoken();
    const run = await runs.start("s", { turnId: "t", owner: "ann" }, speaking);
    before(RunStore.prototype as never, "stopWaiting", () => other.sessions.delete("s"));
    const outcome = await runs.stop("s", { owner: "ann" }).catch((error: { code: string }) => error.code);
    expect([true, false, "erased"]).toContain(outcome);
    end();
    await all(run).catch(() => undefined);
    expect(await stored()).not.toContain("hi");
  });

  it("is seen by the end of a run: the session was erased", async () => {
    const { other, runs, stored } = await place();
    before(RunStore.prototype as never, "endBehind", () => other.sessions.delete("s"));
    const run = await runs.start("s", { turnId: "t", owner: "ann" }, work);
    const end = (await all(run).catch((error: { code: string }) => [error.code])).at(-1);
    expect(end).not.toEqual({ state: "done" });
    expect(await stored()).not.toContain(marker);
  });
});
