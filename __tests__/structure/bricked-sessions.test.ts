import {
  AIMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
  trimMessages,
  type BaseMessage,
} from "@langchain/core/messages";
import { ChatOpenAI } from "@langchain/openai";
import { repairConversation } from "../../src/conversation/structure/repair-conversation.js";
import { validateConversation } from "../../src/conversation/structure/validate.js";
import type { BuiltInProfile } from "../../src/conversation/structure/profiles/built-in-profiles.js";
import { startOpenAIServer, type OpenAIServer } from "../../testing/openai-server.js";
import { ai, aiCalls, human, system, tool } from "../support/messages.js";
import { refusalOf } from "../support/openai-wire.js";

/** Histories that users of other packages reported: every later request was refused until they wiped the session. */
const bricked: readonly [string, BaseMessage[]][] = [
  ["a process that died between a call and its result", [human("q"), aiCalls("a"), human("hello?")]],
  [
    "one of several parallel calls that never came back",
    [human("q"), aiCalls("a", "b", "c"), tool("a"), tool("c"), human("hello?")],
  ],
  [
    "a sanitizer that removed the calls and left their results",
    [human("q"), ai("let me see"), tool("a"), tool("b"), human("hello?")],
  ],
  ["a window that begins with a result", [tool("a"), ai("done"), human("hello?")]],
  ["a window that begins with a call", [aiCalls("a"), tool("a"), ai("done"), human("hello?")]],
  ["a compaction that kept the call and dropped the result", [system("summary"), aiCalls("a"), human("hello?")]],
  ["a resumed session whose last call was cancelled", [human("q"), aiCalls("a"), ai("(cancelled)"), human("hello?")]],
  [
    "a user who spoke while a tool ran",
    [human("q"), aiCalls("a"), human("still there?"), tool("a"), ai("done"), human("hello?")],
  ],
  [
    "a result that was stored twice after a retry",
    [human("q"), aiCalls("a"), tool("a"), tool("a"), ai("done"), human("hello?")],
  ],
  [
    "ids that are longer than forty characters after a change of provider",
    [human("q"), aiCalls("x".repeat(46)), tool("x".repeat(46)), human("hello?")],
  ],
  [
    "ids with a pipe after a change of provider",
    [human("q"), aiCalls("call_1|fc_1"), tool("call_1|fc_1"), human("hello?")],
  ],
  ["an answer of nothing that the service itself gave", [human("q"), ai(""), human("hello?")]],
  ["an answer of white space", [human("q"), ai(" \n"), human("hello?")]],
  ["an empty text block beside calls", [human("q"), blocks([{ type: "text", text: "" }]), tool("a"), human("hello?")]],
  [
    "thinking of another provider, and a call in its words",
    [human("q"), blocks([{ type: "thinking", thinking: "hm", signature: "s" }, toolUse()]), tool("a"), human("hello?")],
  ],
  ["text after a call", [human("q"), blocks([toolUse(), { type: "text", text: "t" }]), tool("a"), human("hello?")]],
  [
    "a summary put in as a system message",
    [system("s"), human("q"), ai("a"), new SystemMessage("summary"), human("hello?")],
  ],
  [
    "arguments cut off by the length limit",
    [
      human("q"),
      new AIMessage({ content: "", invalid_tool_calls: [{ id: "a", name: "lookup", args: '{"q' }] }),
      human("hello?"),
    ],
  ],
  [
    "an empty list of raw calls",
    [human("q"), new AIMessage({ content: "a", additional_kwargs: { tool_calls: [] } }), human("hello?")],
  ],
  ["an empty message of the user", [new HumanMessage({ content: [] }), ai("a"), human("hello?")]],
];

const profiles: readonly BuiltInProfile[] = [
  "langchain",
  "openai",
  "anthropic",
  "gemini",
  "mistral",
  "bedrock",
  "strict-template",
];

function blocks(content: object[]): AIMessage {
  return new AIMessage({ content, tool_calls: [{ type: "tool_call", id: "a", name: "lookup", args: {} }] } as never);
}

function toolUse(): object {
  return { type: "tool_use", id: "a", name: "lookup", input: {} };
}

describe("a session that other packages could no longer use", () => {
  let server: OpenAIServer;
  let model: ChatOpenAI;

  beforeAll(async () => {
    server = await startOpenAIServer({ reply: () => "here I am" });
    model = new ChatOpenAI({
      model: "gpt-4o-mini",
      apiKey: "none",
      maxRetries: 0,
      configuration: { baseURL: server.url },
    });
  });

  afterAll(() => server.close());

  it.each(bricked)("continues: %s", async (_, messages) => {
    const { messages: repaired } = repairConversation(messages, { profile: "openai", purpose: "model-input" });
    const answer = await model.invoke(repaired);
    const next = [...repaired, answer, human("and now?")];
    expect((await model.invoke(next)).content).toBe("here I am");
  });

  it.each(bricked)("is right for every provider: %s", (_, messages) => {
    for (const profile of profiles) {
      const options = { profile, purpose: "model-input" } as const;
      const { messages: repaired } = repairConversation(messages, options);
      expect(validateConversation(repaired, options).filter(({ severity }) => severity === "error")).toEqual([]);
      expect(repaired.at(-1)!.content).toContain("hello?");
    }
  });

  it("is rejected by the service before the repair if it breaks OpenAI's own rules", () => {
    const refused = bricked.filter(([, messages]) => refusalOf(messages) !== undefined).map(([title]) => title);
    expect(refused).toHaveLength(11);
  });
});

describe("the result of reducers that split steps", () => {
  const conversation = [
    system("s"),
    human("q"),
    aiCalls("a", "b"),
    tool("a"),
    tool("b"),
    aiCalls("c"),
    tool("c"),
    ai("done"),
    human("r"),
  ];

  it("is accepted after a repair: trimMessages at every size", async () => {
    const sizes = Array.from({ length: conversation.length }, (_, index) => index + 1);
    let split = 0;
    for (const maxTokens of sizes) {
      const trimmed = await trimMessages(conversation, {
        maxTokens,
        tokenCounter: (list) => list.length,
        strategy: "last",
        includeSystem: true,
      });
      split += validateConversation(trimmed).some(({ rule }) => rule === "S07") ? 1 : 0;
      const { messages } = repairConversation(trimmed, { profile: "openai", purpose: "model-input" });
      expect(refusalOf(messages)).toBeUndefined();
    }
    expect(split).toBeGreaterThan(0);
  });

  it("keeps a result whose message was rewritten without a name", () => {
    const rewritten = conversation.map((message) =>
      message.getType() === "tool"
        ? new ToolMessage({ content: "cut", tool_call_id: (message as ToolMessage).tool_call_id })
        : message,
    );
    const { messages } = repairConversation(rewritten, { profile: "mistral" });
    expect(messages.filter((message) => message.getType() === "tool").map(({ name }) => name)).toEqual([
      "lookup",
      "lookup",
      "lookup",
    ]);
  });
});
