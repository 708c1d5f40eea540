import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import { ChatPromptTemplate, MessagesPlaceholder } from "@langchain/core/prompts";
import { RunnableLambda, RunnableWithMessageHistory, type Runnable } from "@langchain/core/runnables";
import type { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import type { RedisChatMessageHistory } from "../../src/memory/histories/redis-chat-message-history.js";
import { ChatHistoryTruncationReducer } from "../../src/conversation/reducers/truncation-reducer.js";
import { conversationGuard } from "../../src/conversation/reducers/conversation-guard.js";
import { validateConversation } from "../../src/conversation/structure/validate.js";
import { ai, human, system } from "../support/messages.js";
import { ScriptedModel } from "../support/scripted-model.js";
import { sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";
import { closeMemories, newMemory, texts } from "../support/memories.js";
import { RedactingHistory } from "../support/redacting-history.js";

afterEach(closeMemories);

const config = { configurable: { sessionId: "s" } };
const keys = { inputMessagesKey: "input", historyMessagesKey: "history" };
const stored = async (memory: RedisChatMemory) => texts(await memory.history("s").getTranscript());

/** Says `a1`, `a2`, … in this order. */
function countingModel(): ScriptedModel {
  let answers = 0;
  return new ScriptedModel(() => `a${(answers += 1)}`);
}

type GetMessageHistory = (sessionId: string) => RedisChatMessageHistory;

/** A runnable from messages to a message, with LangChain's own memory around it. */
function wrapped(runnable: unknown, getMessageHistory: GetMessageHistory): Runnable<BaseMessage[], AIMessage> {
  return new RunnableWithMessageHistory({ runnable: runnable as never, getMessageHistory }) as never;
}

/** The same with a prompt, a history key, and an input with a key. */
function withPrompt(model: ScriptedModel, getMessageHistory: GetMessageHistory): Runnable<object, AIMessage> {
  const prompt = ChatPromptTemplate.fromMessages([new MessagesPlaceholder("history"), ["human", "{input}"]]);
  return new RunnableWithMessageHistory({
    runnable: prompt.pipe(model as never) as never,
    getMessageHistory,
    ...keys,
  }) as never;
}

describe("what holds for RunnableWithMessageHistory on memory.getMessageHistory", () => {
  it("stores a question with an id once, whatever the reducer removed and from any instance", async () => {
    const keyPrefix = uniquePrefix();
    const reducer = new ChatHistoryTruncationReducer({ targetCount: 2 });
    const [one, two] = [newMemory({ redis: { keyPrefix }, reducer }), newMemory({ redis: { keyPrefix }, reducer })];
    for (let index = 1; index <= 4; index += 1) {
      await wrapped(countingModel(), one.getMessageHistory).invoke([human(`q${index}`, `q${index}`)], config);
    }
    await wrapped(countingModel(), two.getMessageHistory).invoke([human("q1", "q1")], config);
    expect((await stored(two)).filter((text) => text === "q1")).toHaveLength(1);
  });

  it("stores a question with an id once where two runs bring it at the same time", async () => {
    const memory = newMemory();
    const chain = wrapped(countingModel(), memory.getMessageHistory);
    await Promise.all([chain.invoke([human("q1", "q1")], config), chain.invoke([human("q1", "q1")], config)]);
    expect((await stored(memory)).sort()).toEqual(["a1", "a2", "q1"]);
  });

  it("adds only what is new of a whole history whose messages have ids", async () => {
    const memory = newMemory();
    const chain = wrapped(countingModel(), memory.getMessageHistory);
    const all: BaseMessage[] = [];
    for (let index = 1; index <= 3; index += 1) {
      all.push(human(`q${index}`, `q${index}`));
      all.push(await chain.invoke([...all], config));
    }
    expect(await stored(memory)).toEqual(["q1", "a1", "q2", "a2", "q3", "a3"]);
  });

  it("stores nothing of a run that fails, and the turn once when it is tried again", async () => {
    const memory = newMemory();
    const answers = [new Error("away"), ai("a1")];
    const chain = withPrompt(new ScriptedModel(() => answers.shift()!), memory.getMessageHistory);
    await expect(chain.invoke({ input: "q1" }, config)).rejects.toThrow("away");
    expect(await stored(memory)).toEqual([]);
    await chain.invoke({ input: "q1" }, config);
    expect(await stored(memory)).toEqual(["q1", "a1"]);
  });

  it("keeps the question where another writer stores a turn during the run", async () => {
    const memory = newMemory();
    await memory.history("s").addMessages([human("q0"), ai("a0")]);
    const model = new ScriptedModel(async () => {
      await memory.history("s").addMessages([human("other"), ai("answer")]);
      return "a1";
    });
    await wrapped(model, memory.getMessageHistory).invoke([human("q1")], config);
    expect(await stored(memory)).toEqual(["q0", "a0", "other", "answer", "q1", "a1"]);
  });

  it("does not bring back what another history removed during the run", async () => {
    const memory = newMemory();
    await memory.history("s").addMessages([human("q0", "q0"), ai("a0", { id: "a0" })]);
    const model = new ScriptedModel(async () => {
      await memory.history("s").rewind("q0");
      return "a1";
    });
    await wrapped(model, memory.getMessageHistory).invoke([human("q1")], config);
    expect(await stored(memory)).toEqual(["q1", "a1"]);
  });

  it("stores a structured answer where the output names a text by its key", async () => {
    const memory = newMemory();
    const runnable = RunnableLambda.from(() => ({ output: '{"city":"Oslo"}' }));
    await wrapped(runnable, memory.getMessageHistory).invoke([human("where?")], config);
    expect(await stored(memory)).toEqual(["where?", '{"city":"Oslo"}']);
  });

  it("gives a stored greeting to anthropic with a conversationGuard in front of the model", async () => {
    const memory = newMemory();
    await memory.history("s").addMessages([ai("Hello!")]);
    const model = countingModel();
    const guard = conversationGuard({ profile: "anthropic", purpose: "model-input", mode: "repair" });
    await wrapped(guard.pipe(model as never), memory.getMessageHistory).invoke([human("q1")], config);
    expect(validateConversation(model.sent[0]!, { profile: "anthropic", purpose: "model-input" })).toEqual([]);
    expect(await stored(memory)).toEqual(["Hello!", "q1", "a1"]);
  });

  it("never stores a system message that stands in the prompt", async () => {
    const memory = newMemory();
    const placeholder = new MessagesPlaceholder("history");
    const prompt = ChatPromptTemplate.fromMessages([["system", "Be brief."], placeholder, ["human", "{input}"]]);
    const model = countingModel();
    const getMessageHistory = memory.getMessageHistory;
    const chain = new RunnableWithMessageHistory({
      runnable: prompt.pipe(model as never) as never,
      getMessageHistory,
      ...keys,
    });
    for (const input of ["q1", "q2"]) {
      await chain.invoke({ input } as never, config);
    }
    expect(texts(model.sent[1]!)).toEqual(["Be brief.", "q1", "a1", "q2"]);
    expect(await stored(memory)).toEqual(["q1", "a1", "q2", "a2"]);
  });

  it("honours a subclass that redacts what it appends", async () => {
    const options = { url: sharedRedisUrl(), redis: { keyPrefix: uniquePrefix() } };
    const opened: RedisChatMessageHistory[] = [];
    const chain = withPrompt(new ScriptedModel(() => "your card 4111"), (sessionId) => {
      const history = new RedactingHistory({ sessionId, ...options });
      opened.push(history);
      return history;
    });
    await chain.invoke({ input: "card 4111" }, config);
    expect(texts(await opened[0]!.getTranscript())).toEqual(["card ####", "your card ####"]);
    await Promise.all(opened.map((history) => history.close()));
  });
});

describe("what RunnableWithMessageHistory cannot do, and withRedisMemory can", () => {
  it("has no turnId: a retry runs on its own first try, and its second answer is stored too", async () => {
    const memory = newMemory();
    const model = countingModel();
    const chain = wrapped(model, memory.getMessageHistory);
    const retried = { configurable: { sessionId: "s", turnId: "job-1" } };
    for (let index = 0; index < 2; index += 1) {
      await chain.invoke([human("q1", "q1")], retried);
    }
    expect(texts(model.sent[1]!)).toEqual(["q1", "a1", "q1"]);
    expect(await stored(memory)).toEqual(["q1", "a1", "a2"]);
  });

  it("stores the question twice too where it has no id, as with every input that is a text", async () => {
    const memory = newMemory();
    const chain = withPrompt(countingModel(), memory.getMessageHistory);
    for (let index = 0; index < 2; index += 1) {
      await chain.invoke({ input: "q1" }, config);
    }
    expect(await stored(memory)).toEqual(["q1", "a1", "q1", "a2"]);
  });

  it("shows the model a whole history that a client sends behind the stored one, with ids or without", async () => {
    const memory = newMemory();
    const model = countingModel();
    const chain = wrapped(model, memory.getMessageHistory);
    const answer = await chain.invoke([human("q1", "q1")], config);
    await chain.invoke([human("q1", "q1"), answer, human("q2", "q2")], config);
    expect(texts(model.sent[1]!)).toEqual(["q1", "a1", "q1", "a1", "q2"]);
  });

  it("stores a whole history again that a client sends without ids", async () => {
    const memory = newMemory();
    const chain = wrapped(countingModel(), memory.getMessageHistory);
    await chain.invoke([human("q1")], config);
    await chain.invoke([human("q1"), ai("a1"), human("q2")], config);
    expect(await stored(memory)).toEqual(["q1", "a1", "q1", "a1", "q2", "a2"]);
  });

  it("stores nothing of a stream that is stopped, neither the question nor the part that was read", async () => {
    const memory = newMemory();
    const chain = withPrompt(new ScriptedModel(() => "one two three four"), memory.getMessageHistory);
    for await (const _ of await chain.stream({ input: "q1" }, config)) {
      break;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(await stored(memory)).toEqual([]);
  });

  it("stores nothing of a turn whose output is an object, and tells the caller nothing", async () => {
    const memory = newMemory();
    const silence = (["error", "warn"] as const).map((method) =>
      jest.spyOn(console, method).mockImplementation(() => undefined),
    );
    const runnable = RunnableLambda.from(() => ({ city: { name: "Oslo" } }));
    const output = await wrapped(runnable, memory.getMessageHistory).invoke([human("where?")], config);
    expect(output).toEqual({ city: { name: "Oslo" } });
    expect(await stored(memory)).toEqual([]);
    silence.forEach((spy) => spy.mockRestore());
  });

  it("repairs nothing: a stored greeting goes to a model as it is, whatever the memory's profile", async () => {
    const memory = newMemory({ profile: "anthropic" });
    await memory.history("s").addMessages([ai("Hello!")]);
    const model = countingModel();
    await wrapped(model, memory.getMessageHistory).invoke([human("q1")], config);
    expect(texts(model.sent[0]!)).toEqual(["Hello!", "q1"]);
  });

  it("stores a system message that comes with each input each time, in the middle of the conversation", async () => {
    const memory = newMemory();
    const model = countingModel();
    const chain = wrapped(model, memory.getMessageHistory);
    for (const question of ["q1", "q2"]) {
      await chain.invoke([system("Be brief."), human(question)], config);
    }
    expect(texts(model.sent[1]!)).toEqual(["Be brief.", "q1", "a1", "Be brief.", "q2"]);
    expect(await stored(memory)).toEqual(["Be brief.", "q1", "a1", "Be brief.", "q2", "a2"]);
  });
});
