import { ChatPromptTemplate, MessagesPlaceholder } from "@langchain/core/prompts";
import { StructureError } from "../../src/errors.js";
import { conversationGuard } from "../../src/reducers/conversation-guard.js";
import { aiCalls, human, tool } from "../support/messages.js";

const broken = [human("q"), tool("a"), aiCalls("b"), human("q")];

describe("conversationGuard", () => {
  it("refuses messages with errors in mode throw", async () => {
    const run = conversationGuard({ mode: "throw" }).invoke(broken);
    await expect(run).rejects.toBeInstanceOf(StructureError);
  });

  it.each(["throw", "report"] as const)("gives valid messages as they are, as a fresh array, in mode %s", async (mode) => {
    const messages = [human("q"), aiCalls("b"), tool("b")];
    const result = await conversationGuard({ mode, purpose: "model-input" }).invoke(messages);
    expect(result).not.toBe(messages);
    expect(result.every((message, index) => message === messages[index])).toBe(true);
  });

  it("tells all issues and lets the messages pass in mode report", async () => {
    const told: string[] = [];
    const guard = conversationGuard({ mode: "report", onIssues: (issues) => told.push(...issues.map(({ rule }) => rule)) });
    expect(await guard.invoke(broken)).toEqual(broken);
    expect(told).toEqual(["S07", "S08"]);
  });

  it("tells warnings too, before it throws", async () => {
    const told: string[] = [];
    const guard = conversationGuard({ mode: "throw", onIssues: (issues) => told.push(...issues.map(({ rule }) => rule)) });
    await expect(guard.invoke([aiCalls("a"), human("q")])).rejects.toThrow("S08");
    expect(told).toEqual(["S02", "S08"]);
  });

  it("takes what a prompt gives, message-likes, and an object with messages", async () => {
    const guard = conversationGuard({ mode: "throw", purpose: "model-input" });
    const prompt = ChatPromptTemplate.fromMessages([["system", "s"], new MessagesPlaceholder("history"), ["human", "{input}"]]);
    const fromPrompt = await prompt.pipe(guard).invoke({ history: [human("q")], input: "now" });
    expect(fromPrompt.map((message) => message.getType())).toEqual(["system", "human", "human"]);
    expect((await guard.invoke([["human", "hi"]])).map(({ content }) => content)).toEqual(["hi"]);
    expect((await guard.invoke({ messages: [{ role: "user", content: "hi" }] })).map(({ content }) => content)).toEqual(["hi"]);
  });

  it.each<[string, object]>([
    ["mode", {}],
    ["mode", { mode: "fix" }],
    ["profile", { mode: "throw", profile: "nobody" }],
    ["purpose", { mode: "throw", purpose: "fun" }],
    ["onIssues", { mode: "throw", onIssues: "log" }],
    ["onIssue", { mode: "throw", onIssue: () => undefined }],
  ])("refuses a bad option when it is made, naming %s", (option, options) => {
    expect(() => conversationGuard(options as never)).toThrow(expect.objectContaining({ option }) as Error);
  });
});
