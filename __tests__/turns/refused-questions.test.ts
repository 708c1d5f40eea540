import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { RunnableLambda } from "@langchain/core/runnables";
import fc from "fast-check";
import {
  BudgetError,
  ChatHistoryTokenReducer,
  ChatMemoryModule,
  contextWindow,
  InMemorySessionStore,
  RedisChatMemory,
  withRedisMemory,
} from "../../src/entries/index.js";
import { readEarlierTool } from "../../src/entries/tool-loop.js";
import { refusedMark, withoutRefused } from "../../src/conversation/messages/change-message.js";
import { refusedMarkOf } from "../../src/conversation/messages/message.js";
import { refusedForGood } from "../../src/memory/turns/refused-for-good.js";
import { ai, human } from "../support/messages.js";
import { forAll } from "../support/property-runs.js";
import { all } from "../support/all.js";

const config = { configurable: { sessionId: "s" } };
const refusal = (status = 400) => Object.assign(new Error("The prompt was filtered."), { status });
const words = (messages: readonly BaseMessage[]) => messages.map(({ text }) => text);

/** A chain whose model refuses requests that hold a word, and says what it was sent. */
function refusing(options: Partial<ConstructorParameters<typeof RedisChatMemory>[0]> = {}) {
  const memory = new RedisChatMemory({ store: new InMemorySessionStore(), ...options } as never);
  const sent: string[][] = [];
  let isRefusing = true;
  const model = RunnableLambda.from((messages: BaseMessage[]) => {
    sent.push(words(messages));
    if (isRefusing && messages.some(({ text }) => text.includes("BAD"))) {
      throw refusal();
    }
    return new AIMessage(`to ${messages.at(-1)!.text}`);
  });
  const chain = withRedisMemory(model, { memory });
  const ask = (text: string, id: string) => chain.invoke([human(text, id)], config);
  return { memory, history: memory.history("s"), sent, ask, accept: () => (isRefusing = false) };
}

async function afterRefusal(options?: Parameters<typeof refusing>[0]) {
  const scene = refusing(options);
  await scene.ask("Hi", "q1");
  await expect(scene.ask("BAD words", "q2")).rejects.toThrow("The prompt was filtered.");
  return scene;
}

describe("a refused question", () => {
  it("stays in the transcript behind its mark, and leaves the views of later turns", async () => {
    const { history, ask, sent } = await afterRefusal();
    await ask("And now?", "q3");
    expect(sent.at(-1)).toEqual(["Hi", "to Hi", "And now?"]);
    expect(words(await history.getMessages())).toEqual(["Hi", "to Hi", "And now?", "to And now?"]);
    const transcript = await history.getTranscript();
    expect(words(transcript)).toEqual(["Hi", "to Hi", "BAD words", "", "And now?", "to And now?"]);
    expect(refusedMarkOf(transcript[3]!)).toEqual({ reason: "refused", ids: ["q2"], status: 400 });
  });

  it("is seen by its own retry, whose answer takes it back into the conversation", async () => {
    const { history, ask, sent, accept } = await afterRefusal();
    await ask("And now?", "q3");
    await expect(ask("BAD words", "q2")).rejects.toThrow();
    expect(sent.at(-1)).toEqual(["Hi", "to Hi", "BAD words"]);
    expect((await history.getTranscript()).filter((message) => refusedMarkOf(message))).toHaveLength(1);
    accept();
    await ask("BAD words", "q2");
    const told = ["Hi", "to Hi", "BAD words", "to BAD words", "And now?", "to And now?"];
    expect(words(await history.getMessages())).toEqual(told);
    expect((await ask("BAD words", "q2")).text).toBe("to BAD words");
  });

  it("is shown as refused on pages, and is no round, no title and nothing that a model reads again", async () => {
    const titled: string[] = [];
    const model = RunnableLambda.from((messages: BaseMessage[]) => {
      titled.push(...words(messages));
      return "Greetings";
    });
    const store = new InMemorySessionStore();
    const { history } = await afterRefusal({ store });
    const { items } = await history.getPage();
    expect(items.map(({ refused }) => refused)).toEqual([undefined, undefined, undefined, expect.any(Object)]);
    expect(items.at(-1)).toMatchObject({ inView: false, refused: { reason: "refused", status: 400 } });
    expect((await history.getRounds(5)).map(({ messages }) => words(messages))).toEqual([["Hi", "to Hi"]]);
    expect(await new ChatMemoryModule({ history }).retrieve()).not.toContain("BAD");
    const earlier = readEarlierTool({ history });
    expect(String(await earlier.invoke({ query: "words" }))).not.toContain("BAD");
    expect(String(await earlier.invoke({ from: 0 }))).not.toContain("BAD");
    const naming = new RedisChatMemory({ store, titles: { model: model as never } });
    await withRedisMemory(
      RunnableLambda.from(() => "fine"),
      { memory: naming },
    ).invoke([human("Ok", "q9")], config);
    await naming.drain();
    expect(titled.join()).toContain("Hi");
    expect(titled.join()).not.toContain("BAD");
    const measuring = new RedisChatMemory({ store, reducer: contextWindow({ maxInputTokens: 9_000 }) }).history("s");
    const before = await measuring.contextUsage({});
    await history.append([
      human(`BAD ${"word ".repeat(200)}`, "long"),
      refusedMark({ reason: "refused", ids: ["long"] }),
    ]);
    expect(await measuring.contextUsage({})).toEqual(before);
  });

  it("stays hidden in a copy, an import and a rebuilt session", async () => {
    const { memory, history } = await afterRefusal();
    await history.fork("copy");
    const lines: string[] = await all(memory.sessions.export("s"));
    const other = new RedisChatMemory({ store: new InMemorySessionStore() });
    await other.sessions.import(lines);
    await history.rebuild();
    const views = [history, memory.history("copy"), other.history("s")].map((each) => each.getMessages());
    for (const view of await Promise.all(views)) {
      expect(words(view)).toEqual(["Hi", "to Hi"]);
    }
  });

  it("leaves the view's records with the next reduction, so that its tokens are counted no longer", async () => {
    const reducer = new ChatHistoryTokenReducer({ maxTokens: 200, targetTokens: 150 });
    const { history, ask } = refusing({ reducer });
    await ask("Hi", "q1");
    await expect(ask(`BAD ${"word ".repeat(120)}`, "q2")).rejects.toThrow();
    await ask("tell ".repeat(60), "q3");
    await ask("And now?", "q4");
    expect((await history.stats()).view.tokens).toBeLessThan(200);
    expect(words(await history.getMessages()).join()).not.toContain("BAD");
    expect(words(await history.getTranscript()).join()).toContain("BAD");
  });
});

