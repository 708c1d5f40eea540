import {
  AIMessage,
  ChatMessage,
  FunctionMessage,
  HumanMessage,
  RemoveMessage,
  ToolMessage,
  type BaseMessage,
} from "@langchain/core/messages";
import { type Adapter, adapters } from "../../src/conversation/structure/adapters/adapter.js";
import { builtInProfiles, type BuiltInProfile } from "../../src/conversation/structure/profiles/built-in-profiles.js";
import { repairConversation, validateConversation } from "../../src/conversation/structure/validate.js";
import type { RepairOptions } from "../../src/conversation/structure/options.js";
import { ruleIds, structureRules, type StructureRule } from "../../src/conversation/structure/rules/rules.js";
import type { StructureProfile } from "../../src/conversation/structure/profiles/profile.js";
import { ai, aiCalls, human, system, tool } from "../support/messages.js";
import { sketch } from "../support/sketch-message.js";

const ofProviders = ["langchain", "openai", "anthropic", "gemini", "mistral", "bedrock", "strict-template"];
/** These, and every other profile that is no adapter's. */
const everywhere = [
  ...new Set([...ofProviders, ...Object.keys(builtInProfiles).filter((name) => !adapters.includes(name as Adapter))]),
] as BuiltInProfile[];

/**
 * A conversation that breaks one rule: where that is an error, where a warning (silence elsewhere), and what the repair
 * of that rule makes of it.
 */
interface Case {
  readonly rule: StructureRule;
  readonly breach: string;
  readonly messages: readonly BaseMessage[];
  readonly errorIn: readonly BuiltInProfile[];
  readonly warningIn?: readonly BuiltInProfile[];
  readonly options?: RepairOptions;
  readonly repaired: readonly string[];
}

const q = () => human("q");
const forModel = { purpose: "model-input" } as const;
const missingText = "No result: the call was interrupted, and whether it had an effect is unknown.";
const picture = { type: "image_url", image_url: { url: "https://example.com/a.png" } };
const long = "x".repeat(41);
const withBlocks = (blocks: object[], fields: object = {}) => new AIMessage({ content: blocks, ...fields } as never);
const said = (text: string) => ({ type: "text", text });
const hm = { type: "thinking", thinking: "hm" };
const used = (input: object = {}) => ({ type: "tool_use", id: "a", name: "lookup", input });
const lookup = (id: string, fields: object = {}) => ({ type: "tool_call", id, name: "lookup", args: {}, ...fields });
const except = (...without: BuiltInProfile[]) => everywhere.filter((profile) => !without.includes(profile));

