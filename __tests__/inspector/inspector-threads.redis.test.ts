import type { ThreadRows, ThreadState } from "../../cli/inspector/model/threads.js";
import { threadKeys } from "../../src/store/redis/keys.js";
import { askingThread } from "../support/inspected-thread.js";
import { get, inspectedPlaces } from "../support/inspectors.js";
import { human } from "../support/messages.js";

const place = inspectedPlaces();

describe("the inspector, of LangGraph threads,", () => {
  it("lists those that match, and no sessions", async () => {
    const here = await place();
    await here
      .memory()
      .history("session")
      .addMessages([human("Hi")]);
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