describe("withTurn with an input", () => {
  const open = (options: object = {}) => new RedisChatMemory({ store: new InMemorySessionStore(), ...options });

  it("leaves a turn open that is not finished, and refuses a name without an input", async () => {
    const memory = open();
    await memory.withTurn("s", () => undefined, { input: new HumanMessage({ content: "Hi", id: "q" }) });
    expect(words(await memory.history("s").getTranscript())).toEqual(["Hi"]);
    const named = memory.withTurn("s", () => undefined, { turnId: "t" });
    await expect(named).rejects.toMatchObject({ name: "ConfigurationError", option: "turnId" });
    const empty = memory.withTurn("s", () => undefined, { input: [] });
    await expect(empty).rejects.toMatchObject({ name: "ConfigurationError", option: "input" });
  });
});

describe("an error of a model", () => {
  const told = (fields: object, message = "no") => refusedForGood(Object.assign(new Error(message), fields));

  it.each([
    ["status", { status: 400 }, { reason: "refused", status: 400 }],
    ["statusCode", { statusCode: 422 }, { reason: "refused", status: 422 }],
    ["Bedrock's", { $metadata: { httpStatusCode: 400 } }, { reason: "refused", status: 400 }],
    ["a cause's", { cause: { status: 413 } }, { reason: "too_long", status: 413 }],
    ["a blocked prompt", { blockReason: "SAFETY" }, { reason: "refused" }],
    ["an overflow by name", { name: "ContextOverflowError" }, { reason: "too_long" }],
  ])("refuses for good by %s", (_, fields, expected) => {
    expect(told(fields)).toEqual(expected);
  });

  it("refuses for good by a reducer's BudgetError and by the words of an overflow", () => {
    expect(refusedForGood(new BudgetError("big", { overBudgetBy: 1 } as never))).toEqual({ reason: "too_long" });
    expect(told({ status: 400 }, "prompt is too long: 9 tokens > 8 maximum")?.reason).toBe("too_long");
  });

  it.each<[string, object, string]>([
    ...[401, 403, 404, 408, 409, 429, 500, 503].map((status): [string, object, string] => [
      `status ${status}`,
      { status },
      "no",
    ]),
    ["no status", { code: "ECONNREFUSED" }, "connect ECONNREFUSED"],
    ["a key", { status: 400 }, "API key not valid. Please pass a valid API key."],
    ["credit", { status: 400 }, "Your credit balance is too low to access the API."],
    ["a region", { status: 400 }, "User location is not supported for the API use."],
    ["a model's name", { status: 400 }, "The model `gpt-9` does not exist"],
  ])("may pass with %s", (_, fields, message) => {
    expect(told(fields, message)).toBeUndefined();
  });
});

describe("the messages that a model sees of a conversation with refused requests", () => {
  const turn = fc.record({ refused: fc.boolean(), retried: fc.boolean() });

  it("are those of the other turns, whatever was refused and retried", () =>
    forAll(200, fc.array(turn, { maxLength: 12 }), (turns) => {
      const list = turns.flatMap(({ refused, retried }, index) => {
        const marks = refused ? [refusedMark({ reason: "refused", ids: [`q${index}`] })] : [];
        return [human(`q${index}`, `q${index}`), ...marks, ...(refused && !retried ? [] : [ai(`a${index}`)])];
      });
      const shown = withoutRefused<BaseMessage>(
        list,
        (message) => message,
        (_, note) => note,
      );
      const expected = turns.flatMap(({ refused, retried }, index) =>
        refused && !retried ? [] : [`q${index}`, `a${index}`],
      );
      expect(words(shown)).toEqual(expected);
      expect(shown === list).toBe(turns.every(({ refused }) => !refused));
    }));
});