const cases: readonly Case[] = [
  {
    ...{ rule: "S01", breach: "no message although a model is to answer", messages: [], errorIn: everywhere },
    ...{ options: forModel, repaired: [] },
  },
  {
    ...{ rule: "S01", breach: "only a system message although a model is to answer", messages: [system("s")] },
    ...{ errorIn: except("openai"), options: forModel, repaired: ["system: s"] },
  },
  {
    ...{ rule: "S02", breach: "a greeting", messages: [ai("hello"), q()] },
    ...{ errorIn: ["anthropic", "bedrock", "strict-template"], warningIn: ["langchain", "mistral"] },
    repaired: ["human: (The conversation begins with the assistant.)", "ai: hello", "human: q"],
  },
  {
    ...{ rule: "S02", breach: "a call at the beginning", messages: [aiCalls("a"), tool("a")] },
    ...{ errorIn: ["anthropic", "bedrock", "strict-template", "gemini"], warningIn: ["langchain", "mistral"] },
    ...{ options: { leadingMessages: "drop" }, repaired: [] },
  },
  {
    ...{ rule: "S03", breach: "a system message after others", messages: [system("s"), q(), system("t"), q()] },
    ...{ errorIn: except("openai"), repaired: ["system: s", "system: t", "human: q", "human: q"] },
  },
  {
    ...{ rule: "S04", breach: "two system messages", messages: [system("s"), system("t"), q()] },
    ...{ errorIn: ["anthropic", "gemini", "strict-template"], repaired: ["system: s\n\nt", "human: q"] },
  },
  {
    ...{ rule: "S05", breach: "an answer at the end", messages: [q(), ai("a")], errorIn: except("openai") },
    ...{ options: forModel, repaired: ["human: q", "ai: a"] },
  },
  {
    ...{ rule: "S05", breach: "an answer at the end, to be dropped", messages: [q(), ai("a"), ai("b")] },
    ...{ errorIn: except("openai"), options: { ...forModel, trailingMessages: "drop" }, repaired: ["human: q"] },
  },
  {
    ...{ rule: "S06", breach: "two questions in a row", messages: [human("q"), human("r"), ai("a")] },
    ...{ errorIn: ["gemini", "mistral", "bedrock", "strict-template"], repaired: ["human: q\n\nr", "ai: a"] },
  },
  {
    ...{ rule: "S06", breach: "an answer before a call" },
    messages: [q(), ai("let me see"), ai("wait", { calls: ["a"] }), tool("a", "r")],
    errorIn: ["gemini", "mistral", "bedrock", "strict-template"],
    repaired: ["human: q", "ai(a): let me see\n\nwait", "tool(a): r"],
  },
  {
    ...{ rule: "S07", breach: "a result without a call", messages: [q(), tool("a"), q()], errorIn: everywhere },
    repaired: ["human: q", "human: q"],
  },
  {
    ...{ rule: "S07", breach: "a result before its call", messages: [q(), tool("a"), aiCalls("a"), tool("a", "r")] },
    ...{ errorIn: everywhere, repaired: ["human: q", "ai(a): ", "tool(a): r"] },
  },
  {
    ...{ rule: "S08", breach: "an interrupted call", messages: [q(), aiCalls("a"), q()], errorIn: everywhere },
    repaired: ["human: q", "ai(a): ", `tool(a): ${missingText}`, "human: q"],
  },
  {
    ...{ rule: "S09", breach: "a late result", messages: [q(), aiCalls("a"), human("still there?"), tool("a", "r")] },
    ...{ errorIn: everywhere, repaired: ["human: q", "ai(a): ", "tool(a): r", "human: still there?"] },
  },
  {
    ...{ rule: "S09", breach: "interleaved steps" },
    ...{ messages: [q(), aiCalls("a"), aiCalls("b"), tool("b", "rb"), tool("a", "ra")], errorIn: everywhere },
    repaired: ["human: q", "ai(a): ", "tool(a): ra", "ai(b): ", "tool(b): rb"],
  },
  {
    ...{ rule: "S09", breach: "results in another order than their calls" },
    messages: [q(), aiCalls("a", "b"), tool("b", "rb"), tool("a", "ra")],
    errorIn: ["gemini", "mistral", "strict-template"],
    repaired: ["human: q", "ai(a, b): ", "tool(a): ra", "tool(b): rb"],
  },
  {
    ...{ rule: "S10", breach: "parallel calls answered in part" },
    ...{ messages: [q(), aiCalls("a", "b"), tool("b", "rb"), q()], errorIn: everywhere },
    repaired: ["human: q", "ai(a, b): ", "tool(b): rb", `tool(a): ${missingText}`, "human: q"],
  },
  {
    ...{ rule: "S11", breach: "two calls of one message with one id" },
    ...{ messages: [q(), aiCalls("a", "a"), tool("a", "1"), tool("a", "2")], errorIn: everywhere },
    repaired: ["human: q", "ai(a, a_2): ", "tool(a): 1", "tool(a_2): 2"],
  },
  {
    ...{ rule: "S11", breach: "an id that a later message uses again" },
    messages: [q(), aiCalls("a"), tool("a", "1"), aiCalls("a"), tool("a", "2")],
    ...{ errorIn: ["anthropic", "bedrock"], warningIn: except("anthropic", "bedrock") },
    repaired: ["human: q", "ai(a): ", "tool(a): 1", "ai(a_2): ", "tool(a_2): 2"],
  },
  {
    ...{ rule: "S12", breach: "a second result", messages: [q(), aiCalls("a"), tool("a", "1"), tool("a", "2")] },
    ...{ errorIn: everywhere, repaired: ["human: q", "ai(a): ", "tool(a): 1"] },
  },
  {
    ...{ rule: "S13", breach: "a call id that is too long", messages: [q(), aiCalls(long), tool(long, "r")] },
    errorIn: ["openai", "mistral"],
    repaired: ["human: q", "ai(9K8G4HVp3ku8TThu2U1D9Qdz): ", "tool(9K8G4HVp3ku8TThu2U1D9Qdz): r"],
  },
  {
    ...{ rule: "S13", breach: "the empty id of a call", messages: [q(), aiCalls(""), tool("", "1")] },
    errorIn: except("langchain", "strict-template"),
    repaired: ["human: q", "ai(BNIfd584bWmkion9P18ORpNy): ", "tool(BNIfd584bWmkion9P18ORpNy): 1"],
  },
  {
    ...{ rule: "S36", breach: "text after a call" },
    messages: [q(), withBlocks([used(), said("t")], { tool_calls: [lookup("a")] }), tool("a", "r")],
    errorIn: ["openai", "anthropic", "mistral", "bedrock", "strict-template"],
    repaired: ["human: q", "ai(a): t", "tool(a): r"],
  },
  {
    ...{ rule: "S15", breach: "a blank question", messages: [human(" \n")] },
    ...{ errorIn: ["anthropic", "gemini", "bedrock"], repaired: ["human: (empty message)"] },
  },
  {
    ...{ rule: "S15", breach: "an empty result", messages: [q(), aiCalls("a"), tool("a", "")] },
    ...{ errorIn: ["anthropic", "gemini", "bedrock"], repaired: ["human: q", "ai(a): ", "tool(a): (empty result)"] },
  },
  {
    ...{ rule: "S15", breach: "a blank text block beside others" },
    messages: [new HumanMessage({ content: [said(" "), said("t")] })],
    ...{ errorIn: ["anthropic", "gemini", "bedrock"], repaired: ["human: t"] },
  },
  {
    ...{ rule: "S15", breach: "an empty list as content", messages: [new HumanMessage({ content: [] })] },
    ...{ errorIn: ["openai", "anthropic", "gemini", "bedrock"], repaired: ["human: (empty message)"] },
  },
  {
    ...{ rule: "S15", breach: "blank text beside calls" },
    ...{ messages: [q(), ai("\n\n", { calls: ["a"] }), tool("a", "r")], errorIn: ["anthropic", "gemini", "bedrock"] },
    repaired: ["human: q", "ai(a): ", "tool(a): r"],
  },
  {
    ...{ rule: "S15", breach: "an empty system message", messages: [system(""), q()] },
    ...{ errorIn: ["anthropic", "gemini", "bedrock"], repaired: ["human: q"] },
  },
  {
    ...{ rule: "S16", breach: "an empty answer", messages: [q(), ai(""), q()], errorIn: except("langchain") },
    repaired: ["human: q", "human: q"],
  },
  {
    ...{ rule: "S36", breach: "an empty list of raw calls" },
    messages: [q(), new AIMessage({ content: "a", additional_kwargs: { tool_calls: [] } })],
    ...{ errorIn: except("langchain"), repaired: ["human: q", "ai: a"] },
  },
  {
    ...{ rule: "S19", breach: "unreadable arguments" },
    messages: [
      q(),
      new AIMessage({ content: "", invalid_tool_calls: [{ id: "a", name: "lookup", args: '{"q": "tru' }] }),
      tool("a", "r"),
    ],
    ...{ errorIn: everywhere, repaired: ["human: q", "ai(a): ", "tool(a): r"] },
  },
  {
    ...{ rule: "S20", breach: "a result without the tool's name" },
    messages: [q(), aiCalls("a"), new ToolMessage({ content: "r", tool_call_id: "a" })],
    ...{ errorIn: ["gemini", "mistral", "strict-template"], repaired: ["human: q", "ai(a): ", "tool(a): r"] },
  },
  {
    ...{ rule: "S20", breach: "a result under another name than that of its call" },
    messages: [q(), aiCalls("a"), new ToolMessage({ content: "r", tool_call_id: "a", name: "mcp__lookup" })],
    ...{ errorIn: ["gemini", "mistral", "strict-template"], repaired: ["human: q", "ai(a): ", "tool(a): r"] },
  },
  {
    ...{ rule: "S36", breach: "thinking without a signature" },
    messages: [q(), withBlocks([hm, said("a")])],
    ...{ errorIn: ["openai", "anthropic", "mistral", "bedrock", "strict-template"], repaired: ["human: q", "ai: a"] },
  },
  {
    ...{ rule: "S36", breach: "thinking of another provider" },
    messages: [
      q(),
      withBlocks([{ ...hm, signature: "s" }, said("a")], { response_metadata: { model_provider: "deepseek" } }),
    ],
    errorIn: ["openai", "anthropic", "gemini", "mistral", "bedrock", "strict-template"],
    repaired: ["human: q", "ai: a"],
  },
  {
    ...{ rule: "S36", breach: "thinking at the end of a message" },
    messages: [q(), withBlocks([said("a"), { ...hm, signature: "s" }])],
    ...{ errorIn: ["openai", "anthropic", "mistral", "bedrock", "strict-template"], repaired: ["human: q", "ai: a"] },
  },
  {
    ...{ rule: "S25", breach: "a question directly after a result" },
    ...{ messages: [q(), aiCalls("a"), tool("a", "r"), q()], errorIn: ["mistral", "bedrock"] },
    repaired: ["human: q", "ai(a): ", "tool(a): r", "ai: (no answer to the tool results)", "human: q"],
  },
  {
    ...{ rule: "S26", breach: "an odd name of a speaker" },
    messages: [new HumanMessage({ content: "q", name: "Zoë Q." })],
    ...{ errorIn: ["openai", "anthropic", "gemini", "mistral", "bedrock"], repaired: ["human: q"] },
  },
  {
    ...{ rule: "S26", breach: "a long name of a tool" },
    messages: [
      q(),
      new AIMessage({ content: "", tool_calls: [lookup("a", { name: "n".repeat(65) }) as never] }),
      tool("a", "r"),
    ],
    errorIn: ["openai", "anthropic", "gemini", "mistral", "bedrock"],
    repaired: ["human: q", "ai(a): ", "tool(a): r"],
  },
  {
    ...{ rule: "S36", breach: "a picture from the model" },
    messages: [q(), withBlocks([picture, said("a")])],
    errorIn: ["openai", "anthropic", "mistral", "bedrock", "strict-template"],
    repaired: ["human: q", "ai: (image left out)|a"],
  },
  {
    ...{ rule: "S27", breach: "a block of the user's that no provider knows" },
    messages: [new HumanMessage({ content: [{ type: "hologram" } as never, said("q")] })],
    ...{ errorIn: except("langchain"), repaired: ["human: q"] },
  },
  {
    ...{ rule: "S28", breach: "a call although no tools are declared" },
    ...{ messages: [q(), ai("hm", { calls: ["a"] }), tool("a", "r"), ai("done")], errorIn: ["anthropic", "bedrock"] },
    options: { hasTools: false },
    repaired: ["human: q", 'ai: hm\n[called lookup with {"query":"a"}]', "human: [result of lookup] r", "ai: done"],
  },
  {
    ...{ rule: "S36", breach: "a call that the content repeats" },
    messages: [q(), withBlocks([used()], { tool_calls: [lookup("a")] }), tool("a", "r")],
    errorIn: ["openai", "mistral", "bedrock", "strict-template"],
    repaired: ["human: q", "ai(a): ", "tool(a): r"],
  },
  {
    ...{ rule: "S30", breach: "an open call at the end although a model is to answer" },
    ...{ messages: [q(), aiCalls("a", "b"), tool("a", "r")], errorIn: everywhere, options: forModel },
    repaired: ["human: q", "ai(a, b): ", "tool(a): r", `tool(b): ${missingText}`],
  },
  {
    ...{ rule: "S31", breach: "a message of an unknown role" },
    ...{ messages: [q(), new ChatMessage({ content: "c", role: "critic" })], errorIn: except("langchain") },
    repaired: ["human: q", "human: c"],
  },
  {
    ...{ rule: "S31", breach: "a function message" },
    ...{ messages: [q(), new FunctionMessage({ content: "r", name: "lookup" })], errorIn: except("langchain") },
    repaired: ["human: q", "human: r"],
  },
  {
    ...{ rule: "S31", breach: "a generic message of a known role" },
    ...{ messages: [new ChatMessage({ content: "q", role: "user" })], errorIn: except("langchain") },
    repaired: ["human: q"],
  },
  {
    ...{ rule: "S31", breach: "an order to remove a message", messages: [q(), new RemoveMessage({ id: "m" })] },
    ...{ errorIn: except("langchain"), repaired: ["human: q"] },
  },
  {
    ...{ rule: "S36", breach: "other arguments in the content than in the call" },
    messages: [
      q(),
      withBlocks([used({ q: "old" })], { tool_calls: [lookup("a", { args: { q: "new" } })] }),
      tool("a", "r"),
    ],
    ...{ errorIn: except("langchain"), repaired: ["human: q", "ai(a): ", "tool(a): r"] },
  },
  {
    ...{ rule: "S36", breach: "reasoning without a signature, in standard content" },
    messages: [
      q(),
      withBlocks([{ type: "reasoning", reasoning: "hm" }, said("a")], { response_metadata: { output_version: "v1" } }),
    ],
    ...{ errorIn: ["openai", "anthropic", "mistral", "bedrock", "strict-template"], repaired: ["human: q", "ai: a"] },
  },
  {
    ...{ rule: "S36", breach: "reasoning of Bedrock without a signature" },
    messages: [q(), withBlocks([{ type: "reasoning_content", reasoningText: { text: "hm" } }, said("a")])],
    ...{ errorIn: ["openai", "anthropic", "mistral", "bedrock", "strict-template"], repaired: ["human: q", "ai: a"] },
  },
  {
    ...{ rule: "S37", breach: "half of a surrogate pair in a question", messages: [new HumanMessage("q \ud83d")] },
    ...{ errorIn: everywhere, repaired: ["human: q \ufffd"] },
  },
  {
    ...{ rule: "S37", breach: "half of a surrogate pair in a call and its result" },
    messages: [
      q(),
      new AIMessage({ content: "", tool_calls: [lookup("a", { args: { "\ud83d": 1, q: ["\udc00"] } }) as never] }),
      new ToolMessage({ content: [{ type: "text", text: "r\ud83d" }], tool_call_id: "a", name: "lookup" }),
    ],
    ...{ errorIn: everywhere, repaired: ["human: q", "ai(a): ", "tool(a): r\ufffd"] },
  },
  {
    ...{ rule: "S37", breach: "blocks of text without one, in a question and a result" },
    messages: [
      new HumanMessage({ content: [{ type: "text" } as never, said("q")] }),
      aiCalls("a"),
      new ToolMessage({ content: [{ type: "text", text: null } as never], tool_call_id: "a", name: "lookup" }),
    ],
    ...{ errorIn: everywhere, repaired: ["human: q", "ai(a): ", "tool(a): "] },
  },
];

