import { AIMessage, HumanMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { builtInProfiles, type BuiltInProfile } from "../../src/conversation/structure/profiles/built-in-profiles.js";
import { repairConversation, validateConversation } from "../../src/conversation/structure/validate.js";
import type { StructureProfile } from "../../src/conversation/structure/profiles/profile.js";
import { ai, human, system } from "../support/messages.js";

const profiles = Object.keys(builtInProfiles) as BuiltInProfile[];

it("leaves the marks that a user sets for Bedrock's cache, and removes them for others", () => {
  const content = [{ type: "text", text: "a long document" }, { cachePoint: { type: "default" } }];
  const messages = [new HumanMessage({ content: content as never })];
  expect(repairConversation(messages, { profile: "bedrock" }).messages[0]).toBe(messages[0]);
  expect(repairConversation(messages, { profile: "openai" }).messages[0]!.content).toEqual(content.slice(0, 1));
});

/**
 * A conversation that every provider accepts: system, parallel calls, repeated steps, a picture, and a question at the
 * end.
 */
function acceptedEverywhere(): BaseMessage[] {
  const call = (...ids: string[]) =>
    new AIMessage({
      content: "",
      tool_calls: ids.map((id) => ({ type: "tool_call", id, name: "lookup", args: { q: id } })),
      additional_kwargs: {
        __gemini_function_call_thought_signatures__: Object.fromEntries(ids.map((id) => [id, "signed"])),
      },
    });
  const result = (id: string) => new ToolMessage({ content: "r", tool_call_id: id, name: "lookup" });
  const picture = new HumanMessage({
    content: [
      { type: "text", text: "and this?" },
      { type: "image_url", image_url: { url: "data:image/png;base64,AA==" } },
    ],
  });
  return [
    system("be kind"),
    human("q"),
    ai("hello"),
    human("look it up"),
    call("aaaaaaaa1", "aaaaaaaa2"),
    result("aaaaaaaa1"),
    result("aaaaaaaa2"),
    call("aaaaaaaa3"),
    result("aaaaaaaa3"),
    ai("done"),
    picture,
  ];
}

// ChatGoogle reads calls as blocks of its own only, which no other adapter takes.
const silent = profiles.filter((profile) => profile !== "google");

describe.each(silent)("the profile %s", (profile) => {
  it.each(["history", "model-input"] as const)(
    "is silent on a conversation that every provider accepts, as a %s",
    (purpose) => {
      expect(
        validateConversation(acceptedEverywhere(), { profile, purpose, hasTools: true, storesReasoning: false }),
      ).toEqual([]);
    },
  );

  it("also accepts the conversation cut after each tool result", () => {
    const whole = acceptedEverywhere();
    const ends = whole.flatMap((message, index) =>
      message.getType() === "tool" && whole[index + 1]?.getType() === "ai" ? [index + 1] : [],
    );
    expect(ends).toHaveLength(2);
    expect(
      ends.flatMap((end) => validateConversation(whole.slice(0, end), { profile, purpose: "model-input" })),
    ).toEqual([]);
  });
});

it.each(profiles)("the profile %s bears its name", (profile) => {
  expect(builtInProfiles[profile].name).toBe(profile);
});

describe("a custom profile, for a provider that the package does not know,", () => {
  it("repairs what it calls an error, and leaves what it calls a warning", () => {
    const profile: StructureProfile = { name: "mine", rules: { S07: "warning", S15: "error" } };
    const orphan = new ToolMessage({ content: "r", tool_call_id: "a" });
    const { messages, repairs } = repairConversation([orphan, human(" ")], { profile });
    expect(messages[0]).toBe(orphan);
    expect(repairs.map(({ rule, index }) => `${rule}@${index}`)).toEqual(["S15@1"]);
  });
});

describe("a reasoning item of OpenAI's", () => {
  const reasoned = (content: string) =>
    new AIMessage({ content, additional_kwargs: { reasoning: { id: "rs_1", type: "reasoning" } } } as never);

  it.each([
    ["is stored with the provider, and followed by a text", "a", true, []],
    ["is followed by nothing", "", true, ["S36"]],
    ["is not stored", "a", false, ["S36"]],
  ] as const)("goes back only with what follows it: it %s", (_, content, storesReasoning, rules) => {
    const options = { profile: "openai-responses", storesReasoning } as const;
    const messages = [human("q"), reasoned(content), human("q")];
    const found = validateConversation(messages, options).filter(({ rule }) => rule === "S36");
    expect(found.map(({ rule }) => rule)).toEqual(rules);
    const kwargs = repairConversation(messages, options).messages[1]!.additional_kwargs;
    expect("reasoning" in kwargs).toBe(rules.length === 0);
  });
});
