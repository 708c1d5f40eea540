import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import type { SessionImportOptions, SessionImportProblem } from "../../src/memory/sessions/import-sessions.js";
import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import { creating, wholeState } from "../../testing/session-store/copy-cases.js";
import { records } from "../../testing/session-store/store-case.js";
import { ai, human } from "../support/messages.js";
import { all } from "../support/all.js";

const open = () => new RedisChatMemory({ store: new InMemorySessionStore({ limits: { maxMessageBytes: 20_000 } }) });

/** The export of sessions `a`, `b` and `c`, two messages each. */
async function exported(): Promise<string[]> {
  const memory = open();
  const lines: string[] = [];
  for (const id of ["a", "b", "c"]) {
    await memory.history(id, { owner: "ann", title: `T ${id}` }).addMessages([human("secret question"), ai("answer")]);
    lines.push(...(await all(memory.sessions.export(id))));
  }
  return lines;
}

async function importInto(memory: RedisChatMemory, lines: readonly string[], options: SessionImportOptions = {}) {
  const problems: SessionImportProblem[] = [];
  const summary = await memory.sessions.import(lines, { onProblem: (problem) => problems.push(problem), ...options });
  return { ...summary, problems };
}

const changed = (lines: readonly string[], index: number, line: string) => lines.with(index, line);

