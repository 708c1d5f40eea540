import type { BaseMessage } from "@langchain/core/messages";
import { builtInProfiles } from "../../src/conversation/structure/profiles/built-in-profiles.js";
import {
  repairConversation,
  assertConversation,
  validateConversation,
} from "../../src/conversation/structure/validate.js";
import type { StructurePurpose } from "../../src/conversation/structure/rules/rules.js";
import { ConfigurationError, StructureError } from "../../src/base/errors.js";
import { ai, aiCalls, human, system, tool } from "../support/messages.js";

/** Rule and index of each issue under the profile `langchain`, as `S07@2`. */
function issuesOf(messages: readonly BaseMessage[], purpose: StructurePurpose = "history"): string[] {
  return validateConversation(messages, { purpose }).map(
    ({ rule, index, severity }) => `${rule}@${index}${severity === "warning" ? "?" : ""}`,
  );
}

describe("the profile langchain finds", () => {
  it.each<[string, BaseMessage[], string[]]>([
    ["no message", [], ["S01@0"]],
    ["only system messages", [system("s"), system("t")], ["S01@1"]],
    ["an answer at the end", [human("q"), ai("a")], ["S05@1"]],
    ["an open call at the end", [human("q"), aiCalls("a")], ["S30@1"]],
    ["parallel calls at the end, one of them open", [human("q"), aiCalls("a", "b"), tool("b")], ["S30@1"]],
  ])("%s if a model is to answer", (_, messages, issues) => {
    expect(issuesOf(messages, "model-input")).toEqual(issues);
    expect(issuesOf(messages)).toEqual([]);
  });

  it("every issue of a conversation, in the order of the messages", () => {
    const messages = [tool("x"), human("q"), aiCalls("a"), system("s"), tool("y"), ai("a")];
    expect(issuesOf(messages, "model-input")).toEqual(["S02@0?", "S07@0", "S08@2", "S03@3", "S07@4", "S05@5"]);
  });
});

describe("an issue", () => {
  it("names the rule, the severity, the index and the message's id", () => {
    const [issue] = validateConversation([human("q"), ai("secret", { calls: ["a"], id: "m1" }), human("q")]);
    expect(issue).toEqual({
      rule: "S08",
      severity: "error",
      index: 1,
      messageId: "m1",
      message: 'The call "a" has no result.',
    });
  });

  it("never shows the text of a message, and only the beginning of a long id", () => {
    const id = "x".repeat(10_000);
    const issues = validateConversation([
      human("secret"),
      tool(id, "secret"),
      ai("secret", { calls: [id, id] }),
      system("secret"),
      human("secret"),
    ]);
    expect(issues.length).toBeGreaterThan(3);
    expect(issues.filter(({ message }) => message.includes("secret") || message.length > 200)).toEqual([]);
  });
});

describe("assertConversation", () => {
  it("throws a StructureError that holds the errors and not the warnings", () => {
    const broken = [ai("hello"), human("q"), tool("a"), tool("b")];
    const error = catchError(() => assertConversation(broken));
    expect(StructureError.isInstance(error)).toBe(true);
    expect((error as StructureError).issues.map(({ rule, index }) => `${rule}@${index}`)).toEqual(["S07@2", "S07@3"]);
    expect((error as StructureError).message).toContain("Message 2 breaks rule S07");
  });

  it("lets a conversation pass that has only warnings", () => {
    expect(() => assertConversation([ai("hello"), human("q")])).not.toThrow();
  });
});

describe("a custom profile", () => {
  it.each<[string, object, string]>([
    ["an unknown profile", { profile: "nobody" }, "profile"],
    ["a name that every object has", { profile: "constructor" }, "profile"],
    ["a profile without rules", { profile: { name: "mine" } }, "profile.rules"],
    ["a rule that does not exist", { profile: { name: "mine", rules: { S99: "error" } } }, "profile.rules.S99"],
    ["a severity that does not exist", { profile: { name: "mine", rules: { S07: "fatal" } } }, "profile.rules.S07"],
    ["an unknown key", { profile: { name: "mine", rules: {}, callIDs: {} } }, "profile.callIDs"],
    [
      "an unknown key inside",
      { profile: { name: "mine", rules: {}, callIds: { maxLenght: 9 } } },
      "profile.callIds.maxLenght",
    ],
    [
      "a speaker that does not exist",
      { profile: { name: "mine", rules: {}, blocks: { human: ["text"] } } },
      "profile.blocks.human",
    ],
    ["an unknown purpose", { purpose: "fun" }, "purpose"],
    ["hasTools that is not a boolean", { hasTools: "yes" }, "hasTools"],
    ["a misspelt option", { profle: "anthropic" }, "profle"],
    ["a misspelt option of a repair", { trailingMessage: "drop" }, "trailingMessage"],
  ])("is rejected by every function that takes one: %s", (_, options, option) => {
    for (const [owner, run] of Object.entries({ validateConversation, assertConversation, repairConversation })) {
      const error = catchError(() => run([], options));
      expect(ConfigurationError.isInstance(error) && error.option).toBe(option);
      expect((error as Error).message).toMatch(new RegExp(`^${owner}: `));
    }
  });

  it.each(Object.values(builtInProfiles))("can be a copy of a built-in profile: $name", (profile) => {
    expect(validateConversation([human("q")], { profile: { ...profile } })).toEqual([]);
  });
});

function catchError(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  throw new Error("nothing was thrown");
}
