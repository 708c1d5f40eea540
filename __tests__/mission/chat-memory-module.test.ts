import { AIMessage, type BaseMessage, HumanMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";
import { ChatPromptTemplate, MessagesPlaceholder } from "@langchain/core/prompts";
import { RunnableMap, RunnablePassthrough } from "@langchain/core/runnables";
import { ChatHistoryRoundReducer, ChatMemoryModule } from "../../src/entries/index.js";
import { answering, inSession, kindsOf, memoryWith, textsOf } from "../support/user-programs.js";

/*
 * Programs as users of AI Refinery's ChatMemoryModule write them, for each sentence of its page.
 */
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

  it("takes positive integers by the names of the document only, and says which is wrong", async () => {
    const history = await stored();
    for (const nRounds of [0, -1, 1.5, "3", null, Number.NaN] as number[]) {
      expect(() => new ChatMemoryModule({ history, nRounds })).toThrow("nRounds");
      expect(() => new ChatMemoryModule({ history, maxContext: nRounds })).toThrow("maxContext");
      await expect(new ChatMemoryModule({ history }).retrieve({ nRounds })).rejects.toThrow("nRounds");
    }
    expect(() => new ChatMemoryModule({ history, n_rounds: 3 } as never)).toThrow('did you mean "nRounds"?');
    expect(() => new ChatMemoryModule({ history, max_context: 3 } as never)).toThrow('did you mean "maxContext"?');
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

  it("never cuts the label of who speaks in half", async () => {
    for (let maxContext = 90; maxContext < 140; maxContext += 1) {
      const module = new ChatMemoryModule({ nRounds: 3, maxContext });
      const text = await module.invoke([new HumanMessage("x".repeat(60)), new AIMessage("You are welcome!".repeat(3))]);
      expect(String(text)).not.toMatch(/\. (?:ssistant|sistant|istant|stant|tant|ant|nt|t|ser|er|r): /);
    }
  });
});

describe("AI Refinery's module in LangChain", () => {
  it("is a trimmer in a pipe, system messages first, also in a batch and with a config", async () => {
    const module = new ChatMemoryModule({ nRounds: 2, maxContext: 8_000, format: "messages" });
    const prompt = ChatPromptTemplate.fromMessages([["system", "Be brief."], new MessagesPlaceholder("messages")]);
    const model = answering();
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
      expect(textsOf(sent)).toEqual(["Be brief.", "Thanks!", "You're welcome! Have a great day!", "Bye!"]);
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
    expect(await RunnableMap.from({ rounds: module }).invoke({ q: 1 }, inSession)).toEqual({ rounds: rounds[2] });
  });

  it("keeps the last rounds as a reducer, too", async () => {
    const reducer = new ChatHistoryRoundReducer({ targetRounds: 2 });
    const kept = (await reducer.reduce([new SystemMessage("s"), ...weather]))!;
    expect(kindsOf(kept)).toEqual(["system", "human", "ai", "human", "ai"]);
    const history = memoryWith({ reducer }).history("s");
    await history.addMessages(weather);
    expect(await history.getMessages()).toHaveLength(4);
  });
});