describe("an import of sessions", () => {
  it("has each part of the state that was exported", async () => {
    const state = { ...wholeState, start: 2, headCount: 1 };
    const [from, to] = [new InMemorySessionStore(), new InMemorySessionStore()];
    await from.copies.create({ id: "a", owner: "ann" }, creating(state, records("a", 3)));
    const lines = await all(new RedisChatMemory({ store: from }).sessions.export("a"));
    await new RedisChatMemory({ store: to }).sessions.import(lines);
    const [source, copy] = await Promise.all([from, to].map((store) => store.copies.read({ id: "a" })));
    expect(copy).toEqual({ ...source, epoch: copy!.epoch });
  });

  it("adds nothing when it is repeated, and leaves a session with other content alone", async () => {
    const lines = await exported();
    const memory = open();
    expect(await memory.sessions.import(lines)).toMatchObject({ sessions: 3, messages: 6, unchanged: 0 });
    expect(await memory.sessions.import(lines)).toMatchObject({ sessions: 0, messages: 0, unchanged: 3 });
    await memory.history("b").addMessages([human("more")]);
    await expect(memory.sessions.import(lines)).rejects.toMatchObject({ code: "exists", sessionId: "b" });
    const { unchanged, failed, problems } = await importInto(memory, lines);
    expect([unchanged, failed, problems[0]!.sessionId, problems[0]!.line]).toEqual([2, 1, "b", 5]);
    expect(await memory.history("b").getTranscript()).toHaveLength(3);
    expect((await memory.sessions.list({ owner: "ann" })).sessions).toHaveLength(3);
  });

  it("names a session whose staged records expired, and creates nothing of it", async () => {
    const store = new InMemorySessionStore();
    jest.spyOn(store.copies, "create").mockResolvedValueOnce(undefined);
    const lines = (await exported()).slice(0, 4);
    const importing = new RedisChatMemory({ store }).sessions.import(lines);
    await expect(importing).rejects.toMatchObject({
      name: "ConflictError",
      code: "stale",
      sessionId: "a",
      message:
        "The staged records of session a expired, because more than ten minutes passed between two pages; " +
        "nothing was created. Try again.",
    });
    expect((await store.readView({ id: "a" })).epoch).toBe("");
  });

  const record = (text: string) => JSON.stringify({ type: "record", sessionId: "b", position: 1, record: text });
  it.each<[string, (lines: readonly string[]) => readonly string[], number]>([
    ["a line that is no JSON", (lines) => changed(lines, 5, "secret {"), 6],
    ["a line without a type", (lines) => changed(lines, 5, "[]"), 6],
    ["a line of an unknown type", (lines) => changed(lines, 5, '{"type":"note"}'), 6],
    ["a record that is missing", (lines) => lines.toSpliced(5, 1), 6],
    ["an end that is missing", (lines) => lines.toSpliced(7, 1), 8],
    ["a record that is no text", (lines) => changed(lines, 6, record("x").replace('"x"', "5")), 7],
    ["a record that is too long", (lines) => changed(lines, 6, record("x".repeat(20_001))), 7],
    ["a record that is encrypted", (lines) => changed(lines, 6, record(sealed)), 7],
    ["a session with a wrong start", (lines) => changed(lines, 4, lines[4]!.replace('"start":0', '"start":7')), 8],
    ["a session with a wrong number", (lines) => changed(lines, 4, lines[4]!.replace('"base":0', '"base":-1')), 5],
    ["a session with no id", (lines) => changed(lines, 4, lines[4]!.replace('"sessionId":"b"', '"sessionId":""')), 5],
    ["a title that is no text", (lines) => changed(lines, 4, lines[4]!.replace('"title":"T b"', '"title":{}')), 5],
  ])("with %s leaves out that session alone, names the line and shows no text", async (_, change, line) => {
    const memory = open();
    const { sessions, problems } = await importInto(memory, change(await exported()));
    expect({ sessions, lines: problems.map((problem) => problem.line) }).toEqual({ sessions: 2, lines: [line] });
    expect(problems[0]!.error.message).not.toContain("secret");
    expect(await memory.history("b").getTranscript()).toEqual([]);
    expect(await memory.history("c").getTranscript()).toHaveLength(2);
  });

  const numbers = ["base", "start", "rounds", "reductions", "createdAt", "updatedAt", "expiresAt", "tokens"];
  it.each(numbers)("with a %s that is no such number says so and creates nothing", async (name) => {
    const lines = (await exported()).slice(0, 4);
    for (const value of [-1, "1", {}, ...(name === "tokens" ? [] : [0.5, 2 ** 53])]) {
      const memory = open();
      const line = JSON.stringify({ ...(JSON.parse(lines[0]!) as object), [name]: value });
      const { sessions, problems } = await importInto(memory, changed(lines, 0, line));
      expect({ sessions, lines: problems.map((problem) => problem.line) }).toEqual({ sessions: 0, lines: [1] });
      expect(problems[0]!.error.message).toContain(name);
      expect((await memory.sessions.list({ owner: "ann" })).sessions).toEqual([]);
    }
  });

  it("that ends early leaves out the session that it ends in", async () => {
    const memory = open();
    const lines = await exported();
    const { sessions, problems } = await importInto(memory, lines.slice(0, 7));
    expect([sessions, problems[0]!.error.message]).toEqual([1, expect.stringContaining("ends before")]);
    expect(await memory.history("b").getTranscript()).toEqual([]);
    expect(await importInto(memory, lines)).toMatchObject({ sessions: 2, unchanged: 1, failed: 0 });
  });

  it("leaves out what has expired, unless it is given a time to live", async () => {
    const lines = (await exported()).map((line) => line.replace('"base":', '"expiresAt":5,"base":'));
    const memory = open();
    expect(await memory.sessions.import(lines)).toMatchObject({ sessions: 0, expired: 3 });
    expect(await memory.sessions.import(lines, { sessionTTL: 60 })).toMatchObject({ sessions: 3, expired: 0 });
    const left = (await memory.sessions.get("a"))!.expiresAt! - Date.now();
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThanOrEqual(60_000);
  });

  it("reads no further than it has to before it tells of a line that is wrong", async () => {
    let read = 0;
    const endless = (function* () {
      for (;;) {
        read += 1;
        yield "no export";
      }
    })();
    await expect(open().sessions.import(endless)).rejects.toMatchObject({ code: "corrupt" });
    expect(read).toBeLessThan(5);
    await expect(open().sessions.import(undefined as never)).rejects.toMatchObject({ option: "lines" });
  });
});

const sealed = `${JSON.stringify({ type: "ai", data: { id: "x" }, sealed: "k1", meta: { v: 2 } })}\nabc`;
