import { type BaseMessage, ChatMessage } from "@langchain/core/messages";
import { StructureError } from "../../src/base/errors.js";
import { conversationGuard } from "../../src/conversation/reducers/conversation-guard.js";
import { ai, aiCalls, human, system, tool } from "../support/messages.js";
import { sketch } from "../support/sketch-message.js";

const broken = [human("q"), tool("a"), aiCalls("b"), human("q")];

describe("conversationGuard", () => {
  it("rejects messages with errors in mode throw", async () => {
    const run = conversationGuard({ mode: "throw" }).invoke(broken);
    await expect(run).rejects.toBeInstanceOf(StructureError);
  });

  it.each(["throw", "repair", "report"] as const)(
    "gives valid messages as they are, as a fresh array, in mode %s",
    async (mode) => {
      const messages = [human("q"), aiCalls("b"), tool("b")];
      const result = await conversationGuard({ mode, purpose: "model-input" }).invoke(messages);
      expect(result).not.toBe(messages);
      expect(result.every((message, index) => message === messages[index])).toBe(true);
    },
  );

  it("tells all issues and lets the messages pass in mode report", async () => {
    const told: string[] = [];
    const guard = conversationGuard({
      mode: "report",
      onIssues: (issues) => told.push(...issues.map(({ rule }) => rule)),
    });
    expect(await guard.invoke(broken)).toEqual(broken);
    expect(told).toEqual(["S07", "S08"]);
  });

  it("returns repaired messages in mode repair, and reports what was wrong and what was done", async () => {
    const issues: string[] = [];
    const repairs: string[] = [];
    const guard = conversationGuard({
      mode: "repair",
      purpose: "model-input",
      onIssues: (found) => issues.push(...found.map(({ rule, index }) => `${rule}@${index}`)),
      onRepairs: (made) => repairs.push(...made.map(({ rule, index, action }) => `${action} ${rule}@${index}`)),
    });
    expect((await guard.invoke(broken)).map(sketch)).toEqual([
      "human: q",
      "ai(b): ",
      expect.stringMatching(/^tool\(b\): No result/),
      "human: q",
    ]);
    expect(issues).toEqual(["S07@1", "S08@2"]);
    expect(repairs).toEqual(["removed S07@1", "added S08@2"]);
    expect(broken.map(sketch)).toEqual(["human: q", "tool(a): result of a", "ai(b): ", "human: q"]);
  });

  it("rejects in mode repair what only the application can fix", async () => {
    const guard = conversationGuard({ mode: "repair", purpose: "model-input" });
    await expect(guard.invoke([])).rejects.toThrow("S01");
    await expect(guard.invoke([human("q"), ai("a")])).rejects.toThrow("S05");
    const dropping = conversationGuard({ mode: "repair", purpose: "model-input", trailingMessages: "drop" });
    expect((await dropping.invoke([human("q"), ai("a")])).map(sketch)).toEqual(["human: q"]);
  });

  it("repairs for a model unless it is told otherwise", async () => {
    const open = [human("q"), aiCalls("b")];
    expect((await conversationGuard().invoke(open)).map(sketch)).toEqual([
      ...open.map(sketch),
      "tool(b): No result: the call was interrupted, and whether it had an effect is unknown.",
    ]);
    await expect(conversationGuard().invoke([human("q"), ai("a")])).rejects.toThrow("S05");
    expect(await conversationGuard({ purpose: "history" }).invoke([...open, human("q"), ai("a")])).toHaveLength(5);
  });

  it.each(["langchain", "openai", "anthropic", "google-genai"] as const)(
    "lets leadingMessages act where it is given, for %s",
    async (profile) => {
      const greeted = [ai("Hello!"), human("q")];
      const drop = { profile, leadingMessages: "drop" } as const;
      expect(await conversationGuard(drop).invoke(greeted)).toEqual(greeted.slice(1));
      const filled = await conversationGuard({ profile, leadingMessages: "fill" }).invoke(greeted);
      expect(filled.map((message) => message.getType())).toEqual(["human", "ai", "human"]);
      await expect(conversationGuard({ ...drop, mode: "throw" }).invoke(greeted)).rejects.toThrow("S02");
    },
  );

  it("leaves a greeting where the profile accepts it and nothing is said of leading messages", async () => {
    const greeted = [ai("Hello!"), human("q")];
    expect(await conversationGuard({ profile: "openai" }).invoke(greeted)).toEqual(greeted);
  });

  it("puts a message of the user behind an answer, a system message or an unknown role where it may fill", async () => {
    const guard = conversationGuard({ trailingMessages: "fill" });
    const typesOf = async (messages: BaseMessage[]) => (await guard.invoke(messages)).map((each) => each.getType());
    expect(await typesOf([human("q"), ai("a")])).toEqual(["human", "ai", "human"]);
    expect(await typesOf([system("s")])).toEqual(["system", "human"]);
    expect(await typesOf([human("q"), new ChatMessage({ content: "x", role: "critic" })])).toHaveLength(3);
    expect(await typesOf([human("q")])).toEqual(["human"]);
    expect(await typesOf([tool("a")])).toEqual(["human"]);
  });

  it("tells warnings too, before it throws", async () => {
    const told: string[] = [];
    const guard = conversationGuard({
      mode: "throw",
      profile: "mistral",
      onIssues: (issues) => told.push(...issues.map(({ rule }) => rule)),
    });
    await expect(guard.invoke([aiCalls("a"), human("q")])).rejects.toThrow("S08");
    expect(told).toEqual(expect.arrayContaining(["S02", "S08"]));
  });

  it("waits for its handlers, and handles a rejection like a throw", async () => {
    const lost = async () => Promise.reject(new Error("the log is down"));
    await expect(conversationGuard({ onRepairs: lost }).invoke([ai("Hello!"), human("hi")])).rejects.toThrow("the log");
    await expect(conversationGuard({ onIssues: lost }).invoke([ai("Hello!"), human("hi")])).rejects.toThrow("the log");
  });
});
