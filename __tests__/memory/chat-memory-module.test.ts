import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { ChatPromptTemplate, MessagesPlaceholder } from "@langchain/core/prompts";
import { RunnableMap, RunnablePassthrough } from "@langchain/core/runnables";
import { ScriptedModel } from "../support/scripted-model.js";
import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { texts } from "../support/memories.js";
import { splitRounds } from "../../src/conversation/messages/rounds.js";
import { ChatMemoryModule, defaultTruncationNotice } from "../../src/memory/histories/chat-memory-module.js";
import { summary } from "../support/conversations.js";
import { human, system } from "../support/messages.js";

const notice = "Notice: Chat history truncated due to maximum context window. ";
const weather: BaseMessage[] = [
  new HumanMessage("What is the weather today?"),
  new AIMessage("Let me check the weather for you."),
  new AIMessage({ content: "It's sunny and 72°F.", name: "weather_agent" }),
  new HumanMessage("Should I bring an umbrella?"),
  new AIMessage("Based on the sunny weather, you won't need an umbrella today."),
  new HumanMessage("Thanks!"),
  new AIMessage("You're welcome! Have a great day!"),
];
const rounds = [
  "user: What is the weather today?\nassistant: Let me check the weather for you.\nweather_agent: It's sunny and 72°F.",
  "user: Should I bring an umbrella?\nassistant: Based on the sunny weather, you won't need an umbrella today.",
  "user: Thanks!\nassistant: You're welcome! Have a great day!",
];

const memoryWith = () => new RedisChatMemory({ store: new InMemorySessionStore() });

/** A history in which the messages of the page are stored. */
async function stored(messages: readonly BaseMessage[] = weather) {
  const history = memoryWith().history("s");
  await history.addMessages(messages);
  return history;
}

describe("AI Refinery's example of rounds", () => {
  it("is three rounds of 3, 2 and 2 messages, agents shown by name", async () => {
    const history = await stored();
    expect((await history.getRounds(9)).map(({ messages }) => messages.length)).toEqual([3, 2, 2]);
    expect(await new ChatMemoryModule({ history }).retrieve()).toBe(rounds.join("\n\n"));
  });

  it("retrieves three rounds unless told otherwise, by the object or at the retrieval", async () => {
    const history = await stored([new HumanMessage("zero"), new AIMessage("0"), ...weather]);
    expect(await new ChatMemoryModule({ history }).retrieve()).toBe(rounds.join("\n\n"));
    const two = new ChatMemoryModule({ history, nRounds: 2 });
    expect(await two.retrieve()).toBe(rounds.slice(1).join("\n\n"));
    expect(await two.retrieve({ nRounds: 1 })).toBe(rounds[2]);
    expect(await two.retrieve({ nRounds: 5 })).toBe(["user: zero\nassistant: 0", ...rounds].join("\n\n"));
  });

  it("shows what comes before the first question as a round of its own, and an empty history as no text", async () => {
    const greeted = await stored([new AIMessage("How can I help?"), ...weather.slice(5)]);
    expect(await new ChatMemoryModule({ history: greeted }).retrieve()).toBe(
      `assistant: How can I help?\n\n${rounds[2]}`,
    );
    const none = memoryWith().history("none");
    expect(await new ChatMemoryModule({ history: none }).retrieve()).toBe("");
    expect(await new ChatMemoryModule({ history: none, noHistoryMessage: "Nothing yet." }).retrieve()).toBe(
      "Nothing yet.",
    );
  });

  it("leaves calls and results of tools out, unless they are asked for", async () => {
    const history = await stored([
      new HumanMessage("Weather?"),
      new AIMessage({ content: "", tool_calls: [{ id: "1", name: "weather", args: {} }] }),
      new ToolMessage({ content: "72", tool_call_id: "1", name: "weather" }),
      new AIMessage("It's 72°F."),
    ]);
    expect(await new ChatMemoryModule({ history }).retrieve()).toBe("user: Weather?\nassistant: It's 72°F.");
    expect(await new ChatMemoryModule({ history, includeTools: true }).retrieve()).toContain("72\n");
  });
});

