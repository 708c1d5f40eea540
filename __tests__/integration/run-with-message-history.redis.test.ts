import { readFileSync } from "node:fs";
import { join } from "node:path";
import { BaseListChatMessageHistory, type BaseChatMessageHistory } from "@langchain/core/chat_history";
import type { BaseMessage } from "@langchain/core/messages";
import { ChatPromptTemplate, MessagesPlaceholder } from "@langchain/core/prompts";
import { RunnableLambda, RunnableWithMessageHistory, type Runnable } from "@langchain/core/runnables";
import { withRedisMemory } from "../../src/doors/chain/with-redis-memory.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { ai, human } from "../support/messages.js";
import { echoModel, ScriptedModel } from "../support/scripted-model.js";
import { sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";

/** A plain history, as the peers have them: each call reads or writes what is stored now. */
class PlainHistory extends BaseListChatMessageHistory {
  override lc_namespace = ["test"];
  constructor(private readonly stored: BaseMessage[]) {
    super();
  }
  override getMessages = async () => [...this.stored];
  override addMessage = async (message: BaseMessage) => void this.stored.push(message);
  override clear = async () => void this.stored.splice(0);
}

interface Setup {
  /** A runnable with the history of each session, with a history key or without. */
  wrap(
    runnable: Runnable<never, BaseMessage>,
    keys?: { inputMessagesKey: string; historyMessagesKey: string },
  ): Runnable<unknown, unknown>;
  history(sessionId: string): BaseChatMessageHistory;
  /** Makes every write from now on fail. */
  failWrites(): void;
}

function plain(): Setup {
  const sessions = new Map<string, BaseMessage[]>();
  let failing = false;
  const history = (sessionId: string) => {
    const list = sessions.get(sessionId) ?? sessions.set(sessionId, []).get(sessionId)!;
    const made = new PlainHistory(list);
    if (failing) {
      made.addMessages = () => Promise.reject(new Error("no space"));
    }
    return made;
  };
  const wrap: Setup["wrap"] = (runnable, keys) =>
    new RunnableWithMessageHistory({ runnable: runnable as never, getMessageHistory: history, ...keys });
  return { wrap, history, failWrites: () => (failing = true) };
}

const memories: RedisChatMemory[] = [];

function ours(wrapper: "withRedisMemory" | "getMessageHistory"): Setup {
  const keyPrefix = uniquePrefix();
  const memory = new RedisChatMemory({ url: sharedRedisUrl(), redis: { keyPrefix } });
  const tooSmall = new RedisChatMemory({ url: sharedRedisUrl(), redis: { keyPrefix, limits: { maxAppendBytes: 1 } } });
  memories.push(memory, tooSmall);
  let failing = false;
  const current = () => (failing ? tooSmall : memory);
  const wrap: Setup["wrap"] = (runnable, keys) =>
    wrapper === "withRedisMemory"
      ? withRedisMemory(runnable, { memory: current(), ...keys })
      : (new RunnableWithMessageHistory({
          runnable: runnable as never,
          getMessageHistory: current().getMessageHistory,
          ...keys,
        }) as never);
  return { wrap, history: (sessionId) => memory.history(sessionId), failWrites: () => (failing = true) };
}

const manifest = readFileSync(join(process.cwd(), "node_modules/@langchain/core/package.json"), "utf8");
const coreVersion = (JSON.parse(manifest) as { version: string }).version;

afterAll(() => Promise.all(memories.map((memory) => memory.close())));

const ann = { configurable: { sessionId: "ann" } };
const bob = { configurable: { sessionId: "bob" } };
const keys = { inputMessagesKey: "input", historyMessagesKey: "history" };
const texts = async (history: BaseChatMessageHistory) => (await history.getMessages()).map(({ text }) => text);

/** Stores a turn; while the model works, another process stores one too. Gives back what is stored in the end. */
async function secondWriter({ wrap, history }: Setup): Promise<string[]> {
  await history("ann").addMessages([human("o1"), ai("o2")]);
  const model = new ScriptedModel(async () => {
    await history("ann").addMessages([human("intruder")]);
    return "answer";
  });
  await wrap(model as never).invoke([human("question")], ann);
  return texts(history("ann"));
}

/** A batch of two sessions over a sequence. Gives back what each has stored. */
async function batchOfTwo({ wrap, history }: Setup): Promise<string[][]> {
  const prompt = ChatPromptTemplate.fromMessages([new MessagesPlaceholder("history"), ["human", "{input}"]]);
  await wrap(prompt.pipe(echoModel()) as never, keys).batch(
    [{ input: "ann-secret" }, { input: "bob-secret" }],
    [ann, bob],
  );
  return [await texts(history("ann")), await texts(history("bob"))];
}

/** A turn whose write fails. Resolves if the caller is told nothing. */
async function failedWrite(setup: Setup): Promise<unknown> {
  setup.failWrites();
  return setup.wrap(RunnableLambda.from(() => ai("answer")) as never, keys).invoke({ input: "question" }, ann);
}

describe("RunnableWithMessageHistory on a plain history (the defects that these tests detect)", () => {
  it("loses the user's message when another writer appends during the run", async () => {
    expect(await secondWriter(plain())).toEqual(["o1", "o2", "intruder", "answer"]);
  });

  it("stores one session's answer in the history of another in a batch, before @langchain/core 1.4", async () => {
    const [major, minor] = coreVersion.split(".").map(Number);
    const isMended = major! > 1 || minor! >= 4;
    const [stored] = await batchOfTwo(plain());
    expect(stored!.includes("reply to bob-secret")).toBe(!isMended);
  });

  it("hides a failed write from the caller", async () => {
    // LangChain prints it: with `error` before version 1.4, with `warn` since.
    const silence = (["error", "warn"] as const).map((method) => {
      return jest.spyOn(console, method).mockImplementation(() => undefined);
    });
    await expect(failedWrite(plain())).resolves.toBeDefined();
    silence.forEach((spy) => spy.mockRestore());
  });
});

describe.each([
  // The question is stored before the model is called.
  ["withRedisMemory", ["o1", "o2", "question", "intruder", "answer"]],
  ["getMessageHistory", ["o1", "o2", "intruder", "question", "answer"]],
] as const)("a turn through %s", (wrapper, stored) => {
  it("keeps the user's message when another writer appends during the run", async () => {
    expect(await secondWriter(ours(wrapper))).toEqual(stored);
  });
});

describe("a turn through withRedisMemory", () => {
  it("keeps the sessions of a batch apart", async () => {
    expect(await batchOfTwo(ours("withRedisMemory"))).toEqual([
      ["ann-secret", "reply to ann-secret"],
      ["bob-secret", "reply to bob-secret"],
    ]);
  });

  it("rejects if its write failed", async () => {
    await expect(failedWrite(ours("withRedisMemory"))).rejects.toMatchObject({ name: "StoreError", code: "too_large" });
  });
});

describe("memory.getMessageHistory in RunnableWithMessageHistory", () => {
  it.each([true, false])("keeps a conversation over invoke and stream (history key: %s)", async (withKey) => {
    const { wrap, history } = ours("getMessageHistory");
    const prompt = ChatPromptTemplate.fromMessages([new MessagesPlaceholder("history"), ["human", "{input}"]]);
    const chain = withKey ? wrap(prompt.pipe(echoModel()) as never, keys) : wrap(echoModel() as never);
    const input = (text: string) => (withKey ? { input: text } : [human(text)]);
    await chain.invoke(input("one"), ann);
    for await (const _ of await chain.stream(input("two"), ann)) {
      // Only the end matters.
    }
    expect(await texts(history("ann"))).toEqual(["one", "reply to one", "two", "reply to two"]);
  });

  it("keeps the turns of a batch apart if each has a config", async () => {
    const { wrap, history } = ours("getMessageHistory");
    await wrap(
      RunnableLambda.from((messages: BaseMessage[]) => ai(`reply to ${messages.at(-1)!.text}`)) as never,
    ).batch([[human("one")], [human("two")]], [ann, bob]);
    expect(await texts(history("ann"))).toEqual(["one", "reply to one"]);
    expect(await texts(history("bob"))).toEqual(["two", "reply to two"]);
  });
});
