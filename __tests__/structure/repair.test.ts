import { AIMessage, AIMessageChunk, HumanMessage, type ToolMessage } from "@langchain/core/messages";
import { builtInProfiles, type BuiltInProfile } from "../../src/conversation/structure/profiles/built-in-profiles.js";
import { repairConversation, validateConversation } from "../../src/conversation/structure/validate.js";
import type { StructureProfile } from "../../src/conversation/structure/profiles/profile.js";
import { ai, aiCalls, human, system, tool } from "../support/messages.js";
import { sketch } from "../support/sketch-message.js";

describe("repairConversation", () => {
  it("reports each change with rule, index of the input and what was done", () => {
    const messages = [human("q"), tool("x"), aiCalls("a"), human("q"), tool("a")];
    expect(repairConversation(messages).repairs).toEqual([
      { rule: "S07", index: 1, action: "removed", message: "Removed a tool result without a call." },
      { rule: "S09", index: 4, action: "moved", message: "Moved a tool result directly after its call." },
    ]);
  });

  it("accepts a message with very many calls like any other", () => {
    const ids = Array.from({ length: 130_000 }, (_, index) => `c${index}`);
    expect(
      repairConversation([human("q"), ai("", { calls: ids }), ...ids.map((id) => tool(id, "x"))], {
        profile: "strict-template",
      }).messages,
    ).toHaveLength(130_002);
  });

  it("never shows message text in a report", () => {
    const messages = [
      ai("secret"),
      tool("a", "secret"),
      ai("secret", { calls: ["a", "a"] }),
      system("secret"),
      human(" "),
      human("secret"),
    ];
    const { repairs } = repairConversation(messages, { profile: "bedrock" });
    expect(repairs.length).toBeGreaterThan(4);
    expect(JSON.stringify(repairs)).not.toContain("secret");
  });

  it("adds results that say that they are synthesized, with ids derived from the call's", () => {
    const [, , added] = repairConversation([human("q"), aiCalls("a"), human("q")]).messages as ToolMessage[];
    expect(added).toMatchObject({
      id: "synthesized-result-a",
      tool_call_id: "a",
      name: "lookup",
      status: "error",
      content: "No result: the call was interrupted, and whether it had an effect is unknown.",
      additional_kwargs: { synthesized: true },
    });
  });

  it("says of a call whose arguments could not be read that it was not run, and of no other", () => {
    const unknown = "No result: the call was interrupted, and whether it had an effect is unknown.";
    const unread = "No result: the arguments of the call could not be read, so it was not run.";
    const calls = (valid: readonly (string | undefined)[], invalid: readonly (string | undefined)[]) =>
      new AIMessage({
        content: "",
        tool_calls: valid.map((id) => ({ id, name: "pay", args: {}, type: "tool_call" })),
        invalid_tool_calls: invalid.map((id) => ({ id, name: "pay", args: '{"to', type: "invalid_tool_call" })),
      });
    const cases: [AIMessage, ...string[]][] = [
      [calls([], ["a"]), unread],
      [calls(["a"], ["b"]), unknown, unread],
      [calls([], [undefined]), unread],
      // Which of the two ran cannot be told.
      [calls(["a"], ["a"]), unknown, unknown],
    ];
    for (const profile of Object.keys(builtInProfiles) as BuiltInProfile[]) {
      for (const [asking, ...texts] of cases) {
        const { messages } = repairConversation([human("q"), asking, human("r")], { profile });
        const added = messages.filter((message) => message.getType() === "tool").map(({ text }) => text);
        expect([profile, added]).toEqual([profile, texts]);
      }
    }
  });

  it("gives synthesized results ids of their own if call ids are reused", () => {
    const messages = [human("q"), aiCalls("a"), human("q"), aiCalls("a"), human("q")];
    const ids = repairConversation(messages).messages.flatMap((message) =>
      message.getType() === "tool" ? [message.id] : [],
    );
    expect(ids).toEqual(["synthesized-result-a", "synthesized-result-a-2"]);
  });

  it("lets a made-up result that was stored give way to the real one", () => {
    const stored = repairConversation([human("q"), aiCalls("a"), human("r")]).messages;
    const late = tool("a", "the real one");
    const { messages, repairs } = repairConversation([...stored, late]);
    expect(messages.map(sketch)).toEqual(["human: q", "ai(a): ", "tool(a): the real one", "human: r"]);
    expect(messages[2]).toBe(late);
    expect(repairs.map(({ rule, index }) => `${rule}@${index}`)).toEqual(["S12@2", "S09@4"]);
  });

  it("keeps the class, the id and all other fields of a message that it changes", () => {
    const chunk = new AIMessageChunk({
      content: "hm",
      id: "m1",
      name: "bot",
      tool_call_chunks: [{ id: "x".repeat(50), name: "lookup", args: "{}", index: 0 }],
      response_metadata: { model_name: "m" },
      usage_metadata: { input_tokens: 1, output_tokens: 2, total_tokens: 3 },
    });
    const changed = repairConversation([human("q"), chunk, tool("x".repeat(50))], { profile: "openai" })
      .messages[1] as AIMessageChunk;
    expect(AIMessageChunk.isInstance(changed)).toBe(true);
    expect(changed.constructor).toBe(AIMessageChunk);
    expect(changed).toMatchObject({
      id: "m1",
      name: "bot",
      content: "hm",
      response_metadata: { model_name: "m" },
      usage_metadata: { total_tokens: 3 },
    });
    expect(changed.tool_calls?.[0]?.id).toHaveLength(24);
    expect(chunk.tool_calls?.[0]?.id).toHaveLength(50);
  });

  it("wraps unreadable arguments so that the model sees what it wrote", () => {
    const message = new AIMessage({
      content: "",
      invalid_tool_calls: [
        { id: "a", name: "lookup", args: '{"q": "tru' },
        { id: "b", name: "lookup", args: '{"q": 1}' },
        { id: "c", name: "lookup", args: "[1]" },
        { id: "d", name: "lookup", args: "" },
      ],
    });
    const [, changed] = repairConversation([human("q"), message, tool("a"), tool("b"), tool("c"), tool("d")])
      .messages as AIMessage[];
    expect(changed!.tool_calls?.map(({ args }) => args)).toEqual([
      { INVALID_JSON: '{"q": "tru' },
      { q: 1 },
      { value: [1] },
      {},
    ]);
    expect(changed!.invalid_tool_calls).toEqual([]);
  });

  it("keeps Claude's signed thoughts apart, each with the field that Anthropic asks for", () => {
    const block = (signature: string, thinking?: string) => ({ type: "thinking", thinking, signature });
    const calling = (...content: object[]) =>
      new AIMessage({
        content: [...content, { type: "tool_use", id: "c1", name: "lookup", input: {} }] as never,
        tool_calls: [{ id: "c1", name: "lookup", args: {} }],
        response_metadata: { model_provider: "anthropic" },
      });
    const { thinking: _, ...bare } = block("B");
    const given = [human("q"), calling(block("A", "a"), { type: "text", text: "" }, bare), tool("c1", "r")];
    const { messages } = repairConversation(given, { profile: "anthropic", purpose: "model-input" });
    const [first, gap, second] = messages[1]!.content as unknown as Record<string, unknown>[];
    expect([first, gap, second]).toEqual([block("A", "a"), { type: "text", text: "..." }, block("B", "")]);
    expect(validateConversation(messages, { profile: "anthropic", purpose: "model-input" })).toEqual([]);
  });

  it.each(["neutral", "gemini"] as const)("ends no turn of %s on an answer of which nothing is left", (profile) => {
    const options = { profile, purpose: "model-input", trailingMessages: "fill" } as const;
    const given = [new HumanMessage("Go."), new AIMessage({ content: [{ type: "thinking", thinking: "hm" }] })];
    expect(repairConversation(given, options).messages).toEqual([given[0]]);
  });

  it("ends, even for a profile that contradicts itself", () => {
    const profile: StructureProfile = {
      name: "odd",
      rules: { S15: "error", S27: "error" },
      blocks: { user: ["image_url"] },
    };
    expect(repairConversation([human("q")], { profile }).repairs.length).toBeGreaterThan(0);
  });
});