describe("AI Refinery's limit of characters", () => {
  it("is 10,000 unless told otherwise, counted in code points, notice included", async () => {
    const history = await stored([new HumanMessage("🌧".repeat(20_000))]);
    expect([...(await new ChatMemoryModule({ history }).retrieve())]).toHaveLength(10_000);
    expect([...(await new ChatMemoryModule({ history }).retrieve({ maxContext: 500 }))]).toHaveLength(500);
  });

  it("drops the oldest rounds first, then the oldest messages of the last round", async () => {
    const history = await stored();
    const module = new ChatMemoryModule({ history });
    expect(await module.retrieve({ maxContext: notice.length + rounds[2]!.length })).toBe(notice + rounds[2]!);
    const answer = "assistant: You're welcome! Have a great day!";
    expect(await module.retrieve({ maxContext: notice.length + answer.length })).toBe(notice + answer);
  });

  it("keeps the end of a single message of 2,000 characters within 1,000, behind the notice", async () => {
    const text = `The 2022 FIFA World Cup in Qatar ${"x".repeat(1_900)} a dramatic penalty shootout.`;
    const kept = await new ChatMemoryModule({ history: await stored([new HumanMessage(text)]) }).retrieve({
      maxContext: 1_000,
    });
    expect(kept).toHaveLength(1_000);
    expect(kept.startsWith(notice)).toBe(true);
    expect(kept.endsWith(text.slice(-900))).toBe(true);
  });
});

describe("AI Refinery's module in LangChain", () => {
  it("is a trimmer in a pipe, system messages first, also in a batch and with a config", async () => {
    const module = new ChatMemoryModule({ nRounds: 2, maxContext: 8_000, format: "messages" });
    const prompt = ChatPromptTemplate.fromMessages([["system", "Be brief."], new MessagesPlaceholder("messages")]);
    const model = new ScriptedModel(() => "fine");
    const chain = prompt
      .pipe(module)
      .pipe(model)
      .withConfig({ tags: ["rounds"] });
    const asked = { messages: [...weather, new HumanMessage("Bye!")] };
    await chain.invoke(asked);
    await chain.batch([asked]);
    for await (const chunk of await chain.stream(asked)) {
      expect(chunk.text).toBe("fine");
    }
    expect(model.sent).toHaveLength(3);
    for (const sent of model.sent) {
      expect(texts(sent)).toEqual(["Be brief.", "Thanks!", "You're welcome! Have a great day!", "Bye!"]);
    }
  });

  it("takes tuples and { messages }", async () => {
    const module = new ChatMemoryModule({ nRounds: 1 });
    expect(await module.invoke([["user", "hi"] as const, ["assistant", "hello"] as const])).toBe(
      "user: hi\nassistant: hello",
    );
    expect(await module.invoke({ messages: weather })).toBe(rounds[2]);
  });

  it("is a step of a map that reads the session of the run, and ignores the rest of the input", async () => {
    const memory = memoryWith();
    await memory.history("s").addMessages(weather);
    const module = new ChatMemoryModule({ memory, nRounds: 1 });
    const step = RunnablePassthrough.assign({ rounds: module });
    const wanted = { q: "three", rounds: rounds[2] };
    expect(await step.invoke({ q: "three" }, { configurable: { thread_id: "s" } })).toEqual(wanted);
    expect(await RunnableMap.from({ rounds: module }).invoke({ q: 1 }, { configurable: { sessionId: "s" } })).toEqual({
      rounds: rounds[2],
    });
  });
});

/** A source that gives the last rounds of a list, and remembers how many were asked for. */
function sourceOf(messages: readonly BaseMessage[]) {
  const asked: number[] = [];
  const getRounds = (count: number) => {
    asked.push(count);
    return Promise.resolve(splitRounds(messages).slice(-count));
  };
  return { getRounds, asked };
}

