import { ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { RedisChatMessageHistory } from "../../src/memory/histories/redis-chat-message-history.js";
import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import type { TokenCounter } from "../../src/conversation/tokens/counted-messages.js";
import { readEarlierOption, readEarlierTool } from "../../src/memory/histories/read-earlier.js";
import { ai, human } from "../support/messages.js";

interface LogRequest {
  readonly from: number;
  readonly limit?: number;
}

/** Notes which parts of the log are read; the record at `unreadable` cannot be decoded, though it holds words. */
class NotingStore extends InMemorySessionStore {
  readonly logs: LogRequest[] = [];
  unreadable = -1;
  failing: Error | undefined;

  constructor() {
    super();
    const readPage = this.data.readPage.bind(this.data);
    jest.spyOn(this.data, "readPage").mockImplementation(async (session, request) => {
      const { before, limit } = request;
      const from = Math.max(0, (before ?? 0) - limit);
      this.logs.push(...(before === undefined ? [] : [{ from, limit: before - from }]));
      if (before !== undefined && this.failing !== undefined) {
        throw this.failing;
      }
      const page = (await readPage(session, request))!;
      const isNoted = (at: number) => before !== undefined && page.from + at === this.unreadable;
      return { ...page, records: page.records.map((record, at) => (isNoted(at) ? "needle" : record)) };
    });
  }
}

async function toolOn(
  messages: readonly BaseMessage[],
  { tokenCounter, maxTokens = 2_000 }: { tokenCounter?: TokenCounter; maxTokens?: number } = {},
) {
  const store = new NotingStore();
  const history = new RedisChatMessageHistory({ sessionId: "s", store, ...(tokenCounter && { tokenCounter }) });
  await history.addMessages([...messages]);
  const earlier = readEarlierTool({ history, maxTokens });
  return { store, read: async (args: object) => (await earlier.invoke(args)) as string, earlier };
}

const result = (id: string, content: string, name = "search") => new ToolMessage({ content, tool_call_id: id, name });
const talk = [human("one two"), ai("three"), human("two  one"), ai("four")];

describe("what a model asks earlier messages for", () => {
  it("is told to it by name", async () => {
    const { earlier } = await toolOn([]);
    const text = expect.any(String) as string;
    expect(earlier.schema).toEqual({
      type: "object",
      properties: {
        query: { type: "string", description: text },
        toolCallId: { type: "string", description: text },
        from: { type: "integer", description: text },
        limit: { type: "integer", description: text },
        offset: { type: "integer", description: text },
      },
    });
  });

  it("is a result by its own call, also where a later result may name it", async () => {
    const calls = [ai("", { calls: ["c1"] }), result("c1", "noon"), ai("", { calls: ["c2"] })];
    const { read } = await toolOn([...calls, result("c2", 'bell \u0007 of "c1"')]);
    expect(await read({ toolCallId: "c1" })).toBe("#1 result of search (c1): noon");
    expect(await read({ toolCallId: "c3" })).toBe("No stored message was found.");
  });

  it("is all of some words, in any order and space, but not what this tool said", async () => {
    const { read } = await toolOn([...talk, result("r", "one two", "read_earlier_messages")]);
    expect(await read({ query: " two \n one " })).toBe("#0 user: one two\n#2 user: two  one");
    expect(await read({ query: "  ", limit: 2 })).toBe("#0 user: one two\n#1 assistant: three");
  });

  it.each([
    [{ from: 1e300, limit: 1 }, "#0 user: one two"],
    [{ from: -3, limit: 1 }, "#0 user: one two"],
    [{ from: 2, limit: 1, toolCallId: "", query: "" }, "#2 user: two  one"],
    [{ from: 2, limit: 0 }, "#2 user: two  one"],
    [{ from: 3, limit: 1e300, offset: -1 }, "#3 assistant: four"],
  ])("is a place in the log, else its beginning: %j", async (args, told) => {
    const { read } = await toolOn(talk);
    expect(await read(args)).toBe(told);
  });

  it("shows calls with their arguments", async () => {
    const { read } = await toolOn([human("q"), ai("I look.", { calls: ["c"] }), ai("", { calls: ["d"] })]);
    expect(await read({ from: 1 })).toBe(
      '#1 assistant: I look. [called lookup({"query":"c"})]\n#2 assistant: [called lookup({"query":"d"})]',
    );
  });
});

describe("a search of earlier messages", () => {
  const many = Array.from({ length: 1_500 }, (_, at) => human(at % 90 === 0 ? `needle ${at}` : `hay ${at}`));

  it("finds the newest that are asked for, over pages that adjoin", async () => {
    const { read, store } = await toolOn(many);
    expect((await read({ query: "needle", limit: 3 })).split("\n")).toEqual(
      [1260, 1350, 1440].map((at) => `#${at} user: needle ${at}`),
    );
    await read({ query: "nothing" });
    const search = store.logs.slice(-3);
    expect(search).toEqual([
      { from: 900, limit: 500 },
      { from: 400, limit: 500 },
      { from: 0, limit: 400 },
    ]);
  });

  it("passes over what cannot be decoded, and no other error", async () => {
    const { read, store } = await toolOn(many);
    store.unreadable = 900;
    expect((await read({ query: "needle", limit: 8 })).split("\n").map((line) => line.slice(0, 5))).toEqual(
      [720, 810, 990, 1080, 1170, 1260, 1350, 1440].map((at) => `#${at}`.padEnd(5)),
    );
    store.failing = new Error("gone");
    await expect(read({ query: "nothing" })).rejects.toThrow("gone");
  });
});

describe("a long answer of earlier messages", () => {
  const words = Array.from({ length: 900 }, (_, at) => `word${at}`).join(" ");

  it("is whole in parts that use their room", async () => {
    const { read } = await toolOn([human(words)], { maxTokens: 300 });
    let [whole, offset, parts] = ["", 0, 0];
    for (let goesOn = true; goesOn; parts += 1) {
      const part = await read({ from: 0, offset });
      const next = /\n\[… goes on: give "offset": (\d+)\]$/.exec(part);
      whole += next === null ? part : part.slice(0, next.index);
      goesOn = next !== null;
      offset = Number(next?.[1]);
    }
    expect(whole).toBe(`#0 user: ${words}`);
    expect(parts).toBeLessThan(25);
  });

  it("is no text, but ends, where a counter counts more than the limit for any", async () => {
    const tokenCounter: TokenCounter = { id: "huge", perRequest: 0, countMessage: () => 1e9, countText: () => 1e9 };
    const { read } = await toolOn([human(words)], { tokenCounter });
    expect(await read({ from: 0 })).toBe('\n[… goes on: give "offset": 0]');
  });
});

describe("the option readEarlier", () => {
  it.each([
    [undefined, undefined],
    [false, undefined],
    [true, { maxTokens: 2_000 }],
    [{ maxTokens: 100 }, { maxTokens: 100 }],
  ])("%j means %j", (given, limits) => {
    expect(readEarlierOption().parse(given)).toEqual(limits);
  });
});
