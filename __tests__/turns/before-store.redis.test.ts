import { AIMessage, HumanMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { createAgent, piiMiddleware } from "langchain";
import { RunnableLambda } from "@langchain/core/runnables";
import { HistoryManager } from "../../src/doors/tool-loop/history-manager.js";
import { redisMemoryMiddleware } from "../../src/doors/agent/middleware.js";
import { writeTurn } from "../../src/memory/session/append-input.js";
import { lookup, lookupCall, stepsModel, ToolModel } from "../support/agents.js";
import { events, newMemory, texts } from "../support/memories.js";
import { ai, human } from "../support/messages.js";
import { ScriptedModel } from "../support/scripted-model.js";
import { sharedRedisUrl, uniquePrefix, sharedClient } from "../support/shared-redis.js";
import {
  ChatHistorySummarizationReducer,
  withRedisMemory,
  type RedisChatMemory,
  RedisChatMessageHistory,
} from "../../src/entries/index.js";
import { redact } from "../../src/entries/structure.js";
import { nativeAnswers } from "../support/native-answers.js";
import { storedBytes } from "../support/stored-bytes.js";
import { all } from "../support/all.js";

const session = { configurable: { sessionId: "s" } };
const transcript = async (memory: RedisChatMemory) => texts(await memory.history("s").getTranscript());

/** Hides digits of texts and arguments, changes what it is given, forgets ids, and notes its calls. */
function redactor() {
  const calls: string[] = [];
  const beforeStore = async (message: BaseMessage): Promise<BaseMessage> => {
    calls.push(message.text);
    await Promise.resolve();
    const hide = (text: string) => text.replaceAll(/\d/g, "#");
    if (typeof message.content === "string") {
      message.content = hide(message.content);
    }
    if (AIMessage.isInstance(message)) {
      message.tool_calls?.forEach((call) => Object.assign(call.args, { query: hide(String(call.args["query"])) }));
    }
    message.id = "made up";
    return message;
  };
  return { calls, beforeStore };
}

describe("beforeStore decides what is stored", () => {
  it("by every method of a history, and changes no message of the caller", async () => {
    const { beforeStore } = redactor();
    const options = { url: sharedRedisUrl(), redis: { keyPrefix: uniquePrefix() }, sessionId: "s", beforeStore };
    await using history = new RedisChatMessageHistory(options);
    const call = lookupCall("card 4111");
    const given = [human("card 4111", "q"), call, new ToolMessage({ content: "4111", tool_call_id: "c", id: "t" })];
    const before = JSON.stringify(given);
    await history.addMessages(given);
    await history.addUserMessage("pin 1");
    await history.addAIMessage("pin 2");
    const stored = await history.getTranscript();
    expect(texts(stored)).toEqual(["card ####", "", "####", "pin #", "pin #"]);
    expect((stored[1] as AIMessage).tool_calls![0]!.args).toEqual({ query: "card ####" });
    expect(stored.slice(0, 3).map(({ id }) => id)).toEqual(["q", call.id, "t"]);
    expect(JSON.stringify(given)).toBe(before);
  });

  it("for messages without ids, which a resend adds no second time, and is called once for each", async () => {
    const { beforeStore, calls } = redactor();
    const memory = newMemory({ beforeStore });
    const messages = [human("q 1"), ai("a 1")];
    const history = memory.history("s");
    await history.append(messages);
    expect(await history.append(messages)).toMatchObject({ appended: 0, duplicates: 2 });
    expect(calls).toEqual(["q 1", "a 1"]);
    expect(await history.append([human("q 2"), ai("a 2")], { turnId: "t" })).toMatchObject({ appended: 2 });
    expect(await history.append([human("q 2"), ai("other")], { turnId: "t" })).toMatchObject({ repeated: true });
    expect((await history.getTranscript()).slice(2).map(({ id }) => id)).toEqual(["t-0", "t-1"]);
    const again = [human("card 4111", "id"), human("card 4111", "id")];
    await history.append([again[0]!]);
    expect(await history.append([again[1]!])).toMatchObject({ duplicates: 1 });
  });

  it("of what a message says now, where the caller changed its object", async () => {
    const memory = newMemory({ beforeStore: redactor().beforeStore });
    const message = human("one", "id");
    await memory.history("s").append([message]);
    message.content = "two";
    await expect(memory.history("s").append([message])).rejects.toMatchObject({
      ...{ code: "content", messageId: "id", retryable: false },
    });
  });

  it.each(["plain", "with ids"])("of a chain whose client sends its whole history, %s", async (kind) => {
    const memory = newMemory({ beforeStore: redactor().beforeStore });
    const chain = withRedisMemory(new ScriptedModel((sent) => `4111 for ${sent.at(-1)!.text}`), { memory });
    const client: BaseMessage[] = [];
    for (const name of ["Ann", "Bob", "Cem"]) {
      client.push(kind === "plain" ? human(`card 7 of ${name}`) : human(`card 7 of ${name}`, name));
      const { text, id } = await chain.invoke(client.map(clone), session);
      client.push(kind === "plain" ? ai(text) : ai(text, { id: id! }));
    }
    const stored = ["Ann", "Bob", "Cem"].flatMap((name) => [`card # of ${name}`, `#### for card # of ${name}`]);
    expect(await transcript(memory)).toEqual(stored);
    expect((await chain.invoke(client.slice(0, -1).map(clone), session)).text).toBe(stored.at(-1));
  });

  it.each(["turn", "step"] as const)(
    "of a question that another middleware changes too, whose retry is known (%s)",
    async (persist) => {
      const memory = newMemory({ beforeStore: redactor().beforeStore });
      const middleware = [redisMemoryMiddleware({ memory, persist }), piiMiddleware("email", { strategy: "redact" })];
      const agent = createAgent({ model: new ToolModel(() => "it is 1"), tools: [], middleware });
      const ask = (text: string) => agent.invoke({ messages: [human(text, "q")] }, session);
      await ask("card 4111, mail ann@example.com");
      const { messages } = await ask("card 4111, mail ann@example.com");
      expect(messages.at(-1)!.text).toBe("it is #");
      expect(await transcript(memory)).toEqual([expect.stringMatching(/^card ####, mail (?!ann)/), "it is #"]);
      await expect(ask("another question")).rejects.toMatchObject({ cause: { code: "content" } });
    },
  );

  it("of the summaries of an agent's loop", async () => {
    const summaries = new ToolModel(() => "they looked for 4111");
    const reducer = new ChatHistorySummarizationReducer({ model: summaries, targetCount: 4, thresholdCount: 2 });
    const memory = newMemory({ reducer, beforeStore: redactor().beforeStore });
    const agent = createAgent({
      ...{ model: stepsModel(8), tools: [lookup], middleware: [redisMemoryMiddleware({ memory })] },
    });
    await agent.invoke({ messages: [human("go 1")] }, { ...session, recursionLimit: 60 });
    const view = texts(await memory.history("s").getMessages()).join("\n");
    expect(view).toContain("they looked for ####");
    expect(view).not.toMatch(/\d\d/);
    expect(events.filter(({ type }) => type === "reduction_failed")).toEqual([]);
  });

  it("of a HistoryManager's turn, whose stored question is known by the turn's name", async () => {
    const memory = newMemory({ beforeStore: redactor().beforeStore });
    const [turnId, asked] = ["job-1", [human("card 4111")]];
    await writeTurn(memory.history("s"), asked, { turnId, turn: { done: false } });
    const manager = new HistoryManager({ history: memory.history("s"), maxInputTokens: 10_000 });
    const request = { originalUserMessage: "card 4111", renderedUserMessage: "rendered", renderedSystemMessage: "" };
    const { messages } = await manager.getHistoryForModelCall({ ...request, turnId });
    expect(texts(messages)).toEqual(["rendered"]);
    expect(texts(await manager.getUserVisibleHistory())).toEqual(["card ####"]);
    manager.addAssistantMessage(ai("done 1"));
    await manager.commit();
    await manager.getHistoryForModelCall({ ...request, originalUserMessage: "card 4112", renderedUserMessage: "r" });
    await manager.commit();
    expect(await transcript(memory)).toEqual(["card ####", "done #", "card ####"]);
  });
});

describe("beforeStore that refuses a message", () => {
  const refusing = (message: BaseMessage) => {
    if (message.text.includes("secret")) {
      throw new Error("no secrets");
    }
    return message;
  };

  it("refuses the whole turn with a typed error, and a later try is asked again", async () => {
    let isStrict = true;
    const memory = newMemory({ beforeStore: (message) => (isStrict ? refusing(message) : message) });
    const messages = [human("fine", "q"), ai("a secret", { id: "a" })];
    const refusal = await memory
      .history("s")
      .append(messages)
      .catch((error: unknown) => error);
    expect(refusal).toMatchObject({ name: "RecordError", code: "refused", cause: new Error("no secrets") });
    expect((refusal as Error).message).not.toContain("secret");
    expect(await transcript(memory)).toEqual([]);
    isStrict = false;
    expect(await memory.history("s").append(messages)).toMatchObject({ appended: 2 });
  });

  it("refuses the run of a chain and of an agent", async () => {
    const memory = newMemory({ beforeStore: refusing });
    const chain = withRedisMemory(new ScriptedModel(() => "a secret"), { memory });
    await expect(chain.invoke("q", session)).rejects.toMatchObject({ code: "refused" });
    const middleware = [redisMemoryMiddleware({ memory })];
    const agent = createAgent({ model: new ToolModel(() => "fine"), tools: [], middleware });
    await expect(agent.invoke({ messages: [human("my secret")] }, session)).rejects.toThrow(/beforeStore refused/);
    // What was said before is allowed, and stored before the model is called.
    expect(await transcript(memory)).toEqual(["q"]);
  });

  it("is asked of what a client holds too: a message that it refuses now is compared as it is", async () => {
    let isStrict = false;
    const memory = newMemory({ beforeStore: (message) => (isStrict ? refusing(message) : message) });
    await memory.history("s").append([human("my secret"), ai("ok")]);
    isStrict = true;
    const chain = withRedisMemory(new ScriptedModel(() => "fine"), { memory });
    await chain.invoke([human("my secret"), ai("ok"), human("q")], session);
    expect(await transcript(memory)).toEqual(["my secret", "ok", "q", "fine"]);
  });

  it("and one that returns no message is a ConfigurationError", async () => {
    const memory = newMemory({ beforeStore: (() => undefined) as never });
    await expect(memory.history("s").append([human("q")])).rejects.toMatchObject({ option: "beforeStore" });
    expect(() => newMemory({ beforeStore: "redact" as never })).toThrow(/beforeStore/);
  });
});

/** Another object with the same content, as a client's request brings it. */
function clone(message: BaseMessage): BaseMessage {
  const { id, content } = message;
  const fields = { content, ...(id !== undefined && { id }) } as never;
  return message.getType() === "human" ? new HumanMessage(fields) : new AIMessage(fields);
}

const client = sharedClient();

const marker = "4111-2222";
const said = {
  text: `Your card ${marker}.`,
  thought: `It is ${marker}.`,
  args: { q: marker, name: marker, id: marker, deep: { list: [marker], data: { type: marker } } },
};

describe.each(Object.entries(nativeAnswers))("what redact takes out of an answer of %s", (_, answer) => {
  const results = () =>
    ["call_1", "call_2"].map((id) => {
      return new ToolMessage({
        content: said.text,
        artifact: { data: { id: marker }, seen: new Set([marker]) },
        tool_call_id: id,
        name: "lookup",
      });
    });
  const turn = () => [new HumanMessage(said.text), answer(said), ...results(), new HumanMessage("And now?")];

  it("is in no byte of Redis, in no export and in no event", async () => {
    const keyPrefix = uniquePrefix();
    const memory = newMemory({ redis: { keyPrefix }, beforeStore: redact(marker), trackUsage: true });
    const history = memory.history("s", { owner: "ann", title: "Cards" });
    await history.addMessages(turn());
    await history.append(turn(), { turnId: "t" });
    const bytes = [...(await storedBytes(client, keyPrefix))].flat().join("\n");
    expect(bytes).toContain("[redacted]");
    expect(bytes).not.toContain(marker);
    const lines: string[] = await all(memory.sessions.export("s", { owner: "ann" }));
    expect(lines.join("\n")).toContain("[redacted]");
    expect(lines.join("\n")).not.toContain(marker);
    expect(JSON.stringify(events)).not.toContain(marker);
  });

  it("is in no request of a reduction, so in no trace of it", async () => {
    const summaries = new ToolModel(() => "A summary.");
    const reducer = new ChatHistorySummarizationReducer({ model: summaries, targetCount: 2 });
    const memory = newMemory({ beforeStore: redact(marker), reducer });
    const model = RunnableLambda.from(() => [answer(said), ...results(), new AIMessage(said.text)]);
    for (const question of [said.text, `And ${marker}?`]) {
      await withRedisMemory(model, { memory }).invoke(question, { configurable: { sessionId: "s" } });
    }
    expect(JSON.stringify(summaries.sent)).toContain("[redacted]");
    expect(JSON.stringify(summaries.sent)).not.toContain(marker);
  });
});
