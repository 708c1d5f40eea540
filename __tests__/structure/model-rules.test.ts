import { ChatAnthropic } from "@langchain/anthropic";
import { AIMessage, type BaseMessage, HumanMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";
import fc from "fast-check";
import {
  builtInProfiles,
  profileOf,
  repairConversation,
  type RepairOptions,
  stampAnswer,
  toModel,
  validateConversation,
  walkLedger,
} from "../../src/entries/structure.js";
import { ai, aiCalls, human, tool } from "../support/messages.js";
import { forAll, forAllAsync } from "../support/property-runs.js";
import { sketch } from "../support/sketch-message.js";

const thought = (signature = "EqQB") => ({ type: "thinking", thinking: "hm", signature });
const calling = (id: string, ...blocks: object[]) =>
  new AIMessage({
    content: [...blocks, { type: "tool_use", id, name: "lookup", input: {} }] as never,
    tool_calls: [{ id, name: "lookup", args: {} }],
  });
const said = (text: string, signature?: string) =>
  new AIMessage({ content: [thought(signature), { type: "text", text }] as never });

const rulesIn = (messages: readonly BaseMessage[], options: RepairOptions) =>
  validateConversation(messages, options).map(({ rule, index }) => `${rule}@${index}`);

const bySteps = { ...builtInProfiles.anthropic, rules: { S33: "error" } } as const;

/** A conversation as its model gave it: each answer with a thought that is bound to what stood before it. */
function bound(turns: number, parts: { readonly system?: string } = {}): BaseMessage[] {
  const messages: BaseMessage[] = [];
  for (let turn = 0; turn < turns; turn += 1) {
    messages.push(new HumanMessage({ content: `q${turn}`, id: `q${turn}` }));
    messages.push(stampAnswer(said(`a${turn}`, `Sig${turn}`), walkLedger(messages, parts).prefix));
  }
  return [...messages, new HumanMessage({ content: "And now?", id: "now" })];
}

describe("S32, thoughts behind what they were made to,", () => {
  const claude = (model: string) => new ChatAnthropic({ model, apiKey: "none" });
  const opus = claude("claude-opus-5-5");
  const repairsOf = async (messages: BaseMessage[], options: object = {}) =>
    (await toModel(messages, { model: opus, ...options })).repairs.map(({ rule, index }) => `${rule}@${index}`);

  it.each<[string, BaseMessage[], object, string[]]>([
    ["is kept by an untouched conversation", bound(2), {}, []],
    ["is broken behind a message that went", bound(2).slice(2), {}, ["S32@1"]],
    ["is broken behind another system prompt", bound(1, { system: "Be brief." }), { system: "Be kind." }, ["S32@1"]],
    ["is broken by other tools", bound(1), { tools: [{ name: "lookup" }] }, ["S32@1"]],
    ["passes for a model that binds none", bound(2).slice(2), { model: claude("claude-opus-4-8") }, []],
  ])("%s", async (_, messages, options, expected) => {
    expect(await repairsOf(messages, options)).toEqual(expected);
  });

  it("holds after any cut, edit or late system message, and a second time nothing changes", async () => {
    const change = fc.record({
      kind: fc.constantFrom("cut", "edit", "system"),
      at: fc.nat(8),
      turns: fc.integer({ min: 1, max: 4 }),
    });
    await forAllAsync(200, change, async ({ kind, at, turns }) => {
      const whole = bound(turns);
      const place = at % whole.length;
      const given =
        kind === "cut"
          ? whole.slice(place)
          : kind === "edit"
            ? whole.map((message, index) => (index === place ? new HumanMessage("Changed") : message))
            : [...whole.slice(0, place), new SystemMessage("Be kind."), ...whole.slice(place)];
      const { messages } = await toModel(given, { model: opus });
      expect(await repairsOf(messages)).toEqual([]);
    });
  });
});

describe("S33, the first thought of a turn,", () => {
  const forModel = { profile: bySteps, purpose: "model-input" } as const;

  it.each<[string, BaseMessage[], string[]]>([
    ["is there", [human("q"), calling("a", thought()), tool("a")], []],
    ["lacks, as behind a cut inside of the turn", [human("q"), aiCalls("a"), tool("a")], ["S33@1"]],
    ["stands behind a text", [human("q"), calling("a", { type: "text", text: "t" }, thought()), tool("a")], ["S33@1"]],
    ["lacks in an older turn", [human("q"), aiCalls("a"), tool("a"), ai("x"), human("r")], []],
    ["lacks in an answer without calls", [human("q"), ai("a"), human("r"), ai("b")], []],
  ])("%s", (_, messages, expected) => {
    expect(rulesIn(messages, forModel)).toEqual(expected);
    expect(rulesIn(messages, { profile: bySteps })).toEqual([]);
  });

  it("keeps the pictures of a result that is told as text", () => {
    const picture = { type: "image_url", image_url: { url: "https://example.com/a.png" } };
    const result = new ToolMessage({ content: [picture], tool_call_id: "a", name: "lookup" });
    const { messages } = repairConversation(
      [human("q"), aiCalls("a"), result, calling("b", thought()), tool("b")],
      forModel,
    );
    expect(messages[2]!.content).toEqual([{ type: "text", text: "[result of lookup]" }, picture]);
  });

  it("is repaired by telling the steps before the first thought as text", () => {
    const given = [human("q"), aiCalls("a"), tool("a"), calling("b", thought()), tool("b")];
    const { messages, repairs } = repairConversation(given, forModel);
    const folded = ["human: q", 'ai: [called lookup with {"query":"a"}]', "human: [result of lookup] result of a"];
    expect(messages.map(sketch)).toEqual([...folded, "ai(b): <thinking>|<tool_use>", "tool(b): result of b"]);
    expect(repairs.map(({ rule, index }) => [rule, index])).toEqual([
      ["S33", 1],
      ["S33", 2],
    ]);
    expect(repairConversation(messages, forModel).repairs).toEqual([]);
  });

  it("holds after a repair, whichever steps of a turn think, and a second repair changes nothing", () => {
    const step = fc.record({ thinks: fc.boolean(), says: fc.boolean(), calls: fc.nat(2) });
    const turns = fc.array(fc.array(step, { maxLength: 4 }), { minLength: 1, maxLength: 3 });
    const strict = {
      ...builtInProfiles.anthropic,
      rules: { ...builtInProfiles.anthropic.rules, S33: "error" },
    } as const;
    const options = { profile: strict, purpose: "model-input", trailingMessages: "drop" } as const;
    forAll(200, turns, (given) => {
      const messages = given.flatMap((steps, turn) => [
        human(`q${turn}`),
        ...steps.flatMap(({ thinks, says, calls }, at) => {
          const ids = Array.from({ length: calls }, (_, place) => `c${turn}_${at}_${place}`);
          const blocks = [
            ...(thinks ? [thought()] : []),
            ...(says || calls === 0 ? [{ type: "text", text: "t" }] : []),
            ...ids.map((id) => ({ type: "tool_use", id, name: "lookup", input: {} })),
          ];
          const fields = { content: blocks, tool_calls: ids.map((id) => ({ id, name: "lookup", args: {} })) };
          return [new AIMessage(fields as never), ...ids.map((id) => tool(id))];
        }),
      ]);
      const once = repairConversation(messages, options).messages;
      expect(rulesIn(once, options)).toEqual([]);
      expect(repairConversation(once, options).repairs).toEqual([]);
    });
  });
});

describe("what only a model's name tells", () => {
  const claude = (model: string, fields: object = {}) => new ChatAnthropic({ model, apiKey: "none", ...fields });
  const byHand = { thinking: { type: "enabled", budget_tokens: 1024 } };

  it.each<[string, object, string | undefined]>([
    ["claude-sonnet-4-5", {}, undefined],
    ["claude-sonnet-4-5", byHand, "error"],
    ["claude-opus-5-5", byHand, undefined],
  ])("of %s with %j is in its profile", async (name, fields, expected) => {
    const { profile } = await profileOf(claude(name, fields));
    expect(profile.rules.S33).toBe(expected);
    expect((await profileOf(claude(name, fields))).profile).toEqual(profile);
  });
});
