import { randomBytes } from "node:crypto";
import { threadKeys } from "../../src/store/redis/keys.js";
import type { FoundInSession, FoundSessions } from "../../cli/inspector/model/data.js";
import type { ThreadRows, ThreadState } from "../../cli/inspector/model/threads.js";
import { askingThread } from "../support/inspected-thread.js";
import { get, inspectedPlaces } from "../support/inspectors.js";
import { ai, aiCalls, human, tool } from "../support/messages.js";

const place = inspectedPlaces();

describe("the inspector, of LangGraph threads,", () => {
  it("lists those that match, and no sessions", async () => {
    const here = await place();
    await here.add("session", [human("Hi")]);
    await askingThread(here, "ann-1");
    await askingThread(here, "ben-1");
    const found = async (search: string, limit = 100) => {
      const { threads, matching } = await here.ask<ThreadRows>("threads", { search, limit });
      return [threads.map(({ threadId }) => threadId), matching];
    };
    expect(await found("")).toEqual([["ann-1", "ben-1"], 2]);
    expect(await found("BEN")).toEqual([["ben-1"], 1]);
    expect(await found("", 1)).toEqual([["ann-1"], 2]);
  });

  it("shows what each checkpoint changed, what comes next, and what waits", async () => {
    const here = await place();
    await askingThread(here, "t");
    const { shown, ...figures } = await here.ask<ThreadState>("thread", { id: "t" });
    expect(figures).toEqual({ threadId: "t", checkpoints: shown.length, items: expect.any(Number) });
    const [asked, started] = shown;
    expect(asked).toMatchObject({ step: 1, source: "loop", next: ["ask"], parent: started!.id });
    expect(asked!.interrupts.map(({ text }) => text)).toEqual([expect.stringContaining('"question":"Really?"')]);
    const list = { before: 1, now: 2, added: 1, shown: [{ text: '"<b>a note</b>"', length: 15, end: 15 }] };
    expect(asked!.changes).toEqual(
      expect.arrayContaining([
        { channel: "notes", list },
        { channel: "count", value: expect.objectContaining({ text: "7" }) },
      ]),
    );
    // The parent of the last one that is shown is read as well.
    const { shown: newest } = await here.ask<ThreadState>("thread", { id: "t", limit: 1 });
    expect(newest).toEqual([asked]);
  });

  it("names what cannot be read, and what is not there", async () => {
    const here = await place();
    await askingThread(here, "t");
    const { shown } = await here.ask<ThreadState>("thread", { id: "t" });
    const { checkpoints, items } = threadKeys(here.keyPrefix, "t");
    await here.client.hset(checkpoints, `c\0${shown[1]!.id}`, "garbage");
    const { shown: rest } = await here.ask<ThreadState>("thread", { id: "t" });
    expect(rest[1]!.problem).toBe("its record is no checkpoint");
    expect(rest[0]!.changes).toBeUndefined();
    await here.client.unlink(items);
    const { damage, shown: none } = await here.ask<ThreadState>("thread", { id: "t" });
    expect([damage, none]).toEqual([expect.stringContaining("Redis lost a part of it"), []]);
    expect((await get(`${here.inspector.url}api/thread?id=none`)).status).toBe(404);
  });
});

const key = randomBytes(32);

describe("the inspector's search in messages", () => {
  it("finds text, results and arguments of a session in any case, and all of a long one part by part", async () => {
    const { ask, add, memory, inspector } = await place();
    const said = [
      human("To Oslo, please"),
      aiCalls("OSLO-1"),
      tool("OSLO-1", "no train"),
      ai("Bergen?"),
      human("oslo!"),
    ];
    await add("s", said);
    const find = (text: string) => ask<FoundInSession>("find", { id: "s", text });
    expect(await find("oslo")).toEqual({ positions: [0, 1, 4] });
    expect(await find("NO TRAIN")).toEqual({ positions: [2] });
    expect(await find("nothing")).toEqual({ positions: [] });
    const history = memory().history("long");
    await history.addMessages(Array.from({ length: 3_000 }, (_, index) => human(`text ${index}`)));
    const positions: number[] = [];
    for (let from: number | undefined = 0; from !== undefined;) {
      const part: FoundInSession = await ask<FoundInSession>("find", { id: "long", text: "text", from });
      positions.push(...part.positions);
      from = part.next;
    }
    expect(positions).toEqual(Array.from({ length: 3_000 }, (_, index) => index));
    expect((await get(`${inspector.url}api/find?id=s&text=%20`)).status).toBe(400);
  });

  it("finds sessions by their messages, also encrypted ones, by id, and goes on where it stopped", async () => {
    const { ask, add, memory } = await place({ LANGCHAIN_REDIS_MEMORY_KEYS: `k:${key.toString("base64")}` });
    const encryption = { current: { id: "k", key: new Uint8Array(key) } };
    for (let index = 0; index < 22; index += 1) {
      await add(`s-${index}`, [human("about trains"), ai("yes")]);
    }
    const sealed = memory({ encryption }).history("a-sealed", { title: "Secret" });
    await sealed.addMessages([human("more about trains")]);
    const first = await ask<FoundSessions>("search", { text: "TRAINS" });
    expect(first.sessions).toHaveLength(20);
    expect(first.sessions.find(({ sessionId }) => sessionId === "a-sealed")).toEqual({
      ...{ sessionId: "a-sealed", title: "Secret", position: 0 },
    });
    const second = await ask<FoundSessions>("search", { text: "TRAINS", cursor: first.next! });
    expect([second.sessions.length, second.next]).toEqual([3, undefined]);
    expect((await ask<FoundSessions>("search", { text: "planes" })).sessions).toEqual([]);
  });
});