/** The profile with this one rule, as strict as can be, so that nothing else is repaired. */
function only(rule: StructureRule, profile: BuiltInProfile): StructureProfile {
  return { ...builtInProfiles[profile], rules: { [rule]: "error" } };
}

describe.each(cases)("$rule: $breach", ({ rule, messages, errorIn, warningIn = [], options = {}, repaired }) => {
  it.each(everywhere)("is an error, a warning or fine for %s, as the profile says", (profile) => {
    // A choice for messages in front of the user's first makes rule S02 an error everywhere.
    const { leadingMessages: _, ...facts } = options;
    const found = validateConversation(messages, { ...facts, profile }).filter((issue) => issue.rule === rule);
    const expected = errorIn.includes(profile) ? ["error"] : warningIn.includes(profile) ? ["warning"] : [];
    expect([...new Set(found.map(({ severity }) => severity))]).toEqual(expected);
  });

  it("is repaired, reported, and then right", () => {
    const profile = only(rule, errorIn.find((name) => name !== "langchain") ?? warningIn[0]!);
    const result = repairConversation(messages, { ...options, profile });
    expect(result.messages.map(sketch)).toEqual(repaired);
    const isLeft = rule === "S01" || (rule === "S05" && options.trailingMessages !== "drop");
    const isReported = result.repairs.length > 0 && result.repairs.every((repair) => repair.rule === rule);
    expect(isReported).toBe(!isLeft);
    expect(validateConversation(result.messages, { ...options, profile }).length).toBe(isLeft ? 1 : 0);
  });
});

describe("the catalogue", () => {
  it("has a sentence for each rule, and each rule a case here", () => {
    const tested = new Set(cases.map(({ rule }) => rule));
    // Those that need a profile of one's own, a model or a whole request: see profiles.test.ts, model-rules.test.ts and
    // cache-marks.property.test.ts.
    const elsewhere = ["S32", "S33", "S38", "S39"];
    expect(ruleIds).toEqual(Object.keys(structureRules));
    expect(Object.keys(structureRules).filter((rule) => !tested.has(rule as StructureRule))).toEqual(elsewhere);
    expect(Object.values(structureRules).filter((sentence) => !/^[A-Z].*\.$/.test(sentence))).toEqual([]);
  });
});