describe("call ids", () => {
  const idsFor = (profile: BuiltInProfile | StructureProfile, ...ids: string[]) => {
    const { messages } = repairConversation([human("q"), aiCalls(...ids), ...ids.map((id) => tool(id)), human("q")], {
      profile,
    });
    expect(validateConversation(messages, { profile }).filter(({ severity }) => severity === "error")).toEqual([]);
    return (messages[1] as AIMessage).tool_calls!.map(({ id }) => id);
  };

  it.each<[BuiltInProfile, RegExp]>([
    ["mistral", /^[a-zA-Z0-9]{9}$/],
    ["anthropic", /^[a-zA-Z0-9_-]{1,64}$/],
    ["bedrock", /^[a-zA-Z0-9_-]{1,64}$/],
    ["openai", /^.{1,40}$/],
  ])("have the form that %s wants, and stay different", (profile, form) => {
    const given = ["call_1|fc_1", "call_1|fc_2", "toolu_01", "x".repeat(100), "ä", "abcdefghi"];
    const ids = idsFor(profile, ...given);
    expect(new Set(ids).size).toBe(given.length);
    expect(ids.filter((id) => !form.test(id!))).toEqual([]);
    expect(ids.at(-1)).toBe("abcdefghi");
  });

  it("are the same for the same call in every conversation and process", () => {
    expect(idsFor("mistral", "call_1")).toEqual(["883dQyiwM"]);
    expect(idsFor("mistral", "call_0", "call_1")[1]).toBe("883dQyiwM");
  });

  it("get another new id if a call already has the first one", () => {
    const [made] = idsFor("mistral", "call_1");
    const both = idsFor("mistral", "call_1", made!);
    expect(both[1]).toBe(made);
    expect(both[0]).not.toBe(made);
  });

  it("are given to calls without one", () => {
    const message = new AIMessage({
      content: "",
      tool_calls: [
        { name: "lookup", args: {} },
        { name: "lookup", args: {} },
      ],
    });
    const results = [tool("", "1"), tool("", "2")];
    const { messages } = repairConversation([human("q"), message, ...results], { profile: "openai" });
    const [first, second] = (messages[1] as AIMessage).tool_calls!.map(({ id }) => id);
    expect(messages.slice(2).map(sketch)).toEqual([`tool(${first}): 1`, `tool(${second}): 2`]);
    expect(first).not.toBe(second);
  });

  it("that cannot all differ are rejected with an error, not retried forever", () => {
    const profile: StructureProfile = {
      name: "tiny",
      rules: { S13: "error" },
      callIds: { characters: "a", minLength: 1, maxLength: 1 },
    };
    expect(idsFor(profile, "b")).toEqual(["a"]);
    expect(() => idsFor(profile, "b", "c")).toThrow("too few ids");
  });
});
