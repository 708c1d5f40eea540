import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { splitRounds } from "../../src/conversation/messages/rounds.js";
import { ChatMemoryModule, defaultTruncationNotice } from "../../src/memory/histories/chat-memory-module.js";
import { summary } from "../support/conversations.js";
import { ai, human, system } from "../support/messages.js";

/** A source that gives the last rounds of a list, and remembers how many were asked for. */
function sourceOf(messages: readonly BaseMessage[]) {
  const asked: number[] = [];
  const getRounds = (count: number) => {
    asked.push(count);
    return Promise.resolve(splitRounds(messages).slice(-count));
  };
  return { getRounds, asked };
}

const weather = [
  human("What is the weather today?"),
  ai("Let me check the weather for you."),
  new AIMessage({ content: "It's sunny and 72°F.", name: "weather_agent" }),
  human("Should I bring an umbrella?"),
  ai("Based on the sunny weather, you won't need an umbrella today."),
  human("Thanks!"),
  ai("You're welcome! Have a great day!"),
];

const last = "user: Thanks!\nassistant: You're welcome! Have a great day!";
const umbrella =
  "user: Should I bring an umbrella?\nassistant: Based on the sunny weather, you won't need an umbrella today.";

describe("ChatMemoryModule as text", () => {
  it("keeps the name of the one of several users whose message is cut at its front", async () => {
    const [bob, ema] = ["Bob", "Ema"].map((name) => new HumanMessage({ content: `${name} says one two three`, name }));
    const module = new ChatMemoryModule({ history: sourceOf([bob!, ema!]), truncationNotice: "Cut. " });
    expect(await module.retrieve({ maxContext: 20 })).toBe("Cut. Ema:  two three");
    expect(await module.retrieve({ maxContext: 14, truncationNotice: "A long notice. " })).toBe("Ema: two three");
    expect(await module.retrieve({ maxContext: 4 })).toBe("hree");
    for (let maxContext = 1; maxContext < 60; maxContext += 1) {
      expect((await module.retrieve({ maxContext })).length).toBeLessThanOrEqual(maxContext);
    }
  });

  it("counts code points and never splits a grapheme", async () => {
    const family = "👨‍👩‍👧‍👦";
    const memory = new ChatMemoryModule({
      history: sourceOf([human(`start ${family}${family}`)]),
      truncationNotice: "",
    });
    for (let maxContext = 1; maxContext <= 20; maxContext += 1) {
      const text = await memory.retrieve({ maxContext });
      expect([...text].length).toBeLessThanOrEqual(maxContext);
      const whole = [...text.matchAll(new RegExp(family, "gu"))].length;
      expect(text.replaceAll(family, "")).not.toMatch(/\p{Extended_Pictographic}|\u200d/u);
      expect(whole).toBe(maxContext >= 14 ? 2 : maxContext >= 7 ? 1 : 0);
    }
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
      const json = await memory.retrieve({ maxContext });
      expect([...json].length).toBeLessThanOrEqual(maxContext);
      const elements = JSON.parse(json) as { role: string; content: string }[];
      expect(elements.length).toBeLessThanOrEqual(2);
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
      expect(await recall.invoke(input, session)).toBe(last);
    }
    expect(await recall.invoke({ nRounds: 2 }, session)).toBe(`${umbrella}\n\n${last}`);
    expect(await recall.invoke({ sessionId: "bob" }, session)).toBe("");
    await expect(recall.invoke({ n_rounds: 2 }, session)).rejects.toThrow(/did you mean "?nRounds/);
    await expect(recall.invoke({ nRounds: 0 }, session)).rejects.toMatchObject({ option: "nRounds" });
  });
});

describe("ChatMemoryModule as a trimmer", () => {
  it("counts system messages and summaries neither as rounds nor for maxContext", async () => {
    const front = [system("s".repeat(200)), summary("what was before")];
    const trim = new ChatMemoryModule({ nRounds: 3, maxContext: 62 + last.length, format: "messages" });
    expect(await trim.invoke([...front, ...weather, human("Bye?")])).toEqual([...front, human("Bye?")]);
    const whole = [...front, ...weather.slice(5)];
    expect(await trim.invoke(whole)).toEqual(whole);
  });
});
