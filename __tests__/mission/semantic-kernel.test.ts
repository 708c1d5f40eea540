import { AIMessage, type BaseMessage, HumanMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { createAgent } from "langchain";
import { z } from "zod";
import { redisMemoryMiddleware } from "../../src/entries/agent.js";
import {
  ChatHistorySummarizationReducer,
  ChatHistoryTokenReducer,
  ChatHistoryTruncationReducer,
  type MemoryEvent,
  withRedisMemory,
} from "../../src/entries/index.js";
import { MessageHistory } from "../../src/entries/openai.js";
import { conversationGuard, validateConversation } from "../../src/entries/structure.js";
import { ScriptedModel } from "../support/scripted-model.js";
import { answering, inSession, kindsOf, memoryWith, perMessage, textsOf } from "../support/user-programs.js";

/*
 * Programs as users of Semantic Kernel write them, for each sentence of its pages on chat history.
 */
const librarian = "You are a librarian and expert on books about cities";
const cities = ["Seattle", "Dublin", "Amsterdam", "Paris", "London"];
const allergies = [
  {
    id: "0001",
    name: "User-get_user_allergies",
    arguments: { username: "laimonisdumins" },
    result: { allergies: ["peanuts", "gluten"] },
  },
  {
    id: "0002",
    name: "User-get_user_allergies",
    arguments: { username: "emavargova" },
    result: { allergies: ["dairy", "soy"] },
  },
];

describe("Semantic Kernel's chat history object", () => {
  it("stores messages of users, assistants, tools and the system by a method of each role", async () => {
    const history = memoryWith().history("s");
    await history.addSystemMessage("You are a helpful assistant.");
    await history.addUserMessage("What's available to order?");
    await history.addAssistantMessage("We have pizza, pasta, and salad available to order.");
    await history.addAIMessage("Anything else?");
    expect(kindsOf(await history.getMessages())).toEqual(["system", "human", "ai", "ai"]);
  });

  it("is a list under the hood: it is iterated over, has a length, and takes plain objects and lists", async () => {
    const history = memoryWith().history("s");
    await history.addMessage({ role: "system", content: "You are a helpful assistant." });
    await history.addMessages([new HumanMessage("What's available?"), ["assistant", "Pizza."]]);
    const found: string[] = [];
    for await (const message of history) {
      found.push(message.type);
    }
    expect(found).toEqual(["system", "human", "ai"]);
    expect((await history.stats()).messages).toBe(3);
  });

  it("is there in process, too, with a system text and a list to begin with", () => {
    expect(new MessageHistory("You are a helpful assistant.").at(0)).toMatchObject({ role: "system" });
    const history = new MessageHistory([
      { role: "user", content: "hi" },
      { role: "assistant", content: "hello" },
    ]);
    expect([history.length, history.at(-1)!.content, history.slice(0, 1).length]).toEqual([2, "hello", 1]);
  });

  it("shows a system text that a program adds at each start once, when it is cut", async () => {
    const memory = memoryWith({ reducer: new ChatHistoryTruncationReducer({ targetCount: 4 }) });
    const model = answering();
    const chat = withRedisMemory(model, { memory });
    for (let start = 0; start < 5; start += 1) {
      await memory.history("s").addSystemMessage("You are a helpful assistant.");
      await chat.invoke(`hi ${start}`, inSession);
    }
    expect(textsOf(model.sent.at(-1)!)).toEqual(["You are a helpful assistant.", "hi 3", "fine", "hi 4"]);
  });

  it("keeps author names and images of several users; a guard gives names their provider's form", async () => {
    const history = memoryWith().history("s");
    await history.addMessage(
      new HumanMessage({
        name: "Laimonis Dumins",
        content: [
          { type: "text", text: "What available on this menu" },
          { type: "image_url", image_url: { url: "https://example.com/menu.jpg" } },
        ],
      }),
    );
    await history.addMessage(new AIMessage({ name: "Restaurant Assistant", content: "We have pizza." }));
    await history.addMessage(new HumanMessage({ name: "Ema Vargova", content: "The first option, please." }));
    const stored = await history.getMessages();
    expect(stored.map(({ name }) => name)).toEqual(["Laimonis Dumins", "Restaurant Assistant", "Ema Vargova"]);
    expect(stored[0]!.content).toHaveLength(2);
    const sent = await conversationGuard({ profile: "openai" }).invoke(stored);
    expect(sent.map(({ name }) => name)).toEqual(["Laimonis_Dumins", "Restaurant_Assistant", "Ema_Vargova"]);
  });
});

describe("Semantic Kernel's simulated function calls", () => {
  it("are one turn of calls and results, each result a message of its own, and a question follows", async () => {
    const memory = memoryWith();
    const history = memory.history("s");
    await history.addSimulatedCalls(allergies);
    const stored = await history.getMessages();
    expect(kindsOf(stored)).toEqual(["ai", "tool", "tool"]);
    expect((stored[0] as AIMessage).tool_calls!.map(({ id, name }) => [id, name])).toEqual([
      ["0001", "User-get_user_allergies"],
      ["0002", "User-get_user_allergies"],
    ]);
    const model = answering();
    await withRedisMemory(model, { memory }).invoke("What can I eat?", inSession);
    const problems = validateConversation(model.sent[0]!, { profile: "openai", purpose: "model-input" });
    expect(problems.filter(({ severity }) => severity === "error")).toEqual([]);
    expect(textsOf(model.sent[0]!)).toContain('{"allergies":["dairy","soy"]}');
  });

  it("need the id of the call; a result of a call that nobody made is stored and never sent", async () => {
    const events: MemoryEvent[] = [];
    const memory = memoryWith({ onEvent: (event) => void events.push(event) });
    const history = memory.history("s");
    await expect(history.addMessage(new ToolMessage({ content: "x" } as ToolMessage))).rejects.toMatchObject({
      name: "RecordError",
    });
    await history.addMessages([new HumanMessage("q"), new ToolMessage({ content: "x", tool_call_id: "lost" })]);
    expect(kindsOf(await history.getTranscript())).toEqual(["human", "tool"]);
    expect(kindsOf(await history.getMessages())).toEqual(["human"]);
    expect(events.map(({ type }) => type)).toContain("tool_result_hidden");
  });

  it("name a plugin and its function with a dot, which a guard sends as the provider takes it", async () => {
    const history = memoryWith().history("s");
    await history.addSimulatedCalls([{ ...allergies[0]!, name: "User.get_user_allergies" }]);
    await history.addUserMessage("What can I eat?");
    const stored = await history.getMessages();
    expect((stored[0] as AIMessage).tool_calls![0]!.name).toBe("User.get_user_allergies");
    const sent = await conversationGuard({ profile: "openai" }).invoke(stored);
    expect((sent[0] as AIMessage).tool_calls![0]!.name).toBe("User_get_user_allergies");
  });
});

describe("Semantic Kernel's inspection of what function calling added", () => {
  it("finds calls, results and the answer behind the length from before, and prints them", async () => {
    const memory = memoryWith();
    const orderPizza = tool(() => "Ordered.", { name: "order_pizza", description: "orders", schema: z.object({}) });
    const model = new ScriptedModel((messages) =>
      messages.at(-1)!.type === "tool"
        ? "Your pizza is ordered."
        : new AIMessage({ content: "", tool_calls: [{ id: "c1", name: "order_pizza", args: {} }] }),
    );
    Object.assign(model, { bindTools: () => model });
    const agent = createAgent({ model, tools: [orderPizza], middleware: [redisMemoryMiddleware({ memory })] });
    const history = memory.history("s");
    const before = (await history.stats()).messages;
    await agent.invoke({ messages: [new HumanMessage("Please order me a pizza")] }, inSession);
    const added = await history.getTranscript({ from: before });
    expect(kindsOf(added)).toEqual(["human", "ai", "tool", "ai"]);
    expect((await history.getPage({ after: before })).items.map(({ message }) => message.type)).toEqual([
      "ai",
      "tool",
      "ai",
    ]);
    expect(added.at(-1)!.text).toBe("Your pizza is ordered.");
  });
});

describe("Semantic Kernel's reducers", () => {
  const question = (text: string) => new HumanMessage(text);

  it("reduce the sample's loop to the system text and the question, and return null otherwise", async () => {
    const reducer = new ChatHistoryTruncationReducer({ targetCount: 2 });
    const model = answering("Books.");
    let chatHistory: BaseMessage[] = [new SystemMessage(librarian)];
    expect(await reducer.reduce(chatHistory)).toBeNull();
    for (const city of cities) {
      chatHistory.push(question(`Recommend a list of books about ${city}`));
      chatHistory = (await reducer.reduce(chatHistory)) ?? chatHistory;
      chatHistory.push(await model.invoke(chatHistory));
    }
    expect(model.sent.map((messages) => kindsOf(messages))).toEqual(cities.map(() => ["system", "human"]));
  });

  it("reduce the same loop through a memory, question included", async () => {
    const memory = memoryWith({ reducer: new ChatHistoryTruncationReducer({ targetCount: 2 }) });
    const model = answering("Books.");
    await memory.history("s").addSystemMessage(librarian);
    const chat = withRedisMemory(model, { memory });
    for (const city of cities) {
      await chat.invoke(`Recommend a list of books about ${city}`, inSession);
    }
    expect(model.sent.map((messages) => kindsOf(messages))).toEqual(cities.map(() => ["system", "human"]));
    expect(await memory.history("s").getTranscript()).toHaveLength(11);
  });

  it("reduce by hand before each question, and say whether they did", async () => {
    const reducer = new ChatHistoryTruncationReducer({ targetCount: 2 });
    const history = memoryWith({ reducer, reduceWhen: "never" }).history("s");
    const changed: boolean[] = [];
    for (const city of cities) {
      changed.push((await history.reduceView()).changed);
      await history.addUserMessage(city);
      await history.addAssistantMessage("Books.");
    }
    expect(changed).toEqual([false, false, true, true, true]);
  });

  it("reduce at each addition by themselves, as auto_reduce does", async () => {
    const history = memoryWith({ reducer: new ChatHistoryTruncationReducer({ targetCount: 2 }) }).history("s");
    for (const city of cities) {
      await history.addMessages([question(city), new AIMessage("Books.")]);
      expect((await history.getMessages()).length).toBeLessThanOrEqual(2);
    }
  });

  it("stay within a limit of tokens, question included, and stop at a signal", async () => {
    const reducer = new ChatHistoryTokenReducer({ maxTokens: 4, tokenCounter: perMessage });
    const model = answering();
    const chat = withRedisMemory(model, { memory: memoryWith({ reducer }) });
    for (const city of cities) {
      await chat.invoke(city, inSession);
    }
    expect(Math.max(...model.sent.map(({ length }) => length))).toBeLessThanOrEqual(4);
    expect(textsOf(model.sent.at(-1)!)).toEqual(["Paris", "fine", "London"]);
    const summaries = new ChatHistorySummarizationReducer({ model, targetCount: 1 });
    const asked = cities.map((city) => question(city));
    await expect(summaries.reduce(asked, { signal: AbortSignal.abort() })).rejects.toThrow();
  });

  it("leave the total of tokens to the memory, and minimal data to its retention", async () => {
    const usageOf = (turns: number) => ({
      input_tokens: 10 * turns,
      output_tokens: 5 * turns,
      total_tokens: 15 * turns,
    });
    const model = new ScriptedModel(() => new AIMessage({ content: "Books.", usage_metadata: usageOf(1) }));
    const reducer = new ChatHistoryTruncationReducer({ targetCount: 2 });
    const memory = memoryWith({ reducer, retention: "discard", trackUsage: true });
    const chat = withRedisMemory(model, { memory });
    for (const city of cities) {
      await chat.invoke(city, inSession);
    }
    expect((await memory.sessions.get("s"))!.usage).toEqual({ unknown: usageOf(5) });
    expect((await memory.history("s").getTranscript()).length).toBeLessThanOrEqual(2);
  });
});

describe("Semantic Kernel's prompt of a history", () => {
  it("is written with the roles as tags, and read again", () => {
    const history = new MessageHistory("You are a helpful assistant.");
    history.addMessage("user", "Is <b> a tag?");
    history.addMessage("assistant", "It is.");
    const prompt = history.toPrompt();
    expect(prompt).toMatch(/<message role="user"[^>]*>Is &lt;b&gt; a tag\?<\/message>/);
    const read = MessageHistory.fromPrompt(prompt).toList();
    expect(read.map(({ role, content }) => [role, content])).toEqual(
      history.toList().map(({ role, content }) => [role, content]),
    );
  });
});
