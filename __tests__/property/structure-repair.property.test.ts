import type { BaseMessage } from "@langchain/core/messages";
import fc from "fast-check";
import type { RepairOptions } from "../../src/conversation/structure/options.js";
import { type BuiltInProfile, builtInProfiles } from "../../src/conversation/structure/profiles/built-in-profiles.js";
import type { StructureProfile } from "../../src/conversation/structure/profiles/profile.js";
import { repairConversation, validateConversation } from "../../src/conversation/structure/validate.js";
import { brokenConversation, wordsOf } from "../support/broken-conversations.js";
import { anyConversation, orderlyConversation } from "../support/conversations.js";
import { anyMessage } from "../support/message-arbitraries.js";
import { refusalOf } from "../support/openai-wire.js";
import { forAll } from "../support/property-runs.js";

const profiles = Object.keys(builtInProfiles) as BuiltInProfile[];

/** For a model of Claude's with thinking enabled by hand. */
const thinking: StructureProfile = {
  ...builtInProfiles.anthropic,
  rules: { ...builtInProfiles.anthropic.rules, S33: "error" },
};

const anyOptions: fc.Arbitrary<RepairOptions> = fc.record(
  {
    profile: fc.constantFrom(...profiles, thinking),
    purpose: fc.constantFrom("history", "model-input"),
    hasTools: fc.boolean(),
    storesReasoning: fc.boolean(),
    tools: fc.constantFrom([], [{ name: "lookup" }]),
    model: fc.constantFrom("claude-sonnet-4-5", "claude-opus-5-5", "gemini-3-pro"),
    leadingMessages: fc.constantFrom("fill", "drop"),
    trailingMessages: fc.constantFrom("keep", "drop", "fill"),
  },
  { requiredKeys: ["profile"] },
);

/** Errors that a repair leaves to the application: nothing to answer, and the model's own message at the end. */
function leftOver(messages: readonly BaseMessage[], options: RepairOptions): string[] {
  const mayStay = { keep: ["S01", "S05"], drop: ["S01"], fill: ["S01"] }[options.trailingMessages ?? "keep"];
  return validateConversation(messages, options)
    .filter(({ severity, rule }) => severity === "error" && !mayStay.includes(rule))
    .map(({ rule, index, message }) => `${rule}@${index} ${message}`);
}

describe("repairConversation, for every profile and with every choice,", () => {
  const withOptions = (messages: fc.Arbitrary<BaseMessage[]>) => fc.tuple(messages, anyOptions);

  it("leaves no errors except those that only the application can fix", () =>
    forAll(160, withOptions(brokenConversation()), ([messages, options]) => {
      expect(leftOver(repairConversation(messages, options).messages, options)).toEqual([]);
    }));

  it("leaves no error in messages of any kind", () =>
    forAll(160, withOptions(fc.array(anyMessage(), { maxLength: 12 })), ([messages, options]) => {
      expect(leftOver(repairConversation(messages, options).messages, options)).toEqual([]);
    }));

  it("changes nothing the second time", () => {
    const anyList = fc.oneof(brokenConversation(), fc.array(anyMessage(), { maxLength: 12 }));
    forAll(160, withOptions(anyList), ([messages, options]) => {
      const once = repairConversation(messages, options).messages;
      const twice = repairConversation(once, options);
      expect(twice.repairs).toEqual([]);
      expect(areSame(twice.messages, once)).toBe(true);
    });
  });

  it("is deterministic and does not change its input", () =>
    forAll(60, withOptions(brokenConversation()), ([messages, options]) => {
      const before = JSON.stringify(messages);
      const first = repairConversation(messages, options);
      expect(JSON.stringify(messages)).toBe(before);
      expect(JSON.stringify(repairConversation(messages, options))).toBe(JSON.stringify(first));
    }));

  it("returns the same objects for a conversation without errors", () =>
    forAll(
      160,
      withOptions(fc.oneof(brokenConversation({ maxLength: 4 }), orderlyConversation())),
      ([messages, options]) => {
        const isValid = validateConversation(messages, options).every(({ severity }) => severity !== "error");
        const { messages: repaired, repairs } = repairConversation(messages, options);
        if (isValid) {
          expect(repairs).toEqual([]);
          expect(areSame(repaired, messages)).toBe(true);
        } else {
          const onlyLeftOver = leftOver(messages, options).length === 0;
          expect(repairs.length > 0 || onlyLeftOver).toBe(true);
        }
      },
    ));

  it("loses no text without a report at its message", () =>
    forAll(160, withOptions(brokenConversation()), ([messages, options]) => {
      const { messages: repaired, repairs } = repairConversation(messages, options);
      const kept = new Set(repaired.flatMap(wordsOf));
      const told = new Set(
        repairs.filter(({ action }) => action === "removed" || action === "changed").map(({ index }) => index),
      );
      const lost = messages.flatMap((message, index) =>
        wordsOf(message).every((word) => kept.has(word)) || told.has(index) ? [] : [index],
      );
      expect(lost).toEqual([]);
    }));

  it("keeps every message that it does not report as the same object", () =>
    forAll(60, withOptions(brokenConversation()), ([messages, options]) => {
      const { messages: repaired, repairs } = repairConversation(messages, options);
      const present = new Set(repaired);
      const told = new Set(repairs.map(({ index }) => index));
      const silent = messages.flatMap((message, index) => (present.has(message) || told.has(index) ? [] : [index]));
      // The message that others are merged into, and results of a call that got another id, are reported at those
      // others.
      const reportedElsewhere = repairs.some(
        ({ action, rule }) => action === "merged" || rule === "S11" || rule === "S13",
      );
      expect(reportedElsewhere ? [] : silent).toEqual([]);
    }));
});

function areSame(some: readonly BaseMessage[], others: readonly BaseMessage[]): boolean {
  return some.length === others.length && some.every((message, index) => message === others[index]);
}

const options = { profile: "openai", purpose: "model-input" } as const;

describe("a conversation that passes the profile openai", () => {
  it("is accepted by the service after the repair of any conversation", () =>
    forAll(200, brokenConversation(), (messages) => {
      const { messages: repaired } = repairConversation(messages, options);
      expect(repaired.length === 0 ? undefined : refusalOf(repaired)).toBeUndefined();
    }));

  it("is accepted by the service without a repair", () =>
    forAll(600, fc.oneof(brokenConversation({ maxLength: 3 }), anyConversation({ maxLength: 6 })), (messages) => {
      const isValid = validateConversation(messages, options).every(({ severity }) => severity !== "error");
      expect(isValid ? refusalOf(messages) : undefined).toBeUndefined();
    }));
});

describe("a conversation that the profile langchain repairs", () => {
  it("is accepted by the service if names, ids and content are ordinary", () =>
    forAll(200, anyConversation(), (messages: BaseMessage[]) => {
      const { messages: repaired } = repairConversation(messages, { purpose: "model-input" });
      expect(repaired.length === 0 ? undefined : refusalOf(repaired)).toBeUndefined();
    }));
});