describe("ChatMemoryModule as text", () => {
  it("keeps the name of the one of several users whose message is cut at its front", async () => {
    const [bob, ema] = ["Bob", "Ema"].map((name) => new HumanMessage({ content: `${name} says one two three`, name }));
    const module = new ChatMemoryModule({ history: sourceOf([bob!, ema!]), truncationNotice: "Cut. " });
    expect(await module.retrieve({ maxContext: 20 })).toBe("Cut. Ema:  two three");
    expect(await module.retrieve({ maxContext: 14, truncationNotice: "A long notice. " })).toBe("Ema: two three");
    expect(await module.retrieve({ maxContext: 4 })).toBe("hree");
  });
});

describe("ChatMemoryModule in other formats", () => {
  it("returns JSON with roles, and with names if there are any", async () => {
    const json = await new ChatMemoryModule({ history: sourceOf(weather), nRounds: 3, format: "json" }).retrieve();
    expect(JSON.parse(json).slice(1, 4)).toEqual([
      { role: "assistant", content: "Let me check the weather for you." },
      { role: "assistant", name: "weather_agent", content: "It's sunny and 72°F." },
      { role: "user", content: "Should I bring an umbrella?" },
    ]);
  });

  it("keeps the serialized JSON within maxContext, the notice as its first element", async () => {
    const memory = new ChatMemoryModule({
      history: sourceOf([human('quotes " and \\ and\n'.repeat(20))]),
      format: "json",
    });
    for (let maxContext = 2; maxContext <= 500; maxContext += 1) {
      expect([...(await memory.retrieve({ maxContext }))].length).toBeLessThanOrEqual(maxContext);
    }
    const [notice, message] = JSON.parse(await memory.retrieve({ maxContext: 300 })) as {
      role: string;
      content: string;
    }[];
    expect(notice).toEqual({ role: "system", content: defaultTruncationNotice });
    expect('quotes " and \\ and\n'.repeat(20).endsWith(message!.content)).toBe(true);
  });
});

describe("ChatMemoryModule in an application", () => {
  it("takes one of history and memory at most", () => {
    const both = { history: sourceOf([]), memory: { history: () => sourceOf([]) } };
    expect(() => new ChatMemoryModule(both)).toThrow(expect.objectContaining({ option: "history" }));
  });
});

describe("ChatMemoryModule beside other steps of a chain", () => {
  const memory = { history: (sessionId: string) => sourceOf(sessionId === "ann" ? weather : []) };
  const session = { configurable: { sessionId: "ann" } };

  it("ignores the input of a chain, and takes options from what is nothing else", async () => {
    const recall = new ChatMemoryModule({ memory, nRounds: 1 });
    const inputs = ["a question", { q: "?" }, { question: "?", nRounds: 2 }, { messages: weather }, undefined, 7, null];
    for (const input of inputs) {
      expect(await recall.invoke(input, session)).toBe(rounds[2]);
    }
    expect(await recall.invoke({ nRounds: 2 }, session)).toBe(rounds.slice(1).join("\n\n"));
    expect(await recall.invoke({ sessionId: "bob" }, session)).toBe("");
    await expect(recall.invoke({ n_rounds: 2 }, session)).rejects.toThrow(/did you mean "?nRounds/);
    await expect(recall.invoke({ nRounds: 0 }, session)).rejects.toMatchObject({ option: "nRounds" });
  });
});

describe("ChatMemoryModule as a trimmer", () => {
  it("counts system messages and summaries neither as rounds nor for maxContext", async () => {
    const front = [system("s".repeat(200)), summary("what was before")];
    const trim = new ChatMemoryModule({ nRounds: 3, maxContext: 62 + rounds[2]!.length, format: "messages" });
    expect(await trim.invoke([...front, ...weather, human("Bye?")])).toEqual([...front, human("Bye?")]);
    const whole = [...front, ...weather.slice(5)];
    expect(await trim.invoke(whole)).toEqual(whole);
  });
});
